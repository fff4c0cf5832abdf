// Writing down what a capture is asked for, and showing it to Python, which makes files of it (graph_files.py).
#include "bind/graph_journal.h"

#include <nanobind/stl/shared_ptr.h>

#include <cstring>

#include "bind/compile_session.h"
#include "bind/gil.h"
#include "driver/graph_writes.h"
#include "ir/origin.h"
#include "ir/text.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

GraphJournal* journal_here() { return dynamic_cast<GraphJournal*>(runtime::journal()); }

/// Calls visit(offset, type) for every array of a value.
template <class Visit>
void visit_arrays(const Type* type, std::uint32_t offset, const Visit& visit) {
  if (type->is_array()) visit(offset, type);
  if (type->is_struct() || type->is_indexed_array())
    for (const Field& f : type->fields()) visit_arrays(f.type, offset + f.offset, visit);
}

int place_of_space(const runtime::MemorySpace* space) {
  if (!space) return kOnCpu;
  return space->on_host() ? kOnPinned : space->ordinal();
}

nb::tuple numbers(std::span<const std::int64_t> values) {
  nb::list out;
  for (std::int64_t one : values) out.append(one);
  return nb::tuple(out);
}

nb::bytes bytes_of(const std::vector<char>& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

/// (place, address, shape, strides)
nb::tuple memory_of(const ArrayDesc& desc, int place) {
  return nb::make_tuple(place, reinterpret_cast<std::uintptr_t>(desc.data),
                        numbers({desc.shape, std::size_t(desc.ndim)}), numbers({desc.strides, std::size_t(desc.ndim)}));
}

nb::tuple memory_of(const runtime::Array& array) { return memory_of(array.desc(), place_of_space(array.space())); }

nb::list exported(const GraphJournal& journal, const std::vector<JournalStep>& steps);

nb::object exported(const GraphJournal& journal, const JournalStep& s) {
  using Kind = JournalStep::Kind;
  switch (s.kind) {
    case Kind::copy: return nb::make_tuple("copy", memory_of(s.to), memory_of(s.from), s.to.element()->size());
    case Kind::fill: return nb::make_tuple("fill", memory_of(s.to), bytes_of(s.bytes));
    case Kind::launch: {
      std::vector<char> block = s.bytes;
      nb::list arrays;
      const int place = s.arrays.empty() ? kOnCpu : place_of_space(s.arrays.front().space());
      for (const ParamLayout::Param& p : journal.kernels[s.kernel].layout.params)
        visit_arrays(p.type, p.offset, [&](std::uint32_t offset, const Type* type) {
          ArrayDesc desc;
          std::memcpy(&desc, block.data() + offset, sizeof desc);
          std::memset(block.data() + offset, 0, sizeof desc);
          arrays.append(nb::make_tuple(offset, memory_of(desc, place), type->element()->size()));
        });
      return nb::make_tuple("launch", s.kernel, numbers(s.dims), bytes_of(block), arrays, s.gpu.max_blocks,
                            s.gpu.block_dim);
    }
    case Kind::branch:
      return nb::make_tuple("if", memory_of(s.to), exported(journal, s.lists.at(0)), exported(journal, s.lists.at(1)));
    case Kind::loop: return nb::make_tuple("while", memory_of(s.to), exported(journal, s.lists.at(0)));
  }
  return nb::none();
}

nb::list exported(const GraphJournal& journal, const std::vector<JournalStep>& steps) {
  nb::list out;
  for (const JournalStep& s : steps) out.append(exported(journal, s));
  return out;
}

nb::list kernels_of(const GraphJournal& journal) {
  nb::list out;
  for (const GraphJournal::Kernel& k : journal.kernels) {
    nb::dict options;
    options["debug"] = k.options.debug;
    options["verify_fp"] = k.options.verify_fp;
    options["fuse_fp"] = k.options.fuse_fp;
    options["fast_math"] = k.options.fast_math;
    options["opt_level"] = k.options.opt_level;
    options["max_unroll"] = k.options.max_unroll;
    options["deterministic"] = k.options.deterministic;
    options["line_info"] = k.options.gpu.line_info;
    out.append(nb::make_tuple(k.name, k.text, options));
  }
  return out;
}

/// Reads memory that arrays of the journal, or others that the caller holds, lie in.
nb::bytes read_memory(int place, std::uintptr_t address, std::uint64_t size) {
  runtime::Array::External memory;
  memory.data = reinterpret_cast<void*>(address);
  memory.space = space_of(place);
  const runtime::Array there =
      runtime::Array::wrap(types::scalar(ScalarKind::u8), {std::int64_t(size)}, std::move(memory));
  const runtime::Array here = runtime::Array::empty(types::scalar(ScalarKind::u8), {std::int64_t(size)});
  if (size > 0) here.assign(there);
  return nb::bytes(static_cast<const char*>(here.data()), size);
}

}  // namespace

