// Recording launches and going back over them.
#include "bind/tape.h"

#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <unordered_set>

#include "bind/gil.h"
#include "bind/graph_journal.h"
#include "bind/graph_writes.h"
#include "bind/hooks.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

nb::object recording;              // the TapeObject that records; Python's tape sees to it that it is one at a time
thread_local int suspended = 0;    // this thread goes back over a tape: what it runs is not recorded
std::atomic<bool> forward{false};  // Python's forward mode is active

void follow() { work_is_followed = recording.is_valid() || forward; }

/// The keeper of the tape in whose block this thread works with recording suspended: whoever suspended it tells the tape
/// what is done.
runtime::VersionKeeper* suspended_keeper() {
  return suspended && recording.is_valid() && !recording.is_none() ? &nb::inst_ptr<TapeObject>(recording)->keeper
                                                                   : nullptr;
}

/// Arrays of an argument, fields of structs included, in the order of TapeFacts::leaves.
void collect_arrays(PyObject* value, const Type* type, std::vector<nb::object>& out) {
  if (type->is_array()) {
    out.push_back(as_array(value) ? nb::borrow(value) : nb::none());
  } else if (type->is_indexed_array()) {
    nb::object data = nb::borrow(value);
    if (nb::hasattr(data, "_wp_indexed_")) data = data.attr("data");
    collect_arrays(data.ptr(), type->fields()[0].type, out);
    for (std::size_t k = 1; k < type->fields().size(); ++k) out.push_back(nb::none());  // indices have no gradient
  } else if (type->is_struct()) {
    for (const Field& f : type->fields()) {
      if (!f.type->is_array() && !f.type->is_struct()) continue;
      collect_arrays(nb::object(nb::borrow(value).attr(std::string(f.name).c_str())).ptr(), f.type, out);
    }
  }
}

ArrayDesc& desc_at(char* block, const autodiff::ArrayLeaf& leaf) {
  return *reinterpret_cast<ArrayDesc*>(block + leaf.offset);
}

runtime::ByteRange range_at(const char* block, const autodiff::ArrayLeaf& leaf) {
  return runtime::data_range(*reinterpret_cast<const ArrayDesc*>(block + leaf.offset), leaf.type->element()->size());
}

void announce(const driver::TapeFacts& facts, const char* block, const LaunchOnTape& how, const std::string& kernel) {
  using runtime::Passage;
  const std::string by = "kernel '" + kernel + "'";
  runtime::VersionKeeper* keeper = how.tape ? &how.tape->keeper : suspended_keeper();
  if (facts.written_elsewhere) runtime::announce_write(runtime::kAnywhere, keeper, by);
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    if (!facts.written[k]) continue;
    const auto* desc = reinterpret_cast<const ArrayDesc*>(block + facts.leaves[k].offset);
    const Passage passage = !facts.replaced[k]        ? Passage::unchanged
                            : !how.backward           ? Passage::disabled
                            : desc->grad || !how.tape ? Passage::recorded
                                                      : Passage::unseen;
    const runtime::ArrayView view{desc, facts.leaves[k].type->element()->size()};
    runtime::announce_write(range_at(block, facts.leaves[k]), keeper, by, passage, view);
  }
}

void announce_gradient(const ArrayDesc& desc, const Type* element, const std::string& by) {
  if (desc.grad) runtime::announce_write(runtime::grad_range(desc, element->size()), nullptr, by);
}

void announce_gradients_at(const Type* type, const char* at, const std::string& by) {
  if (type->is_array()) announce_gradient(*reinterpret_cast<const ArrayDesc*>(at), type->element(), by);
  if (type->is_struct() || type->is_indexed_array())
    for (const Field& f : type->fields()) announce_gradients_at(f.type, at + f.offset, by);
}

const driver::TapeFacts& facts_for(KernelObject& kernel, driver::KernelSignature& signature, std::size_t rank,
                                   driver::ArrayFacts form) {
  GilRelease release;  // the resolver takes it back where it asks Python
  return kernel.family->tape_facts(signature, int(rank), form);
}

