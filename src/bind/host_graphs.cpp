// Graphs on the CPU in Python: launches, copies and fills of a thread recorded as a list of commands, calls of Python
// where only Python can do the work, conditions and loops, and running all of it as one piece.
#include <nanobind/stl/shared_ptr.h>

#include "bind/gil.h"
#include "bind/graph_journal.h"
#include "driver/graph_writes.h"
#include "driver/launch_command.h"
#include "runtime/errors.h"
#include "runtime/versions.h"

namespace weft::bind {
namespace {

/// What wp.Graph holds on the CPU.
struct HostGraph {
  std::shared_ptr<const runtime::CommandList> list;
};

class PythonCall final : public runtime::Command {
 public:
  explicit PythonCall(nb::object function) : function_(function.ptr()), owner_(hold_objects({std::move(function)})) {}
  void run(const runtime::LaunchOptions&) const override {
    GilAcquire gil;
    const runtime::RecordingRepeated again(recording_);
    nb::object done = nb::steal(PyObject_CallNoArgs(function_));
    if (!done.is_valid()) throw nb::python_error();
  }
  std::string text() const override { return "call of Python"; }

 private:
  PyObject* function_;
  std::shared_ptr<const void> owner_;
  std::uint64_t recording_ = runtime::recording_number();
};

runtime::CommandList& recorded() {
  runtime::CommandList* list = runtime::recording();
  if (!list) throw runtime::ArgumentError("Graph capture is not active on cpu in this thread");
  return *list;
}

const runtime::Array& condition_of(const ArrayObject& condition) {
  recorded().keep(std::make_shared<const runtime::Array>(condition.array));
  return condition.array;
}

std::shared_ptr<const runtime::CommandList> list_of(const HostGraph* graph) { return graph ? graph->list : nullptr; }

}  // namespace

bool capturing_on_cpu() { return runtime::recording() != nullptr; }

bool record_launch(const driver::LaunchWork& work, const std::vector<nb::object>& keep) {
  runtime::CommandList* list = runtime::recording();
  if (!list) return false;
  struct Owner {
    std::shared_ptr<driver::Kernel> kernel;
    std::vector<runtime::Array> arrays;
    std::shared_ptr<const void> objects;
  };
  auto owner = std::make_shared<Owner>(Owner{work.kernel, work.memory, keep.empty() ? nullptr : hold_objects(keep)});
  note_launch(work, keep);
  list->add(driver::launch_command(*work.kernel, work.variant, work.block, work.dims, work.adjoint, std::move(owner)));
  driver::touch_arrays(*list, work.signature.layout, work.block);
  return true;
}

void record_call(nb::object function) {
  note_other("a call of Python");
  recorded().add(std::make_unique<PythonCall>(std::move(function)));
}

void register_graph_writes(nb::module_& m) {
  using driver::GraphWrites;
  static constexpr auto device_of = [](int place) {
    return place < 0 ? nullptr : &cuda::System::shared().device(place);
  };
  nb::class_<GraphWrites>(m, "GraphWrites", "What a graph writes when it runs.")
      .def("announce", &GraphWrites::announce, "To be called before each run.")
      .def("include", &GraphWrites::include, "Another graph becomes part of this one.");
  m.def(
      "graph_writes_begin", [](int place) { driver::begin_graph_writes(device_of(place)); }, nb::arg("place"),
      "Gathers what is written by work that becomes part of a graph.");
  m.def(
      "graph_writes_end", [](int place) { return driver::end_graph_writes(device_of(place)); }, nb::arg("place"),
      "Ends that and gives it; None if it had not begun.");
  m.def("graph_writes_now", [](int place) { return driver::graph_writes_now(device_of(place)); }, nb::arg("place"));
}

void register_host_graphs(nb::module_& m) {
  nb::class_<HostGraph>(m, "HostGraph", "Work captured on the CPU.")
      .def("__len__", [](const HostGraph& g) { return g.list->size(); })
      .def("dot", [](const HostGraph& g) { return g.list->dot(); })
      .def("launch", [](const HostGraph& g) { run_commands(g.list); });
  m.def("host_capturing", [] { return runtime::recording() != nullptr; }, "Whether this thread captures on the CPU.");
  m.def(
      "condition_holds",
      [](const ArrayObject& condition) {
        runtime::Array value = condition.array;
        if (!value.on_host()) {
          value = runtime::Array::empty(value.element(), value.shape());
          copy_elements(value, condition.array);
        }
        return *static_cast<const std::int32_t*>(value.data()) != 0;
      },
      nb::arg("condition"), "Reads an array of one int32, when all is done that may write to it.");
  m.def("host_capture_begin", [] { runtime::begin_recording(); });
  m.def("host_capture_end", [] { return HostGraph{runtime::end_recording()}; });
  m.def("host_branch_begin", [] { runtime::begin_branch(); }, "What follows goes into a graph of its own.");
  m.def("host_branch_end", [] { return HostGraph{runtime::end_branch()}; });
  m.def("host_record_graph", [](const HostGraph& g) { recorded().add_list(g.list); });
  m.def(
      "host_record_if",
      [](const ArrayObject& condition, const HostGraph* then, const HostGraph* otherwise) {
        recorded().add_if(condition_of(condition), list_of(then), list_of(otherwise));
      },
      nb::arg("condition"), nb::arg("then").none(), nb::arg("otherwise").none());
  m.def("host_record_while", [](const ArrayObject& condition, const HostGraph& body) {
    recorded().add_while(condition_of(condition), body.list);
  });
  m.def(
      "host_record_call",
      [](nb::object function, const std::vector<const ArrayObject*>& written) {
        record_call(std::move(function));
        for (const ArrayObject* one : written) recorded().touch(one->array.range());
      },
      nb::arg("function"), nb::arg("written"), "A call without arguments becomes part of the graph.");
  m.def(
      "host_record_values",
      [](const ArrayObject& a) {
        if (!runtime::recording() || !a.array.on_host() || a.array.size() == 0) return;
        runtime::Array values;
        {
          const runtime::RecordingPaused now;
          values = runtime::copy_of_memory(a.array);
        }
        a.array.assign(values);
      },
      nb::arg("array"), "While a graph is captured on the CPU: each run gives the array the values that it has now.");
  m.def(
      "host_refuse", [](const std::string& what) { runtime::refuse_while_recording(what); }, nb::arg("what"),
      "Raises the error for what can't be done while a graph is captured on the CPU; returns when there is none.");
}

}  // namespace weft::bind