std::shared_ptr<const void> hold_objects(std::vector<nb::object> objects) {
  return {new std::vector<nb::object>(std::move(objects)), [](const std::vector<nb::object>* list) {
            if (!nb::is_alive()) return;  // the interpreter is going: leave the references
            GilAcquire gil;
            delete list;
          }};
}

void GraphJournal::copied(const runtime::Array& to, const runtime::Array& from) {
  if (ir::has_array(to.element())) return other("a copy of structs that hold arrays");
  JournalStep step;
  step.to = to;
  step.from = from;
  steps.push_back(std::move(step));
}

void GraphJournal::filled(const runtime::Array& to, const void* value) {
  if (ir::has_array(to.element())) return other("a fill by a struct that holds arrays");
  JournalStep step;
  step.kind = JournalStep::Kind::fill;
  step.to = to;
  const auto* bytes = static_cast<const char*>(value);
  step.bytes.assign(bytes, bytes + to.element()->size());
  steps.push_back(std::move(step));
}

void GraphJournal::other(const std::string& what) {
  if (refused.empty()) refused = what;
}

void GraphJournal::launched(const driver::LaunchWork& work, std::shared_ptr<const void> keep) {
  auto& kernel = static_cast<PythonKernel&>(*work.kernel);
  driver::KernelSignature& signature = work.signature;
  const char* block = work.block;
  if (kernel.options().doubles_params() || work.variant.param_bytes != signature.layout.size)
    return other("a launch of kernel '" + kernel.name() + "' that is followed by a tape or forward mode");
  for (const driver::HandlePlace& place : work.variant.handles) {
    std::uint64_t id = 0;
    std::memcpy(&id, block + place.offset, sizeof id);
    if (id)  // an address, worth nothing in another process
      return other("argument '" + place.name + "' of kernel '" + kernel.name() + "', which is the id of a " +
                   std::string(handle_user_name(place.kind)));
  }
  std::string problem;
  for (const ParamLayout::Param& p : signature.layout.params)
    visit_arrays(p.type, p.offset, [&](std::uint32_t offset, const Type* type) {
      ArrayDesc desc;
      std::memcpy(&desc, block + offset, sizeof desc);
      if (ir::has_array(type->element())) problem = "is an array of structs that hold arrays";
      const runtime::ByteRange range = runtime::data_range(desc, type->element()->size());
      bool held = range.lo == range.hi || keep;
      for (const runtime::Array& one : work.memory) held |= one.block().lo <= range.lo && range.hi <= one.block().hi;
      if (!held) problem = "is memory of another library; make it a wp.array";
      if (!problem.empty() && refused.empty())
        other("argument '" + p.name + "' of kernel '" + kernel.name() + "', which " + problem);
    });
  if (!refused.empty()) return;
  driver::LaunchForm form = driver::form_of(signature.layout, block, work.dims.size(), &signature.order);
  form.strided |= form.large;  // wherever it is built later
  form.aligned = false;        // memory of a loaded graph lies elsewhere
  const auto key = std::pair<const driver::KernelSignature*, std::size_t>(&signature, form.index());
  auto found = known_.find(key);
  if (found == known_.end()) {
    CompileSession session(kernel.decl());
    DiagnosticSink sink;
    std::unique_ptr<ir::Module> module;
    {
      GilRelease release;  // the resolver takes it back where it asks Python
      module = kernel.module(signature, form, sink);
    }
    if (!module) raise_compile_error(sink);
    ir::PrintOptions plain;
    plain.names = false;
    kernels.push_back({kernel.name(), ir::print(*module, plain), kernel.options(), signature.layout});
    found = known_.emplace(key, kernels.size() - 1).first;
  }
  JournalStep step;
  step.kind = JournalStep::Kind::launch;
  step.kernel = found->second;
  step.bytes.assign(block, block + signature.layout.size);
  step.dims.assign(work.dims.begin(), work.dims.end());
  step.gpu = work.place.gpu;
  step.gpu.stream = nullptr;
  step.arrays = work.memory;
  step.keep = std::move(keep);
  steps.push_back(std::move(step));
}

