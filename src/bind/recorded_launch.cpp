// Recorded launches (wp.launch with record_cmd=True): arguments packed once, changed one by one, run any number of times.
// Values that a program can change in place (structs, vectors, matrices, quaternions) are packed anew by every run.
#include <algorithm>
#include <optional>

#include <nanobind/stl/shared_ptr.h>

#include "bind/exchange.h"
#include "bind/graph_journal.h"
#include "bind/launch_place.h"
#include "bind/tape.h"
#include "driver/default_argument.h"
#include "driver/gpu_launch.h"
#include "runtime/late_work.h"
#include "support/hot.h"
#include "types/fabric_type.h"

namespace weft::bind {
namespace {

/// A launch on a GPU made ready for the driver, with the memory of its arguments.
struct ReadyLaunch {
  std::unique_ptr<std::uint64_t[]> arguments;
  driver::GpuLaunch launch;

  ReadyLaunch(const driver::KernelVariant& variant, const void* block, const driver::LaunchRequest& request)
      : arguments(std::make_unique<std::uint64_t[]>((driver::GpuLaunch::argument_bytes(variant) + 7) / 8)),
        launch(variant, block, request, reinterpret_cast<char*>(arguments.get())) {}
};

/// The base class of warp.Launch. It holds arrays and buffers but no kernel of Python; the derived class has that.
struct RecordedLaunch {
  std::shared_ptr<ReadyLaunch> on_gpu;          // made by the first run; null when anything has changed
  std::shared_ptr<PythonKernel> kernel, plain;  // plain: not yet for blocks of a size
  driver::KernelSignature* signature = nullptr;
  std::vector<std::uint64_t> block;
  std::vector<std::vector<nb::object>> keep;  // buffers, per parameter
  std::vector<LaunchArrays> arrays;           // per parameter
  std::vector<std::uint64_t> scratch;         // where they are packed to be compared
  std::vector<std::size_t> followed;  // parameters whose values may change in place; Python's `_arguments` holds them
  std::int64_t extents[kMaxRank] = {};
  std::size_t rank = 0;
  LaunchPlace place;
  bool backward = true;  // enable_backward of the kernel
  bool empty = false;    // the grid has no threads

