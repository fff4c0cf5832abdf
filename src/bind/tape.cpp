// wp.Tape's C++ part: Python's objects as owners of what the driver's tape records, and lists of them for Python.
#include "bind/tape.h"

#include <nanobind/stl/shared_ptr.h>

#include <unordered_set>

#include "bind/gil.h"
#include "bind/hooks.h"
#include "runtime/errors.h"
#include "types/fabric_type.h"

namespace weft::bind {
namespace {

/// The base class of warp.Tape.
struct TapeObject {
  driver::Tape tape;
};

/// Tapes that wait for work which they have recorded before.
struct RepeatedWork {};

/// Python's object of a tape, which it holds while it records; None for null.
nb::object object_of(const driver::Tape* tape) {
  return tape && tape->owner ? nb::borrow(static_cast<PyObject*>(tape->owner)) : nb::none();
}

std::vector<const runtime::Array*> arrays_in(const nb::list& objects) {
  std::vector<const runtime::Array*> out;
  for (nb::handle one : objects)
    if (const runtime::Array* array = as_array(one.ptr())) out.push_back(array);
  return out;
}

/// A function of Python to be called on the way back.
class PythonStep final : public driver::TapedFunction {
 public:
  PythonStep(nb::object function, nb::list arrays) : function(std::move(function)), objects(std::move(arrays)) {}
  /// Goes back over work of ours that has written to some arrays; `again`, which may be None, does it once more.
  PythonStep(nb::object function, nb::list arrays, nb::list written, nb::object again)
      : function(std::move(function)),
        objects(std::move(arrays)),
        written_objects(std::move(written)),
        again(std::move(again)) {}

  void backward() override {
    if (capturing_on_cpu())
      record_call(function);  // it works on values, which come to be when the graph runs
    else
      function();
  }
  std::vector<const runtime::Array*> arrays() const override { return arrays_in(objects); }
  std::vector<const runtime::Array*> written() const override {
    return is_known() ? arrays_in(nb::borrow<nb::list>(written_objects)) : arrays();
  }
  bool is_known() const override { return written_objects.is_valid(); }
  bool can_run_again() const override { return again.is_valid() && !again.is_none(); }
  void run_again() override { again(); }