/// Whether it is a tangent whose launches see to the order of threads by themselves.
bool has_order(KernelObject& kernel, driver::KernelSignature& signature, std::size_t rank, driver::ArrayFacts form) {
  if (!kernel.family->options().tangent) return false;
  GilRelease release;
  return kernel.family->tangent_plan(signature, int(rank), form).has_order();
}

void run(const std::shared_ptr<KernelObject>& object, const driver::KernelSignature& signature,
         const driver::KernelVariant& variant, const std::vector<runtime::Array>& arrays,
         const std::vector<nb::object>& keep, const char* block, std::span<const std::int64_t> dims,
         const LaunchPlace& place, bool adjoint) {
  KernelObject& kernel = *object;
  if (place.device) {
    if (place.device->capture()) {
      note_launch(kernel, signature, variant, block, dims, place, adjoint, arrays, keep);
      place.device->keep_for_capture(std::make_shared<std::vector<runtime::Array>>(arrays));
    }
    return kernel.family->run(variant, block, {dims, {}, place.gpu});
  }
  if (record_launch(object, signature, variant, block, dims, adjoint, arrays, keep)) return;
  run_variant(kernel, variant, block, dims, releases_gil(variant, dims), adjoint);
}

/// The array behind a descriptor of a launch's block; one without an owner for foreign memory, which `keep` holds.
runtime::Array owner_of(const TapedLaunch& l, const autodiff::ArrayLeaf& leaf, const ArrayDesc& desc) {
  for (const runtime::Array& array : l.arrays) {
    const ArrayDesc& other = array.desc();
    if (other.data == desc.data && other.ndim == desc.ndim && array.element() == leaf.type->element() &&
        std::equal(desc.shape, desc.shape + desc.ndim, other.shape) &&
        std::equal(desc.strides, desc.strides + desc.ndim, other.strides))
      return array;
  }
  runtime::Array::External memory;
  memory.data = desc.data;
  memory.strides = {desc.strides, std::size_t(desc.ndim)};
  if (l.place.device) memory.space = space_of(l.place.device->ordinal());
  return runtime::Array::wrap(leaf.type->element(), {desc.shape, std::size_t(desc.ndim)}, std::move(memory));
}

/// Whether going back over a launch reads values of arrays, or a log.
bool needs_values(const driver::TapeFacts& facts) {
  return !facts.log.empty() || facts.needed_elsewhere ||
         std::find(facts.needed.begin(), facts.needed.end(), true) != facts.needed.end();
}

/// The form that goes back over a launch.
driver::ArrayFacts adjoint_form(const TapedLaunch& l, const char* block) {
  driver::ArrayFacts form = l.form;
  form.adjoint = true;
  form.taped = !l.facts->log.empty() || !l.facts->ordered.empty();
  form.meet = driver::gradients_may_meet(l.signature->layout, block);
  return form;
}

/// Compiles the adjoint of a kernel whose names will perhaps stand for something else when somebody goes back: closures
/// that a loop makes see the last turn's values then.
void build_adjoint_now(TapedLaunch& l) {
  if (!l.kernel->variable || !l.facts->problem.empty() || (l.place.device && l.place.device->capture())) return;
  try {
    form_for(*l.kernel, *l.signature, l.dims(), l.bytes(), adjoint_form(l, l.bytes()), l.place.device);
  } catch (const std::exception&) {  // the backward pass says it, if there is one
    l.kernel->variable = false;
  }
}

/// Stands in for the gradient of one array while nothing else has any.
struct Probe {
  runtime::ByteRange gradient;
  char* scratch = nullptr;  // laid out as the gradient
};