  char* bytes() { return reinterpret_cast<char*>(block.data()); }
  const char* bytes() const { return reinterpret_cast<const char*>(block.data()); }
  std::span<const std::int64_t> dims() const { return {extents, rank}; }
  std::span<const std::int64_t> grid() const { return driver::grid_on(place.device, *kernel, dims()); }
};

RecordedLaunch& ready(RecordedLaunch& r) {
  if (!r.signature) throw nb::type_error("the launch has no kernel; wp.launch(…, record_cmd=True) makes launches");
  return r;
}

/// Whether a program can change an argument in place: objects of Warp can be, what only stands for one was converted.
bool is_followed(const Type* type, nb::handle value) {
  return (type->is_composite() || (type->is_struct() && !type->is_indexed_array() && !fabric_type(type))) &&
         nb::hasattr(value, "_wp_type_");
}

void follow(RecordedLaunch& r, std::size_t index, bool on) {
  std::erase(r.followed, index);
  if (on) r.followed.push_back(index);
}

/// Writes one parameter, with the arrays in it.
void fill_with_arrays(RecordedLaunch& r, std::size_t index, nb::handle value, char* bytes,
                      std::vector<nb::object>& keep, LaunchArrays& arrays) {
  LaunchNotes notes;
  notes.block = bytes;
  fill_param(*r.kernel, *r.signature, index, value.ptr(), bytes, keep, r.place.device,
             kFreeThreaded ? &notes : nullptr);
  arrays.add(value.ptr(), r.signature->types[index]);
  if (kFreeThreaded) arrays.memory = std::move(notes.held);
}

void pack_param(RecordedLaunch& r, std::size_t index, nb::handle value) {
  std::vector<nb::object> keep;
  LaunchArrays arrays;
  // Packed aside first: a value that does not fit leaves the launch as it was.
  std::vector<std::uint64_t> fresh = r.block;
  char* bytes = reinterpret_cast<char*>(fresh.data());
  fill_with_arrays(r, index, value, bytes, keep, arrays);
  if (r.block != fresh) {
    r.block.swap(fresh);
    r.on_gpu.reset();
  }
  r.keep[index].swap(keep);
  std::swap(r.arrays[index], arrays);
}

void set_param(RecordedLaunch& r, std::size_t index, nb::handle value) {
  if (index >= ready(r).signature->types.size()) throw nb::index_error("there is no such parameter");
  pack_param(r, index, value);
  follow(r, index, is_followed(r.signature->types[index], value));
}

/// Packs what may have been changed in place since the last run.
void pack_followed(nb::handle self, RecordedLaunch& r) {
  const nb::object arguments = self.attr("_arguments");
  for (std::size_t k = 0; k < r.followed.size(); ++k) {  // reading a value may run Python code that changes the list
    const std::size_t index = r.followed[k];
    const nb::object value = arguments[index];
    const ParamLayout::Param& p = r.signature->layout.params[index];
    if (p.type->is_struct()) {  // it may hold arrays, and others than before
      pack_param(r, index, value);
      continue;
    }
    r.scratch.resize(r.block.size());
    char* fresh = reinterpret_cast<char*>(r.scratch.data());
    fill_param(*r.kernel, *r.signature, index, value.ptr(), fresh, r.keep[index], r.place.device);
    if (std::memcmp(fresh + p.offset, r.bytes() + p.offset, p.type->size()) == 0) continue;
    std::memcpy(r.bytes() + p.offset, fresh + p.offset, p.type->size());
    r.on_gpu.reset();
  }
}

void set_bytes(RecordedLaunch& r, std::size_t index, nb::handle value) {
  if (index >= ready(r).signature->types.size()) throw nb::index_error("there is no such parameter");
  const ParamLayout::Param& p = r.signature->layout.params[index];
  Py_buffer view;
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  const bool fits = view.len == Py_ssize_t(p.type->size());
  if (fits) std::memcpy(r.bytes() + p.offset, view.buf, p.type->size());
  const Py_ssize_t given = view.len;
  PyBuffer_Release(&view);
  if (!fits) {
    PyErr_Format(PyExc_ValueError, "parameter '%s' has %u bytes, the ctypes value has %zd", p.name.c_str(),
                 unsigned(p.type->size()), given);
    throw nb::python_error();
  }
  r.on_gpu.reset();
  follow(r, index, false);
  r.keep[index] = {nb::borrow(value)};
  r.arrays[index].memory.clear();
  for (nb::object& one : r.arrays[index].objects) one = nb::none();
}

void set_dim(RecordedLaunch& r, nb::handle dim) {
  std::int64_t extents[kMaxRank];
  const std::size_t rank = read_dims(dim.ptr(), extents);
  runtime::KernelCode code;
  code.name = ready(r).kernel->name();
  code.tid_dims_read = 0;
  runtime::launch_size(code, {extents, rank});
  std::copy_n(extents, rank, r.extents);
  r.rank = rank;
  r.empty = std::find(extents, extents + rank, 0) != extents + rank;
  r.on_gpu.reset();
  if (r.place.device ? !r.plain->shares_memory().value_or(false) : r.place.gpu.block_dim == 0) return;
  r.kernel = kernel_for(r.plain, r.place, r.dims());  // blocks may be rows of this grid, and were not of the last
  r.signature = &r.kernel->signature(r.signature->types);
}

/// The signature of a kernel for which no argument is known yet.
driver::KernelSignature& annotated_signature(PythonKernel& kernel) {
  std::vector<const Type*> types;
  for (const sema::KernelParam& p : kernel.params()) {
    if (p.pattern.kind != builtins::Pattern::Kind::exact)
      throw runtime::Error("kernel '" + kernel.name() + "' is generic: the type of '" + p.name +
                           "' is known from arguments only; make an instance with wp.overload");
    types.push_back(p.pattern.type);
  }
  return kernel.signature(types);
}

/// An argument that nobody gave yet.
void fill_unset(RecordedLaunch& r, std::size_t index) {
  const ParamLayout::Param& p = r.signature->layout.params[index];
  std::memset(r.bytes() + p.offset, 0, p.type->size());
  if (p.type->is_array()) fill_param(*r.kernel, *r.signature, index, Py_None, r.bytes(), r.keep[index], r.place.device);
}

/// `inputs` None: arguments come later; until then they are zero, and arrays None.
void init(RecordedLaunch* self, nb::handle kernel, nb::handle dim, nb::handle inputs, nb::handle outputs, int place,
          std::int64_t max_blocks, int block_dim) {
  KernelHandle* handle = find_kernel(kernel.ptr());
  if (!handle) throw nb::type_error("a launch is made for a kernel (a function decorated with @wp.kernel)");
  RecordedLaunch r;
  if (place >= 0) r.place = {&cuda::System::shared().device(place), {nullptr, block_dim, max_blocks}};
  if (place < 0) r.place.gpu.block_dim = block_on_cpu(block_dim);
  r.kernel = current_kernel(kernel.ptr(), *handle);
  r.backward = handle->backward;
  const ArgumentList args(inputs.ptr(), outputs.ptr());
  const bool unset = inputs.is_none();
  r.signature = unset ? &annotated_signature(*r.kernel) : &signature_for(*r.kernel, args);
  const std::size_t count = r.signature->types.size();
  r.block.resize((r.signature->layout.size + 7) / 8 + 1);
  r.keep.resize(count);
  r.arrays.resize(count);
  for (std::size_t i = 0; i < args.size(); ++i) {
    fill_with_arrays(r, i, args[i], r.bytes(), r.keep[i], r.arrays[i]);
    follow(r, i, is_followed(r.signature->types[i], args[i]));
  }
  for (std::size_t i = args.size(); i < count; ++i)
    if (unset && !r.kernel->params()[i].has_default)
      fill_unset(r, i);
    else
      driver::write_default(r.kernel->name(), r.kernel->params()[i], r.signature->types[i],
                            r.bytes() + r.signature->layout.params[i].offset);
  r.plain = r.kernel;
  if (r.place.device) r.kernel->find_shares_memory(*r.signature, 1);
  set_dim(r, dim);
  new (self) RecordedLaunch(std::move(r));
}

LaunchArrays all_arrays(const RecordedLaunch& r) {
  LaunchArrays all;
  for (const LaunchArrays& one : r.arrays) {
    all.memory.insert(all.memory.end(), one.memory.begin(), one.memory.end());
    all.objects.insert(all.objects.end(), one.objects.begin(), one.objects.end());
  }
  return all;
}

/// `self` is asked what the tape that records shall keep for those who look; None: it does not record this launch.
void run(nb::handle self, RecordedLaunch& r, const cuda::Stream* stream) {
  const std::span<const std::int64_t> dims = ready(r).grid();
  if (driver::forward_mode()) [[unlikely]] {
    self.attr("_launch_forward")();
    return;
  }
  if (r.empty) return;
  if (!r.followed.empty()) pack_followed(self, r);
  LaunchPlace place = r.place;
  place.gpu.stream = stream;
  if (stream) stream->use();
  const TapeTurnIfAny turn;
  LaunchOnTape on_tape;
  on_tape.take();
  if (on_tape.tape) on_tape.arguments = self.attr("_on_tape")();
  if (on_tape.tape && on_tape.arguments.is_none()) on_tape.tape = nullptr;
  if (on_tape.tape || runtime::writes_are_watched()) [[unlikely]] {
    on_tape.backward = r.backward;
    std::vector<nb::object> keep;
    for (const auto& one : r.keep) keep.insert(keep.end(), one.begin(), one.end());
    const RecordedLaunch now = r;  // other threads may change the launch while it runs
    return launch_watched({now.kernel, *now.signature, now.bytes(), now.grid(), place}, all_arrays(now),
                          std::move(keep), std::move(on_tape));
  }
  const driver::KernelVariant& variant = variant_for(*r.kernel, *r.signature, dims, r.bytes(), false, place.device);
  if (place.device) {
    if (place.device->capture()) {
      std::vector<nb::object> keep;
      for (const auto& one : r.keep) keep.insert(keep.end(), one.begin(), one.end());
      note_launch({r.kernel, *r.signature, variant, r.bytes(), dims, place, false, all_arrays(r).memory, {}}, keep);
      place.device->keep_for_capture(std::make_shared<std::vector<runtime::Array>>(all_arrays(r).memory));
    }
    if (!r.on_gpu && driver::GpuLaunch::is_steady(variant))
      r.on_gpu = std::make_shared<ReadyLaunch>(variant, r.bytes(), driver::LaunchRequest{dims, {}, place.gpu});
    if (r.on_gpu) return r.on_gpu->launch.run(stream);
    return r.kernel->run(variant, r.bytes(), {dims, {}, place.gpu});
  }
  if (capturing_on_cpu()) {
    std::vector<nb::object> keep;
    for (const auto& one : r.keep) keep.insert(keep.end(), one.begin(), one.end());
    record_launch({r.kernel, *r.signature, variant, r.bytes(), dims, place, false, all_arrays(r).memory, {}}, keep);
    return;
  }
  if (!releases_gil(variant, dims)) {
    // Should other threads run after all, they may change the launch: the block that is read becomes our own.
    struct Own {
      RecordedLaunch& recorded;
      std::optional<RecordedLaunch> copy{};
    } own{r};
    const auto hold = [](void* state) {
      auto& [recorded, copy] = *static_cast<Own*>(state);
      copy.emplace(recorded);
      copy->block.swap(recorded.block);
    };
    return run_variant(*r.kernel, variant, r.bytes(), dims, false, false, {hold, &own});
  }
  const RecordedLaunch now = r;
  run_variant(*now.kernel, variant, now.bytes(), now.grid(), true);
}

/// Whether the usual launch on a GPU was queued: one that nobody follows, made ready before, on the current stream.
WEFT_HOT bool run_usual(RecordedLaunch& r) {
  // Without the GIL another thread could replace the stream, and the arguments, at any time.
  if (kFreeThreaded || !r.on_gpu || !r.followed.empty() || driver::followers.load(std::memory_order_relaxed) != 0 ||
      runtime::writes_are_watched() || !launch_settings().plain)
    return false;
  const cuda::Stream* stream = r.place.device->stream_now();
  return stream && r.on_gpu->launch.run_quickly(*stream);
}

/// RecordedLaunch.launch(stream=None), as a method of C: nanobind's own way to take keywords costs as much as all the rest
/// that is done before the driver's turn.
WEFT_HOT PyObject* launch_entry(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  const bool takes =
      named == 0 || (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "stream") == 0);
  if (!takes || count + named > 1) {
    PyErr_SetString(PyExc_TypeError, "launch() takes one argument at most: stream");
    return nullptr;
  }
  try {
    if (!nb::inst_ready(self)) throw nb::type_error("the launch has not been initialised");
    auto& r = *nb::inst_ptr<RecordedLaunch>(self);
    if (count + named == 0 && run_usual(r)) Py_RETURN_NONE;
    if (runtime::LateWork::waiting()) [[unlikely]]
      runtime::LateWork::settle();  // other threads run meanwhile: before anything is begun here
    PyObject* stream = count + named == 1 ? args[0] : Py_None;
    {
      nb::ft_object_guard alone(self);
      // A wp.Stream holds the queue.
      if (stream == Py_None)
        run(self, r, nullptr);
      else
        run(self, r, nb::cast<std::shared_ptr<cuda::Stream>>(nb::handle(stream).attr("_queue")).get());
    }
    if (r.place.device && !launch_settings().plain) nb::handle(self).attr("_verify")();
    Py_RETURN_NONE;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyMethodDef methods[] = {
    {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(launch_entry)), METH_FASTCALL | METH_KEYWORDS,
     "launch($self, stream=None)\n--\n\n"
     "Runs the kernel; on the CPU it is done when this returns, on CUDA devices queued."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};

}  // namespace

void register_recorded_launch(nb::module_& m) {
  nb::class_<RecordedLaunch>(m, "RecordedLaunch", nb::type_slots(slots),
                             "A launch with its arguments packed; warp.Launch derives from it.")
      .def("__init__", &init, nb::arg("kernel"), nb::arg("dim"), nb::arg("inputs").none(), nb::arg("outputs").none(),
           nb::arg("place") = kOnCpu, nb::arg("max_blocks") = 0, nb::arg("block_dim") = 0)
      // Without the GIL, one thread at a time changes or reads the packed arguments.
      .def("_set_param", &set_param, nb::lock_self(), nb::arg("index"), nb::arg("value").none())
      .def("_set_bytes", &set_bytes, nb::lock_self(), nb::arg("index"), nb::arg("value"))
      .def("_param_type", [](RecordedLaunch& r, std::size_t i) { return TypeHandle{ready(r).signature->types.at(i)}; })
      .def("set_dim", &set_dim, nb::lock_self(), nb::arg("dim"),
           "Changes the grid: a number or a tuple of 1 to 4 extents.")
      .def_prop_ro(
          "dim",
          [](RecordedLaunch& r) {
            nb::list out;
            for (std::int64_t n : ready(r).dims()) out.append(n);
            return nb::tuple(out);
          },
          nb::lock_self(), "The grid's extents.");
}

}  // namespace weft::bind