  nb::object function;
  nb::list objects;            // whose gradients it touches
  nb::object written_objects;  // a list; invalid: it is the program's
  nb::object again;
};

const PythonStep& function_of(const driver::Tape::Step& step) { return static_cast<const PythonStep&>(*step.function); }

PythonLaunch& launch_of(const driver::Tape::Step& step) {
  return *static_cast<PythonLaunch*>(step.launch->owner.get());
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
    const bool absent = value == Py_None && fabric_type(type);
    for (const Field& f : type->fields()) {
      if (!f.type->is_array() && !f.type->is_struct()) continue;
      if (absent) {
        collect_arrays(Py_None, f.type, out);
        continue;
      }
      collect_arrays(nb::object(nb::borrow(value).attr(std::string(f.name).c_str())).ptr(), f.type, out);
    }
  }
}

/// The arrays in Python that launches had, each once.
nb::list list_arrays(const TapeObject& self) {
  nb::list out;
  std::unordered_set<PyObject*> seen;
  auto add = [&](const nb::object& one) {
    if (one.is_valid() && !one.is_none() && seen.insert(one.ptr()).second) out.append(one);
  };
  for (const std::vector<driver::Tape::Step> steps = self.tape.steps_of_now(); const driver::Tape::Step& step : steps) {
    if (!step.launch) continue;
    for (const nb::object& one : launch_of(step).arrays) add(one);
    for (const nb::object& one : launch_of(step).held) add(one);
  }
  return out;
}

/// Arguments of launches that hold arrays but are none themselves, structs and indexed arrays, each once.
nb::list list_compounds(const TapeObject& self) {
  nb::list out;
  std::unordered_set<PyObject*> seen;
  for (const std::vector<driver::Tape::Step> steps = self.tape.steps_of_now(); const driver::Tape::Step& step : steps) {
    if (!step.launch) continue;
    const driver::KernelSignature& signature = *step.launch->signature;
    if (std::none_of(signature.types.begin(), signature.types.end(), [](const Type* t) { return t->is_struct(); }))
      continue;
    for (int list : {3, 4})
      for (nb::handle one : nb::cast<nb::list>(launch_of(step).arguments[list]))
        if (!as_array(one.ptr()) && seen.insert(one.ptr()).second) out.append(one);
  }
  return out;
}

/// (function, its arrays) of each.
nb::list list_functions(const TapeObject& self) {
  nb::list out;
  for (const std::vector<driver::Tape::Step> steps = self.tape.steps_of_now(); const driver::Tape::Step& step : steps)
    if (!step.launch) out.append(nb::make_tuple(function_of(step).function, function_of(step).objects));
  return out;
}

/// As lists, which programs may compare and edit.
nb::list list_steps(const TapeObject& self) {
  nb::list out;
  for (const std::vector<driver::Tape::Step> steps = self.tape.steps_of_now(); const driver::Tape::Step& step : steps) {
    if (!step.launch) {
      nb::list function;
      function.append(function_of(step).function);
      function.append(function_of(step).objects);
      out.append(function);
      continue;
    }
    nb::object& arguments = launch_of(step).arguments;
    if (PyTuple_Check(arguments.ptr())) arguments = nb::list(arguments);
    out.append(arguments);
  }
  return out;
}

/// Gradients of the numbers in a struct that launches were passed: (names of fields, components) of each launch and number.
nb::list list_numbers(const TapeObject& self, nb::handle given) {
  nb::list out;
  for (const std::vector<driver::Tape::Step> steps = self.tape.steps_of_now(); const driver::Tape::Step& step : steps) {
    if (!step.launch || !step.launch->numbers.is_valid()) continue;
    nb::list arguments;
    for (int list : {3, 4})
      for (nb::handle one : nb::cast<nb::list>(launch_of(step).arguments[list])) arguments.append(one);
    const runtime::Array& found = step.launch->numbers;
    const runtime::Array sums = runtime::Array::empty(found.element(), found.shape());
    sums.assign(found);
    for (const autodiff::NumberLeaf& leaf : step.launch->facts->numbers) {
      if (leaf.param >= arguments.size() || !nb::handle(arguments[leaf.param]).is(given)) continue;
      nb::list names, values;
      const Type* type = step.launch->signature->types[leaf.param];
      for (const ir::PathStep& field : leaf.path) {
        names.append(std::string(type->fields()[std::size_t(field.value)].name));
        type = type->fields()[std::size_t(field.value)].type;
      }
      const std::size_t count = leaf.type->is_scalar() ? 1 : leaf.type->component_count();
      for (std::size_t k = 0; k < count; ++k) values.append(static_cast<const double*>(sums.data())[leaf.first + k]);
      out.append(nb::make_tuple(nb::tuple(names), values));
    }
  }
  return out;
}

void backward(TapeObject& self, const nb::object& seed, const std::vector<const ArrayObject*>& retained) {
  std::vector<const runtime::Array*> arrays;
  for (const ArrayObject* one : retained) arrays.push_back(&one->array);
  self.tape.backward([&] { seed(); }, arrays);
}

/// Launches of other threads that the tape records end before its block does. Ctrl-C ends the wait.
void wait_for_launches(const driver::Tape& tape) {
  if (tape.wait_for_launches(std::chrono::milliseconds(0))) return;
  for (bool ended = false; !ended;) {
    {
      const GilRelease others;
      ended = tape.wait_for_launches(std::chrono::milliseconds(50));
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// Functions that a tape calls on the way back often know the tape: Python's garbage collector must see such cycles.

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  auto visit_all = [&](const std::vector<nb::object>& list) {
    for (const nb::object& one : list) Py_VISIT(one.ptr());
    return 0;
  };
  auto visit_step = [&](const driver::Tape::Step& step) {
    if (!step.launch) {
      const PythonStep& one = function_of(step);
      for (PyObject* object : {one.function.ptr(), one.objects.ptr(), one.written_objects.ptr(), one.again.ptr()})
        Py_VISIT(object);
      return 0;
    }
    const PythonLaunch& launch = launch_of(step);
    Py_VISIT(launch.arguments.ptr());
    Py_VISIT(launch.again.ptr());
    for (const auto* list : {&launch.arrays, &launch.held, &launch.keep})
      if (const int stop = visit_all(*list)) return stop;
    return 0;
  };
  // Takes share launches' owners, and functions of the program: what is shared is visited once.
  std::unordered_set<const void*> seen;
  for (const auto& take : nb::inst_ptr<TapeObject>(self)->tape.takes())
    for (const driver::Tape::Step& step : take->steps) {
      const void* owner = step.launch ? step.launch->owner.get() : static_cast<const void*>(step.function.get());
      if (!seen.insert(owner).second) continue;
      if (const int stop = visit_step(step)) return stop;
    }
  return 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<TapeObject>(self)->tape.clear();
  return 0;
}

PyType_Slot tape_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

TapeHooks& tape_hooks() {
  static auto* hooks = new TapeHooks;  // outlives module teardown
  return *hooks;
}

namespace {

/// The arrays in Python of objects whose ids a launch has; the driver finds their memory by itself.
std::vector<nb::object> arrays_of_handles(const driver::WatchedLaunch& launch) {
  std::vector<nb::object> out;
  const driver::LaunchForm form = driver::tape_form(*launch.kernel, launch.signature, launch.block, launch.dims.size());
  const driver::TapeFacts& facts = launch.kernel->facts_for(launch.signature, form);
  for (const auto& object : driver::objects_in(facts.handles, launch.block, launch.place.device, launch.kernel->name()))
    if (const std::shared_ptr<const void> owner = object->owner())
      for (const nb::object& one : *static_cast<const std::vector<nb::object>*>(owner.get()))
        if (!one.is_none()) out.push_back(one);
  return out;
}

}  // namespace

nb::handle TapeTurn::everyones() {
  static const nb::handle only = PyTuple_Pack(1, Py_None);  // outlives module teardown; an object of its own
  return only;
}

void LaunchArrays::add(PyObject* value, const Type* type) {
  hold_arrays(value, type, memory);
  collect_arrays(value, type, objects);
}

void launch_watched(driver::WatchedLaunch launch, LaunchArrays arrays, std::vector<nb::object> keep, LaunchOnTape how) {
  auto owner = std::make_shared<PythonLaunch>();
  owner->keep = std::move(keep);
  owner->arguments = std::move(how.arguments);
  owner->again = std::move(how.again);
  if (owner->again.is_valid() && !owner->again.is_none())
    launch.again = [one = owner.get()] { one->again(); };  // the tape holds the owner
  launch.memory = std::move(arrays.memory);
  launch.run = how.run;
  launch.backward = how.backward;
  if (how.tape) {
    owner->arrays = std::move(arrays.objects);
    for (const nb::object& one : owner->arrays) {
      const runtime::Array* array = one.is_valid() && !one.is_none() ? as_array(one.ptr()) : nullptr;
      launch.arrays.push_back(array);
      if (!array || !array->is_valid() || !array->element()->is_struct()) continue;
      for (nb::handle held : tape_hooks().held(one)) owner->held.push_back(nb::borrow(held));
    }
    for (const nb::object& one : owner->held) launch.held.push_back(as_array(one.ptr()));
    for (nb::object& one : arrays_of_handles(launch)) owner->held.push_back(std::move(one));
  }
  launch.owner = std::move(owner);
  driver::launch_watched(std::move(launch), how.tape);
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
      .def(
          "_start",
          [](nb::handle self) {
            driver::Tape& tape = nb::inst_ptr<TapeObject>(self)->tape;
            if (driver::tape_of_thread() || tape.owner)
              throw std::runtime_error("Warp: Error, entering a tape while one is already active");
            tape.owner = self.inc_ref().ptr();
            driver::start_recording(tape);
          },
          nb::call_guard<TapeTurn>())
      .def(
          "_stop",
          [](nb::handle self) {
            driver::Tape& tape = nb::inst_ptr<TapeObject>(self)->tape;
            if (driver::tape_of_thread() != &tape)
              throw std::runtime_error("Warp: Error, ended tape capture, but tape not present");
            driver::stop_recording(tape);
            tape.owner = nullptr;
            const nb::object held = nb::steal(self);  // as _start took it
            wait_for_launches(tape);
          },
          nb::call_guard<TapeTurn>())
      .def(
          "_running", [](const TapeObject& t) { return t.tape.running(); },
          "Launches, of whichever thread, that will be its steps when they end.")
      .def_static(
          "_suspend", [](int by) { driver::suspend_recording(by); },
          "Counts why this thread's work is not to be recorded.", nb::call_guard<TapeTurn>())
      .def(
          "_add",
          [](TapeObject& t, nb::object function, nb::list arrays) {
            t.tape.add(std::make_unique<PythonStep>(std::move(function), std::move(arrays)));
          },
          nb::call_guard<TapeTurn>())
      .def(
          "_add_work",
          [](TapeObject& t, nb::object function, nb::list arrays, nb::list written, nb::object again) {
            t.tape.add(std::make_unique<PythonStep>(std::move(function), std::move(arrays), std::move(written),
                                                    std::move(again)));
          },
          nb::arg("function"), nb::arg("arrays"), nb::arg("written"), nb::arg("again").none(),
          nb::call_guard<TapeTurn>())
      .def(
          "_need", [](TapeObject& t, const ArrayObject& a, const std::string& by) { return t.tape.need(a.array, by); },
          nb::call_guard<TapeTurn>())
      .def("_numbers", &list_numbers, nb::call_guard<TapeTurn>())
      .def(
          "_zero_numbers",
          [](TapeObject& t) {
            for (const std::vector<driver::Tape::Step> steps = t.tape.steps_of_now();
                 const driver::Tape::Step& step : steps)
              if (step.launch) driver::zero_numbers(*step.launch);
          },
          nb::call_guard<TapeTurn>())
      .def(
          "_replay", [](TapeObject& t) { t.tape.replay(); }, nb::call_guard<TapeTurn>())
      .def("_steps", &list_steps, nb::call_guard<TapeTurn>())
      .def("_launch_arrays", &list_arrays, nb::call_guard<TapeTurn>())
      .def("_compounds", &list_compounds, nb::call_guard<TapeTurn>())
      .def("_functions", &list_functions, nb::call_guard<TapeTurn>())
      .def(
          "_count", [](const TapeObject& t) { return t.tape.steps().size(); }, nb::call_guard<TapeTurn>())
      .def("_backward", &backward, nb::arg("seed"), nb::arg("retained"),
           "Goes back over all of it; `seed` is called to set the gradients to start from.", nb::call_guard<TapeTurn>())
      .def(
          "_writes", [](TapeObject& t, std::size_t k, const ArrayObject& a) { return t.tape.writes(k, a.array); },
          nb::call_guard<TapeTurn>())
      .def(
          "_verify", [](TapeObject& t, bool on) { t.tape.keeper().set_verify(on); }, nb::call_guard<TapeTurn>())
      .def(
          "_watch_threads", [](TapeObject& t, bool on) { t.tape.watch_threads(on); }, nb::call_guard<TapeTurn>())
      .def(
          "_notes", [](TapeObject& t) { return t.tape.keeper().take_notes(); }, nb::call_guard<TapeTurn>())
      .def(
          "_clear", [](TapeObject& t) { t.tape.clear(); }, nb::call_guard<TapeTurn>())
      .def(
          "_refuse_copies",
          [](TapeObject& t, bool on) {
            using Policy = runtime::VersionKeeper::OnOverwrite;
            t.tape.keeper().set_policy(on ? Policy::refuse : Policy::copy);
          },
          nb::call_guard<TapeTurn>())
      .def_prop_ro(
          "kept_bytes", [](const TapeObject& t) { return t.tape.keeper().kept_bytes(); },
          "Bytes of arrays that the tape copied because a later operation overwrote them.", nb::call_guard<TapeTurn>())
      .def_prop_ro(
          "kept_copies", [](const TapeObject& t) { return t.tape.keeper().copies(); },
          "How many such copies there are.", nb::call_guard<TapeTurn>())
      .def_prop_ro(
          "log_bytes", [](const TapeObject& t) { return t.tape.log_bytes(); },
          "Bytes that launches wrote down because their kernels overwrite what the backward pass needs.",
          nb::call_guard<TapeTurn>());
  nb::class_<RepeatedWork>(m, "RepeatedWork", "Stands for tapes that wait for work which they have recorded before.")
      .def("_add_work",
           [](RepeatedWork&, nb::object function, nb::list arrays, nb::list written, nb::object again) {
             driver::Repeats::add(std::make_unique<PythonStep>(std::move(function), std::move(arrays),
                                                               std::move(written), std::move(again)));
           })
      .def("_need", [](RepeatedWork&, const ArrayObject& a, const std::string& by) {
        // Nobody may want the values; whoever asks gets them as they are.
        std::shared_ptr<runtime::Version> found = driver::Repeats::need(a.array, by);
        return found ? found : runtime::VersionKeeper().need(a.array, by);
      });
  m.def(
      "recording_tape", [] { return object_of(driver::recording_tape()); },
      "The tape that records what this thread does, or None.");
  m.def(
      "work_listener",
      [] {
        if (const driver::Tape* tape = driver::recording_tape()) return object_of(tape);
        return driver::Repeats::wait_for_function() ? nb::cast(RepeatedWork{}) : nb::none();
      },
      "Who wants to hear of work on arrays other than launches, copies and fills: the tape that records what this thread "
      "does, tapes for which it may repeat a step, or None.");
  m.def("copies_are_followed", &driver::copies_are_followed,
        "Whether the tape that records, or one of which they may repeat a step, wants to hear of copies and fills.");
  m.def("set_forward_mode", &driver::set_forward_mode, nb::arg("on"), "Begins or ends forward mode of this thread.");
  m.def("has_forward_mode", &driver::has_forward_mode, "Whether this thread has one, if it follows or not.");
  m.def("begin_work_apart", &driver::WorkApart::begin,
        "From now on the thread is followed only by tapes and forward modes that it begins itself.");
  m.def("end_work_apart", &driver::WorkApart::end);
  m.def("forward_mode", &driver::forward_mode, "Whether forward mode follows what this thread does.");
  m.def(
      "written_params",
      [](nb::handle object, nb::handle inputs, nb::handle outputs, std::size_t rank) {
        const std::shared_ptr<PythonKernel> kernel = current_kernel(object.ptr(), *find_kernel(object.ptr()));
        const ArgumentList args(inputs.ptr(), outputs.ptr());
        driver::KernelSignature& signature = signature_for(*kernel, args);
        driver::LaunchForm careful;
        careful.rank = std::uint8_t(rank);
        careful.no_overlap = false;
        const driver::TapeFacts& facts = kernel->facts_for(signature, careful);
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
      [](nb::handle array, nb::object again) {
        if (copies_are_heard()) tape_hooks().filled(array, again);
      },
      nb::arg("array"), nb::arg("again").none() = nb::none(),
      "Tells the tape that records that an array was overwritten with values that depend on no array.");
  m.def(
      "take_private_copy", [](ArrayObject& a) { a.array = runtime::copy_of_memory(a.array); },
      "Gives an array memory of its own, with the same values and strides.");
  m.def(
      "is_foreign", [](const ArrayObject& a) { return a.array.is_foreign(); }, "Whether Weft did not make its memory.");
  m.def("announce_write", [](const ArrayObject& a, const char* by) { driver::announce_array_write(a.array, by); });
}

}  // namespace weft::bind