void reverse(TapedLaunch& l, const Probe* probe = nullptr) {
  const driver::TapeFacts& facts = *l.facts;
  std::vector<std::uint64_t> block = l.block;
  char* bytes = reinterpret_cast<char*>(block.data());
  bool any = false;
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    ArrayDesc& desc = desc_at(bytes, facts.leaves[k]);
    // The gradient of now: it may have been given after the launch.
    if (l.leaves[k].object.is_valid() && !l.leaves[k].object.is_none()) {
      const runtime::Array* array = as_array(l.leaves[k].object.ptr());
      if (array && array->is_valid() && array->data() == desc.data) desc.grad = array->desc().grad;
    }
    if (probe) {
      const auto at = reinterpret_cast<std::uintptr_t>(desc.grad);
      const bool inside = at >= probe->gradient.lo && at < probe->gradient.hi;
      desc.grad = inside ? probe->scratch + (at - probe->gradient.lo) : nullptr;
    }
    any |= desc.grad != nullptr;
  }
  for (const nb::object& one : l.held_objects) any |= as_array(one.ptr())->has_grad();
  if (!any) return;
  if (!l.backward) {
    // A warning is said once: the place tells kernels of the same name apart.
    const SourceLoc& at = l.kernel->decl->def->name_loc;
    hooks().warn("kernel '" + l.kernel->name() + "' (" + (at.file ? at.file->name() : "") + ":" +
                 std::to_string(at.line) + ") has enable_backward=False: gradients stop at its launch");
    return;
  }
  if (!facts.problem.empty()) throw runtime::Error(facts.problem);
  if (!facts.ordered.empty() && !l.in_order) throw runtime::Error(facts.ordered);
  for (std::size_t k = 0; k < facts.leaves.size(); ++k)
    if (const auto& version = l.leaves[k].version) desc_at(bytes, facts.leaves[k]).data = version->data();
  if (!l.active && needs_values(facts))
    throw runtime::Error(
        "the backward pass of kernel '" + l.kernel->name() +
        "' needs values of its arrays, and when it ran none of them had a gradient, so that nobody has "
        "watched over them; set requires_grad before the launch");
  for (const auto& version : l.held)
    if (version->data() != version->array().data())
      throw runtime::Error("the backward pass of kernel '" + l.kernel->name() +
                           "' needs an array as it was that lies in a struct in memory, and a later operation has "
                           "written to it; write to another array");
  if (l.place.device && l.place.device->capture() && !l.log.settled())
    throw runtime::Error("the backward pass of kernel '" + l.kernel->name() +
                         "' must know how much its launch wrote down, which can't be read while a graph is captured; "
                         "record the launch before wp.capture_begin, or call backward when the graph has run");
  if (!facts.log.empty()) {
    try {
      finish_log(l.log);
    } catch (const runtime::Error& e) {
      note_log(l);  // it could not be run again: the next launch gets what this one wanted
      throw runtime::Error("kernel '" + l.kernel->name() + "': " + e.what());
    }
  }
  if (runtime::writes_are_watched() && !probe) {
    const std::string by = "the backward pass of kernel '" + l.kernel->name() + "'";
    for (const autodiff::ArrayLeaf& leaf : facts.leaves)
      announce_gradient(desc_at(bytes, leaf), leaf.type->element(), by);
  }
  const driver::ArrayFacts form = adjoint_form(l, bytes);
  const driver::KernelVariant& variant = form_for(*l.kernel, *l.signature, l.dims(), bytes, form, l.place.device);
  std::vector<runtime::Array> arrays = l.arrays;
  runtime::CommandList* list = l.place.device ? nullptr : runtime::recording();
  if (list || (l.place.device && l.place.device->capture())) {
    for (const TapedLaunch::Leaf& leaf : l.leaves) {
      if (leaf.version) list ? list->keep(leaf.version) : l.place.device->keep_for_capture(leaf.version);
      if (leaf.object.is_valid() && !leaf.object.is_none()) arrays.push_back(*as_array(leaf.object.ptr()));
    }
    if (l.logged)
      for (const runtime::Array& one : l.log.arrays()) arrays.push_back(one);
  }
  run(l.kernel, *l.signature, variant, arrays, l.keep, bytes, l.dims(), l.place, true);
}

