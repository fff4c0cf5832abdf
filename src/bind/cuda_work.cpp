// Streams, events and graphs of CUDA devices in Python.
#include <nanobind/stl/shared_ptr.h>

#include <cstring>

#include "bind/foreign_streams.h"
#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "cuda/graph.h"
#include "cuda/ipc.h"
#include "runtime/errors.h"
#include "runtime/late_work.h"

namespace weft::bind {
namespace {

cuda::Device& device_at(int ordinal) { return cuda::System::shared().device(ordinal); }

template <class T>
void wait_for(const T& thing) {
  GilRelease release;
  thing.synchronize();
}

/// The captures that Python began and has not ended, by device.
std::unique_ptr<cuda::Capture>& capture_of(int ordinal) {
  static auto* captures = new std::unique_ptr<cuda::Capture>[driver::kMaxCudaDevices];
  return captures[ordinal];
}

cuda::Capture& captured(int ordinal) {
  if (cuda::Capture* running = device_at(ordinal).capture()) return *running;
  throw runtime::ArgumentError("Graph capture is not active on cuda:" + std::to_string(ordinal));
}

cuda::DevicePtr address_of(const ArrayObject& array) {
  runtime::LateWork::expose(array.array);
  return reinterpret_cast<cuda::DevicePtr>(array.array.data());
}

void register_streams(nb::module_& m) {
  nb::class_<cuda::Stream>(m, "CudaStream", "A queue of work on a CUDA device.")
      .def_prop_ro("ordinal", [](const cuda::Stream& s) { return s.device().ordinal(); })
      .def_prop_ro("handle", [](const cuda::Stream& s) { return reinterpret_cast<std::uintptr_t>(s.tell_handle()); })
      .def_prop_ro("done", &cuda::Stream::done)
      .def_prop_ro("capturing", &cuda::Stream::capturing)
      .def_prop_ro("priority", &cuda::Stream::priority)
      .def_prop_ro("blocking", &cuda::Stream::blocking)
      .def("leave", &cuda::Stream::leave, "Memory that is dropped later waits for what was queued on a foreign stream.")
      .def("synchronize", &wait_for<cuda::Stream>)
      .def(
          "record", [](const cuda::Stream& s, const cuda::Event& e, bool external) { s.record(e, external); },
          nb::arg("event"), nb::arg("external") = false)
      .def(
          "wait_event", [](const cuda::Stream& s, const cuda::Event& e, bool external) { s.wait(e, external); },
          nb::arg("event"), nb::arg("external") = false)
      .def("wait_stream", [](const cuda::Stream& s, const cuda::Stream& other) { s.wait(other); });
  m.def("cuda_stream_new",
        [](int ordinal, int priority, bool blocking) { return device_at(ordinal).make_stream(priority, blocking); });
  m.def("cuda_stream_over", [](int ordinal, std::uintptr_t handle) {
    return device_at(ordinal).adopt_stream(reinterpret_cast<cuda::StreamHandle>(handle));
  });
  m.def("cuda_stream_current", [](int ordinal) { return device_at(ordinal).stream(); });
  m.def("cuda_stream_use", [](int ordinal, std::shared_ptr<cuda::Stream> stream) {
    note_chosen_stream(device_at(ordinal), *stream);
    device_at(ordinal).set_stream(std::move(stream));
  });
  m.def(
      "cuda_stream_of_thread",
      [](int ordinal, std::shared_ptr<cuda::Stream> stream) {
        return device_at(ordinal).set_thread_stream(std::move(stream));
      },
      nb::arg("ordinal"), nb::arg("stream").none(),
      "Gives the calling thread a current stream of its own, or None for the process's again; the one before, or None.");
  m.def("cuda_stream_priorities", [](int ordinal) {
    cuda::Device& device = device_at(ordinal);
    cuda::ContextScope scope(device);
    int least = 0, greatest = 0;
    WEFT_CUDA(device.api(), context_priorities, &least, &greatest);
    return std::pair(greatest, least);
  });

  nb::class_<cuda::Event>(m, "CudaEvent", "A mark in a stream.")
      .def_prop_ro("ordinal", [](const cuda::Event& e) { return e.device().ordinal(); })
      .def_prop_ro("handle", [](const cuda::Event& e) { return reinterpret_cast<std::uintptr_t>(e.handle()); })
      .def_prop_ro("done", &cuda::Event::done)
      .def("synchronize", &wait_for<cuda::Event>)
      .def("elapsed_since", &cuda::Event::elapsed_since, nb::arg("start"), "Milliseconds since another event.");
  m.def("cuda_event_new", [](int ordinal, bool timing, bool interprocess) {
    return std::make_shared<cuda::Event>(device_at(ordinal), timing, interprocess);
  });
  m.def("cuda_event_over", [](int ordinal, std::uintptr_t handle) {
    return std::make_shared<cuda::Event>(device_at(ordinal), reinterpret_cast<cuda::EventHandle>(handle));
  });
}

/// Another process's memory; arrays over it hold this.
struct SharedMemory {
  std::shared_ptr<void> memory;
};

cuda::IpcHandle ipc_handle(const nb::bytes& bytes) {
  cuda::IpcHandle handle{};
  if (bytes.size() != sizeof handle.bytes)
    throw nb::value_error("the handle of memory or an event in another process has 64 bytes");
  std::memcpy(handle.bytes, bytes.c_str(), sizeof handle.bytes);
  return handle;
}

void register_ipc(nb::module_& m) {
  auto bytes_of = [](const cuda::IpcHandle& handle) { return nb::bytes(handle.bytes, sizeof handle.bytes); };
  nb::class_<SharedMemory>(m, "SharedMemory", "Memory of another process.")
      .def_prop_ro("ptr", [](const SharedMemory& s) { return reinterpret_cast<std::uintptr_t>(s.memory.get()); });
  m.def("cuda_share_memory", [bytes_of](const ArrayObject& a) {
    return bytes_of(cuda::share_memory(device_at(a.array.space()->ordinal()), address_of(a)));
  });
  m.def("cuda_open_memory", [](int ordinal, const nb::bytes& handle) {
    return SharedMemory{cuda::open_memory(device_at(ordinal), ipc_handle(handle))};
  });
  m.def("cuda_share_event", [bytes_of](const cuda::Event& event) { return bytes_of(cuda::share_event(event)); });
  m.def("cuda_open_event",
        [](int ordinal, const nb::bytes& handle) { return cuda::open_event(device_at(ordinal), ipc_handle(handle)); });
}

void register_graphs(nb::module_& m) {
  nb::class_<cuda::Graph>(m, "CudaGraph", "Work captured from a stream.")
      .def_prop_ro("ordinal", [](const cuda::Graph& g) { return g.device().ordinal(); })
      .def("instantiate", &cuda::Graph::instantiate)
      .def("write_dot", &cuda::Graph::write_dot)
      .def("launch", &cuda::Graph::launch, nb::arg("stream"));
  m.def(
      "cuda_capture_begin",
      [](std::shared_ptr<cuda::Stream> stream, bool external) {
        const int ordinal = stream->device().ordinal();
        capture_of(ordinal) = std::make_unique<cuda::Capture>(std::move(stream), external);
      },
      nb::arg("stream"), nb::arg("external"));
  m.def("cuda_capture_end", [](int ordinal) -> std::shared_ptr<cuda::Graph> {
    std::unique_ptr<cuda::Capture>& running = capture_of(ordinal);
    if (!running) throw runtime::ArgumentError("Graph capture is not active on cuda:" + std::to_string(ordinal));
    const std::unique_ptr<cuda::Capture> ended = std::move(running);
    return ended->end();
  });
  m.def("cuda_capture_graph",
        [](int ordinal, const std::shared_ptr<cuda::Graph>& graph) { captured(ordinal).add(graph); });
  m.def("cuda_condition", [](const ArrayObject& value, bool negated) {
    cuda::Capture& capture = captured(value.array.space()->ordinal());
    capture.keep(std::make_shared<const runtime::Array>(value.array));
    return capture.condition(address_of(value), negated);
  });
  m.def("cuda_branch_begin", [](const ArrayObject& value, cuda::ConditionHandle condition, bool loop) {
    captured(value.array.space()->ordinal()).begin_branch(condition, address_of(value), loop);
  });
  m.def("cuda_branch_end", [](int ordinal) { captured(ordinal).end_branch(); });
  m.def("cuda_capturing", [](int ordinal) { return device_at(ordinal).capture() != nullptr; });
  m.def(
      "set_overlapped_launches", [](bool enabled) { cuda::System::want_early_starts(enabled); }, nb::arg("enabled"),
      "Whether kernels of graphs on GPUs may be started while those before them end.");
  m.def(
      "set_parallel_graphs", [](bool enabled) { cuda::System::want_parallel_graphs(enabled); }, nb::arg("enabled"),
      "Whether pieces of graphs on GPUs run at the same time where none needs what another one makes.");
}

}  // namespace

void register_cuda_work(nb::module_& m) {
  register_streams(m);
  register_graphs(m);
  register_ipc(m);
}

}  // namespace weft::bind