void note_launch(const driver::LaunchWork& work, const std::vector<nb::object>& keep) {
  driver::note_graph_launch(work);
  GraphJournal* journal = journal_here();
  if (!journal) return;
  if (work.adjoint || work.variant.adjoint)
    return journal->other("the adjoint of kernel '" + work.kernel->name() + "'");
  journal->launched(work, keep.empty() ? nullptr : hold_objects(keep));
}

void note_other(const std::string& what) {
  if (GraphJournal* journal = journal_here()) journal->other(what);
}

void register_graph_journal(nb::module_& m) {
  nb::class_<GraphJournal>(m, "GraphJournal", "What was asked for while a graph was captured.")
      .def(nb::init<>())
      .def_prop_ro("refused",
                   [](const GraphJournal& j) {
                     return j.refused.empty() && !j.outer.empty() ? "a condition whose branch raised" : j.refused;
                   })
      .def("kernels", &kernels_of, "Name, IR and options of each kernel.")
      .def(
          "steps", [](const GraphJournal& j) { return exported(j, j.steps); },
          "Launches, copies, fills and conditions in their order.")
      .def(
          "start",
          [](nb::handle self) {
            runtime::set_journal(nb::inst_ptr<GraphJournal>(self));
            self.inc_ref();  // until it stops
          },
          "Listens to the calling thread.")
      .def("stop",
           [](nb::handle self) {
             if (journal_here() != nb::inst_ptr<GraphJournal>(self)) return;
             runtime::set_journal(nullptr);
             self.dec_ref();
           })
      .def("begin_list",
           [](GraphJournal& j) {
             j.outer.push_back(std::move(j.steps));
             j.steps.clear();
           })
      .def(
          "end_lists",
          [](GraphJournal& j, const ArrayObject& value, int count, bool loop) {
            if (j.outer.size() < std::size_t(count) || count < 1 || count > 2) throw nb::value_error("no list is open");
            JournalStep step;
            step.kind = loop ? JournalStep::Kind::loop : JournalStep::Kind::branch;
            step.to = value.array;
            step.lists.resize(std::size_t(count));
            for (std::size_t k = std::size_t(count); k-- > 0;) {
              step.lists[k] = std::move(j.steps);
              j.steps = std::move(j.outer.back());
              j.outer.pop_back();
            }
            // The lists were opened one behind the other: the outermost is the list that the condition is in.
            j.steps.push_back(std::move(step));
          },
          nb::arg("value"), nb::arg("count"), nb::arg("loop"))
      .def("other", &GraphJournal::other, nb::arg("what"));
  m.def("note_other", &note_other, nb::arg("what"), "Work that can't be saved as part of a graph.");
  m.def("read_memory", &read_memory, nb::arg("place"), nb::arg("address"), nb::arg("size"));
}

}  // namespace weft::bind