void reverse_step(TapeObject::Step& step) {
  if (step.launch)
    reverse(*step.launch);
  else if (capturing_on_cpu())
    record_call(step.function);  // it works on values, which come to be when the graph runs
  else
    step.function();
}

void backward(TapeObject& tape) {
  for (std::size_t k = tape.steps.size(); k-- > 0;) reverse_step(tape.steps[k]);
}

/// Goes back over a launch with `scratch` as the gradient of `array` and none for all other arrays; false: it is a
/// function.
bool probe_step(TapeObject::Step& step, const runtime::Array& array, const runtime::Array& scratch) {
  if (!step.launch) return false;
  const Probe probe{runtime::grad_range(array.desc(), array.element()->size()),
                    reinterpret_cast<char*>(scratch.range().lo)};
  reverse(*step.launch, &probe);
  return true;
}

/// Whether a step writes to an array's memory; functions may.
bool writes(const TapeObject::Step& step, const runtime::Array& array) {
  if (!step.launch) return true;
  const driver::TapeFacts& facts = *step.launch->facts;
  const char* block = reinterpret_cast<const char*>(step.launch->block.data());
  for (std::size_t k = 0; k < facts.leaves.size(); ++k)
    if (facts.written[k] && range_at(block, facts.leaves[k]).intersects(array.range())) return true;
  return facts.written_elsewhere;
}

/// The arrays in Python that launches had, each once.
nb::list list_arrays(const TapeObject& tape) {
  nb::list out;
  std::unordered_set<PyObject*> seen;
  auto add = [&](const nb::object& one) {
    if (one.is_valid() && !one.is_none() && seen.insert(one.ptr()).second) out.append(one);
  };
  for (const TapeObject::Step& step : tape.steps) {
    if (!step.launch) continue;
    for (const TapedLaunch::Leaf& leaf : step.launch->leaves) add(leaf.object);
    for (const nb::object& held : step.launch->held_objects) add(held);
  }
  return out;
}

/// Arguments of launches that hold arrays but are none themselves, structs and indexed arrays, each once.
nb::list list_compounds(const TapeObject& tape) {
  nb::list out;
  std::unordered_set<PyObject*> seen;
  for (const TapeObject::Step& step : tape.steps) {
    if (!step.launch) continue;
    const driver::KernelSignature& signature = *step.launch->signature;
    if (std::none_of(signature.types.begin(), signature.types.end(), [](const Type* t) { return t->is_struct(); }))
      continue;
    for (int list : {3, 4})
      for (nb::handle one : nb::cast<nb::list>(step.launch->arguments[list]))
        if (!as_array(one.ptr()) && seen.insert(one.ptr()).second) out.append(one);
  }
  return out;
}

/// (function, its arrays) of each.
nb::list list_functions(const TapeObject& tape) {
  nb::list out;
  for (const TapeObject::Step& step : tape.steps)
    if (!step.launch) out.append(nb::make_tuple(step.function, step.arrays));
  return out;
}

nb::list list_steps(TapeObject& tape) {
  nb::list out;
  for (TapeObject::Step& step : tape.steps)
    out.append(step.launch ? step.launch->arguments : nb::make_tuple(step.function, step.arrays));
  return out;
}

// Functions that a tape calls on the way back often know the tape: Python's garbage collector must see such cycles.

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const TapeObject::Step& step : nb::inst_ptr<TapeObject>(self)->steps) {
    Py_VISIT(step.function.ptr());
    Py_VISIT(step.arrays.ptr());
    if (!step.launch) continue;
    Py_VISIT(step.launch->arguments.ptr());
    for (const TapedLaunch::Leaf& leaf : step.launch->leaves) Py_VISIT(leaf.object.ptr());
    for (const nb::object& one : step.launch->held_objects) Py_VISIT(one.ptr());
    for (const nb::object& one : step.launch->keep) Py_VISIT(one.ptr());
  }
  return 0;
}

int clear(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  const auto gone = std::move(nb::inst_ptr<TapeObject>(self)->steps);
  nb::inst_ptr<TapeObject>(self)->steps.clear();
  return 0;
}

PyType_Slot tape_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

std::atomic<bool> work_is_followed{false};

bool forward_mode() { return forward.load(std::memory_order_relaxed) && suspended == 0; }

TapeHooks& tape_hooks() {
  static auto* hooks = new TapeHooks;  // outlives module teardown
  return *hooks;
}

WEFT_HOT TapeObject* recording_tape() {
  if (!work_is_followed.load(std::memory_order_relaxed)) return nullptr;
  return !suspended && recording.is_valid() && !recording.is_none() ? nb::inst_ptr<TapeObject>(recording) : nullptr;
}

void announce_array_write(const runtime::Array& array, const char* by, const runtime::Array* part_of) {
  if (GraphWrites* writes = captured_writes(array)) writes->add(array.range(), std::string(by) + " in a graph");
  if (!runtime::writes_are_watched()) return;
  TapeObject* tape = recording_tape();
  const bool seen = !tape || (part_of ? part_of : &array)->has_grad();
  const auto passage = seen ? runtime::Passage::recorded : runtime::Passage::unseen;
  runtime::announce_write(array.range(), tape ? &tape->keeper : suspended_keeper(), by, passage,
                          {&array.desc(), array.element()->size()});
}

void announce_gradients(const driver::KernelSignature& signature, const char* block, const std::string& kernel) {
  if (!runtime::writes_are_watched()) return;
  const std::string by = "the adjoint of kernel '" + kernel + "'";
  for (const ParamLayout::Param& p : signature.layout.params) announce_gradients_at(p.type, block + p.offset, by);
}

void LaunchArrays::add(PyObject* value, const Type* type) {
  hold_arrays(value, type, memory);
  collect_arrays(value, type, objects);
}

void launch_watched(const std::shared_ptr<KernelObject>& kernel, driver::KernelSignature& signature,
                    LaunchArrays arrays, const char* block, std::vector<nb::object> keep,
                    std::span<const std::int64_t> dims, const LaunchPlace& place, LaunchOnTape how) {
  const driver::ArrayFacts form = driver::array_facts(signature.layout, block);
  const driver::TapeFacts& facts = facts_for(*kernel, signature, dims.size(), form);
  if (how.tape && how.tape->watch_threads && how.run && (place.device || launch_settings().max_threads != 1) &&
      !has_order(*kernel, signature, dims.size(), form))
    check_races(*kernel, signature, facts, form, block, dims, place);
  announce(facts, block, how, kernel->name());
  if (!how.tape) {
    const driver::KernelVariant& variant = form_for(*kernel, signature, dims, block, form, place.device);
    return run(kernel, signature, variant, arrays.memory, keep, block, dims, place, false);
  }

  auto made = std::make_unique<TapedLaunch>();
  made->kernel = kernel;
  made->signature = &signature;
  made->facts = &facts;
  made->form = form;
  std::copy_n(dims.begin(), dims.size(), made->extents);
  made->rank = dims.size();
  made->place = place;
  made->arguments = std::move(how.arguments);
  // What depends on the order of threads has to keep it, or nobody could go back.
  const bool ordered = !facts.ordered.empty();
  const ParamLayout extended = facts.log.empty() && !ordered ? ParamLayout() : driver::log_layout(signature.layout);
  made->block.resize((std::max(extended.size, signature.layout.size) + 7) / 8 + 1);
  std::memcpy(made->bytes(), block, signature.layout.size);
  made->arrays = std::move(arrays.memory);
  made->leaves.resize(facts.leaves.size());
  bool any = false;
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    if (k < arrays.objects.size()) made->leaves[k].object = arrays.objects[k];
    any |= desc_at(made->bytes(), facts.leaves[k]).grad != nullptr;
    const Type* element = facts.leaves[k].type->element();
    if (!element->is_struct() || !made->leaves[k].object.is_valid() || made->leaves[k].object.is_none()) continue;
    for (nb::handle one : tape_hooks().held(made->leaves[k].object)) made->held_objects.push_back(nb::borrow(one));
  }
  for (const nb::object& one : made->held_objects) any |= as_array(one.ptr())->has_grad();
  made->backward = how.backward;
  made->active = any = any && how.backward;
  made->logged = any && !facts.log.empty() && facts.problem.empty() && how.run;
  driver::ArrayFacts run_form = form;
  run_form.taped = made->logged || (ordered && any && facts.problem.empty());
  if (made->logged) make_log(*made);
  if (how.run) {
    const driver::KernelVariant& variant = form_for(*kernel, signature, dims, made->bytes(), run_form, place.device);
    driver::LaunchRequest request{dims, {}};
    request.options.serial = launch_settings().max_threads == 1;
    made->in_order = driver::in_thread_order(variant, request);
    auto work = [&] { run(kernel, signature, variant, made->arrays, keep, made->bytes(), dims, place, false); };
    made->logged ? run_with_log(*made, work) : work();
  }
  if (any && how.run) build_adjoint_now(*made);
  made->place.gpu.stream = nullptr;  // backward passes go to the stream that is current then; this one may be gone
  if (any && facts.problem.empty()) {
    const std::string by = "kernel '" + kernel->name() + "'";
    for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
      if (!facts.needed[k] && !facts.needed_elsewhere) continue;
      const ArrayDesc& desc = desc_at(made->bytes(), facts.leaves[k]);
      if (desc.data) made->leaves[k].version = how.tape->keeper.need(owner_of(*made, facts.leaves[k], desc), by);
    }
    if (facts.needed_elsewhere)
      for (const nb::object& one : made->held_objects)
        made->held.push_back(how.tape->keeper.need(*as_array(one.ptr()), by));
  }
  for (std::size_t k = 0; any && k < facts.leaves.size(); ++k)
    if (desc_at(made->bytes(), facts.leaves[k]).grad)
      how.tape->keeper.note_use(range_at(made->bytes(), facts.leaves[k]));
  made->keep = std::move(keep);
  how.tape->add({std::move(made), {}, {}});
}

void register_tape(nb::module_& m) {
  nb::class_<runtime::Version>(m, "ArrayVersion", "Values of an array at one moment.")
      .def(
          "_share_into",
          [](const std::shared_ptr<runtime::Version>& v, ArrayObject& into) { into.array = v->values(into.array); },
          "Makes an array, which must be a view like the one whose values were asked for, one of these values.");
  nb::class_<TapeObject>(m, "TapeCore", "What a tape has recorded; warp.Tape derives from it.",
                         nb::type_slots(tape_slots))
      .def(nb::init<>())
      .def("_start",
           [](nb::handle self) {
             // A function that some tape calls on its way back may begin a tape of its own.
             nb::inst_ptr<TapeObject>(self)->outer = std::exchange(suspended, 0);
             recording = nb::borrow(self), follow();
           })
      .def("_stop",
           [](nb::handle self) {
             suspended += std::exchange(nb::inst_ptr<TapeObject>(self)->outer, 0);
             recording.reset(), follow();
           })
      .def_static(
          "_suspend", [](int by) { suspended += by; }, "Counts why this thread's work is not to be recorded.")
      .def("_add",
           [](TapeObject& t, nb::object function, nb::list arrays) {
             for (nb::handle one : arrays) {
               const runtime::Array* array = as_array(one.ptr());
               if (array && array->has_grad()) t.keeper.note_use(array->range());
             }
             t.add({nullptr, std::move(function), std::move(arrays)});
           })
      .def("_need",
           [](TapeObject& t, const ArrayObject& a, const std::string& by) { return t.keeper.need(a.array, by); })
      .def("_steps", &list_steps)
      .def("_strays", &list_strays)
      .def("_launch_arrays", &list_arrays)
      .def("_compounds", &list_compounds)
      .def("_functions", &list_functions)
      .def("_count", [](const TapeObject& t) { return t.steps.size(); })
      .def("_backward", &backward)
      .def("_reverse", [](TapeObject& t, std::size_t k) { reverse_step(t.steps.at(k)); })
      .def("_probe", [](TapeObject& t, std::size_t k, const ArrayObject& a,
                        const ArrayObject& scratch) { return probe_step(t.steps.at(k), a.array, scratch.array); })
      .def("_writes", [](TapeObject& t, std::size_t k, const ArrayObject& a) { return writes(t.steps.at(k), a.array); })
      .def("_verify", [](TapeObject& t, bool on) { t.keeper.set_verify(on); })
      .def("_watch_threads", [](TapeObject& t, bool on) { t.watch_threads = on; })
      .def("_notes", [](TapeObject& t) { return t.keeper.take_notes(); })
      .def("_clear",
           [](TapeObject& t) {
             auto gone = std::move(t.steps);
             t.steps.clear();
             t.keeper.clear();
           })
      .def("_refuse_copies",
           [](TapeObject& t, bool on) {
             using Policy = runtime::VersionKeeper::OnOverwrite;
             t.keeper.set_policy(on ? Policy::refuse : Policy::copy);
           })
      .def_prop_ro(
          "kept_bytes", [](const TapeObject& t) { return t.keeper.kept_bytes(); },
          "Bytes of arrays that the tape copied because a later operation overwrote them.")
      .def_prop_ro(
          "kept_copies", [](const TapeObject& t) { return t.keeper.copies(); }, "How many such copies there are.")
      .def_prop_ro(
          "log_bytes",
          [](const TapeObject& t) {
            std::uint64_t total = 0;
            for (const auto& step : t.steps)
              if (step.launch) total += step.launch->log.bytes();
            return total;
          },
          "Bytes that launches wrote down because their kernels overwrite what the backward pass needs.");
  m.def(
      "recording_tape", [] { return recording_tape() ? recording : nb::none(); },
      "The tape that records what this thread does, or None.");
  m.def("set_forward_mode", [](bool on) { forward = on, follow(); });
  m.def("forward_mode", &forward_mode, "Whether forward mode follows what this thread does.");
  m.def(
      "written_params",
      [](nb::handle object, nb::handle inputs, nb::handle outputs, std::size_t rank) {
        const std::shared_ptr<KernelObject> kernel = current_kernel(object.ptr(), *find_kernel(object.ptr()));
        const ArgumentList args(inputs.ptr(), outputs.ptr());
        driver::KernelSignature& signature = signature_for(*kernel, args);
        driver::ArrayFacts careful;
        careful.no_overlap = false;
        const driver::TapeFacts& facts = facts_for(*kernel, signature, rank, careful);
        if (!facts.problem.empty() && facts.leaves.empty()) throw runtime::Error(facts.problem);
        nb::list out;
        const auto& params = signature.layout.params;
        for (std::size_t i = 0; i < params.size(); ++i) {
          const std::size_t begin = params[i].offset, end = begin + params[i].type->size();
          bool written = facts.written_elsewhere;
          for (std::size_t k = 0; k < facts.leaves.size(); ++k)
            written |= facts.written[k] && facts.leaves[k].offset >= begin && facts.leaves[k].offset < end;
          out.append(written);
        }
        return out;
      },
      nb::arg("kernel"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("rank"),
      "For each parameter whether a launch writes to an array of it.");
  m.def("set_tape_hooks", [](nb::object copied, nb::object filled, nb::object held) {
    tape_hooks() = {std::move(copied), std::move(filled), std::move(held)};
  });
  m.def(
      "note_fill",
      [](nb::handle array) {
        if (copies_are_heard()) tape_hooks().filled(array);
      },
      "Tells the tape that records that an array was overwritten with values that depend on no array.");
  m.def(
      "take_private_copy", [](ArrayObject& a) { a.array = runtime::copy_of_memory(a.array); },
      "Gives an array memory of its own, with the same values and strides.");
  m.def(
      "is_foreign", [](const ArrayObject& a) { return a.array.is_foreign(); }, "Whether Weft did not make its memory.");
  m.def("announce_write", [](const ArrayObject& a, const char* by) { announce_array_write(a.array, by); });
}

}  // namespace weft::bind
