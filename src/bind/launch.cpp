// wp.launch: one C function from keywords to running code. The usual launch (a kernel whose compiled form is known, on the
// CPU, arguments of the parameters' own types) runs no Python code; everything rare is handed to Python's launch.
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <cstring>

#include "bind/empty_launch.h"
#include "bind/foreign_streams.h"
#include "bind/gil.h"
#include "bind/late_launch.h"
#include "bind/launch_entry.h"
#include "bind/launch_place.h"
#include "bind/recent_launch.h"
#include "bind/tape.h"
#include "runtime/late_work.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

enum Argument : std::size_t {
  kKernel,
  kDim,
  kInputs,
  kOutputs,
  kAdjInputs,
  kAdjOutputs,
  kDevice,
  kStream,
  kAdjoint,
  kRecordTape,
  kRecordCmd,
  kMaxBlocks,
  kBlockDim,
  kArguments
};

constexpr const char* kNames[kArguments] = {"kernel",      "dim",        "inputs",   "outputs", "adj_inputs",
                                            "adj_outputs", "device",     "stream",   "adjoint", "record_tape",
                                            "record_cmd",  "max_blocks", "block_dim"};
PyObject* names[kArguments];     // interned
PyObject* defaults[kArguments];  // null: must be given
PyTypeObject* handle_class;
PyObject* refresh_name;

constexpr const char* kDoc =
    "launch(kernel, dim=None, inputs=(), outputs=(), adj_inputs=(), adj_outputs=(), device=None, stream=None, "
    "adjoint=False, record_tape=True, record_cmd=False, max_blocks=0, block_dim=None)\n--\n\n"
    "Runs a kernel over a grid of 1 to 4 dimensions; on the CPU it is done when this returns, on CUDA devices queued.\n\n"
    "    kernel       what @wp.kernel made of a function\n"
    "    dim          number of threads, or a tuple of 1 to 4 extents; None takes the shape of the first array\n"
    "    inputs       the kernel's arguments in order: numbers, vectors, structs, arrays (wp.array, NumPy, None)\n"
    "    outputs      further arguments; inputs and outputs together are the kernel's parameters\n"
    "    adj_inputs   with adjoint=True: gradients of the inputs; None takes those of the arrays\n"
    "    adj_outputs  with adjoint=True: gradients of the outputs\n"
    "    device       where to run; None: the device of the thread's scope, else where the arrays lie, else the current one\n"
    "    stream       CUDA stream; has no meaning on the CPU\n"
    "    adjoint      run the kernel's adjoint\n"
    "    record_tape  let an active tape record the launch\n"
    "    record_cmd   return a wp.Launch to run later, instead of running now\n"
    "    max_blocks   most CUDA blocks; has no meaning on the CPU\n"
    "    block_dim    threads per CUDA block; on the CPU with wp.config.enable_cpu_blocks, else a block is one thread\n";

WEFT_HOT bool name_argument(PyObject* name, std::size_t& index) {
  for (std::size_t i = 0; i < kArguments; ++i) {
    if (names[i] != name) continue;
    index = i;
    return true;
  }
  for (std::size_t i = 0; i < kArguments; ++i) {
    if (PyUnicode_Compare(names[i], name) != 0) continue;
    index = i;
    return true;
  }
  return false;
}

/// Sorts arguments into their places; false with a TypeError set.
WEFT_HOT bool sort_arguments(PyObject* const* args, Py_ssize_t count, PyObject* keywords, PyObject* given[kArguments]) {
  if (std::size_t(count) > kArguments) {
    PyErr_Format(PyExc_TypeError, "launch() takes at most %zu arguments, %zd were given", std::size_t(kArguments),
                 count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) given[i] = args[i];
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keywords, i);
    std::size_t index = 0;
    if (!name_argument(name, index)) {
      PyErr_Format(PyExc_TypeError, "launch() got an unexpected keyword argument '%U'", name);
      return false;
    }
    if (given[index]) {
      PyErr_Format(PyExc_TypeError, "launch() got multiple values for argument '%U'", name);
      return false;
    }
    given[index] = args[count + i];
  }
  if (given[kKernel]) return true;
  PyErr_SetString(PyExc_TypeError, "launch() missing 1 required argument: 'kernel'");
  return false;
}

/// Where a launch runs, as far as it can be told without Python code; else kPlaceUnknown.
WEFT_HOT int place_of(PyObject* device, PyObject* inputs, PyObject* outputs) {
  return !device || device == Py_None ? place_unnamed(inputs, outputs) : place_named(device);
}

/// A small number among the arguments; `missing` if it is not given. Negative numbers stay for the launch to refuse.
WEFT_HOT std::int64_t read_number(PyObject* value, std::int64_t missing, const char* what) {
  if (!value || value == Py_None) return missing;
  const long long number = PyLong_AsLongLong(value);
  if (number != -1 || !PyErr_Occurred()) return number;
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%s must be an integer, not %s", what, Py_TYPE(value)->tp_name);
  throw nb::python_error();
}

WEFT_HOT LaunchPlace gpu_place(int ordinal, PyObject* max_blocks, PyObject* block_dim, const cuda::Stream* stream) {
  LaunchPlace place;
  place.gpu.max_blocks = read_number(max_blocks, 0, "max_blocks");
  const std::int64_t block = read_number(block_dim, 0, "block_dim");
  if (ordinal < 0) {  // nothing depends on them, but what a GPU refuses is a mistake here, too
    if (place.gpu.max_blocks < 0) throw nb::value_error("max_blocks is 0 (no limit) or more");
    if (block < 0) throw nb::value_error("block_dim is 0 (as many as suit the kernel) or more");
    place.gpu.block_dim = block_on_cpu(block);
    return place;
  }
  place.device = &cuda::System::shared().device(ordinal);
  place.gpu.stream = stream;
  if (stream) stream->use();
  place.gpu.block_dim = int(std::clamp<std::int64_t>(block, -1, INT32_MAX));
  return place;
}

bool is_off(PyObject* flag) { return !flag || flag == Py_False; }

/// A parameter block, on the stack unless it is large.
class Block {
 public:
  explicit Block(std::size_t size) {
    if (size > sizeof stack_) heap_ = std::make_unique<std::uint64_t[]>((size + 7) / 8);
  }
  char* data() { return heap_ ? reinterpret_cast<char*>(heap_.get()) : stack_; }

 private:
  alignas(8) char stack_[2048];
  std::unique_ptr<std::uint64_t[]> heap_;
};

/// Whether it is the kernel's last launch again, and was queued. The GIL keeps the current stream, and what was settled.
WEFT_HOT bool repeat_on_gpu(PythonKernel& kernel, const driver::KernelSignature& signature, const char* block,
                            std::span<const std::int64_t> dims, const LaunchPlace& place) {
  if (kFreeThreaded || !kernel.recent || !kernel.recent->is(signature, block, dims, place)) return false;
  const cuda::Stream* stream = place.gpu.stream ? place.gpu.stream : place.device->stream_now();
  return stream && kernel.recent->launch().run_quickly(*stream);
}

/// Queues a launch and leaves it settled for the next one; false if that can't be.
WEFT_HOT bool settle_on_gpu(PythonKernel& kernel, const driver::KernelSignature& signature,
                            const driver::KernelVariant& variant, const char* block, std::span<const std::int64_t> dims,
                            const LaunchPlace& place) {
  if (kFreeThreaded || place.device->capture() || !driver::GpuLaunch::is_steady(variant)) return false;
  if (!kernel.recent) kernel.recent = std::make_shared<RecentLaunch>();
  driver::GpuLaunch& settled = kernel.recent->settle(signature, variant, block, dims, place);
  const cuda::Stream* stream = place.gpu.stream ? place.gpu.stream : place.device->stream_now();
  if (!stream || !settled.run_quickly(*stream)) settled.run(stream);
  return true;
}

/// Objects of other libraries whose memory a graph works on, for as long as there is the graph.
std::shared_ptr<const void> held_by_graph(const std::vector<nb::object>& objects) {
  return std::shared_ptr<std::vector<nb::object>>(new std::vector<nb::object>(objects),
                                                  [](std::vector<nb::object>* held) {
                                                    if (!nb::is_alive()) return;  // leave the references
                                                    GilAcquire gil;
                                                    delete held;
                                                  });
}

/// Whether some argument is an array of no elements: made of an empty list, its rank is not what the kernel wants.
bool has_empty_array(const ArgumentList& args) {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (const runtime::Array* array = as_array(args[i]); array && array->size() == 0) return true;
  return false;
}

WEFT_HOT void launch_as(const std::shared_ptr<PythonKernel>& kernel, std::span<const std::int64_t> dims,
                        PyObject* inputs, PyObject* outputs, LaunchPlace place, LaunchOnTape* tape) {
  dims = driver::grid_on(place.device, *kernel, dims);
  const ArgumentList args(inputs, outputs);
  driver::KernelSignature& signature = signature_for(*kernel, args);
  Block block(signature.layout.size);
  if (place.device) std::memset(block.data(), 0, signature.layout.size);  // its padding is compared
  std::vector<nb::object> keep;
  LaunchNotes notes;
  notes.arguments_held = !tape && !(place.device && place.device->capture());
  if (has_no_threads(*kernel, dims)) [[unlikely]] {
    try {
      fill_block(*kernel, signature, args, block.data(), keep, place.device, &notes);
    } catch (...) {
      if (!has_empty_array(args)) throw;
    }
    return;
  }
  fill_block(*kernel, signature, args, block.data(), keep, place.device, &notes);
  if (notes.plain_tensors && (runtime::writes_are_watched() || capturing_on_cpu())) [[unlikely]]
    for (std::size_t i = 0; i < args.size(); ++i) keep.push_back(nb::borrow(args[i]));  // longer than the launch
  if (!notes.guarded.empty()) [[unlikely]]
    check_guarded(*kernel, signature, notes, block.data(), dims.size());
  if (place.device && !keep.empty() && place.device->capture()) [[unlikely]]
    place.device->keep_for_capture(held_by_graph(keep));
  if (notes.ordered && place.gpu.stream) put_in_order(*place.device->stream(), *place.gpu.stream);
  std::optional<StreamOfProvider> follow;
  if (notes.provider && place.device && !place.gpu.stream) follow.emplace(notes, place);
  if (tape || runtime::writes_are_watched()) [[unlikely]] {
    if (place.device && !kernel->options().gpu.block && kernel->find_shares_memory(signature, dims.size()))
      throw driver::NeedsBlock{};
    LaunchArrays found;
    for (std::size_t i = 0; i < args.size(); ++i) found.add(args[i], signature.types[i]);
    if (kFreeThreaded) found.memory = std::move(notes.held);
    return launch_watched({kernel, signature, block.data(), dims, place}, std::move(found), std::move(keep),
                          tape ? std::move(*tape) : LaunchOnTape{});
  }
  if (place.device && repeat_on_gpu(*kernel, signature, block.data(), dims, place)) return;
  if (place.device) {
    if (launch_late(kernel, signature, args, block.data(), dims, place, !keep.empty() || notes.provider)) [[unlikely]]
      return;
    if (runtime::LateWork::waiting()) [[unlikely]]
      runtime::LateWork::settle();  // other threads run meanwhile: before anything is settled below
  }
  const driver::KernelVariant& variant = variant_for(*kernel, signature, dims, block.data(), false, place.device);
  if (place.device) {
    if (!settle_on_gpu(*kernel, signature, variant, block.data(), dims, place))
      run_on_gpu(*kernel, signature, variant, args, block.data(), dims, place);
    return;
  }
  const bool release = releases_gil(variant, dims), captured = capturing_on_cpu();
  std::vector<runtime::Array> arrays = std::move(notes.held);
  auto hold = [&] {
    arrays.reserve(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) hold_arrays(args[i], signature.types[i], arrays);
  };
  const bool held = release || kFreeThreaded || captured;
  if (held && !kFreeThreaded) hold();
  if (captured) {
    for (std::size_t i = 0; i < args.size(); ++i)  // arrays that structs in memory hold are Python's to keep
      if (signature.types[i]->is_array() && signature.types[i]->element()->is_struct())
        keep.push_back(nb::borrow(args[i]));
    record_launch({kernel, signature, variant, block.data(), dims, place, false, arrays, {}}, keep);
    return;
  }
  Holder late{[](void* hold_now) { (*static_cast<decltype(hold)*>(hold_now))(); }, &hold};
  run_variant(*kernel, variant, block.data(), dims, release, false, held ? Holder{} : late);
}

WEFT_HOT void launch(const std::shared_ptr<PythonKernel>& kernel, PyObject* dim, PyObject* inputs, PyObject* outputs,
                     LaunchPlace place, LaunchOnTape* tape = nullptr) {
  std::int64_t extents[kMaxRank];
  const std::span<const std::int64_t> dims{extents, read_dims(dim, extents)};
  if (!place.device)
    return launch_as(place.gpu.block_dim ? kernel_for(kernel, place, dims) : kernel, dims, inputs, outputs, place,
                     tape);
  try {
    if (!kernel->shares_memory().value_or(false)) [[likely]]
      return launch_as(kernel, dims, inputs, outputs, place, tape);
  } catch (const driver::NeedsBlock&) {  // nothing was done yet
    kernel->set_shares_memory(true);
  }
  const std::shared_ptr<PythonKernel> for_block = kernel_for(kernel, place, dims);
  launch_as(for_block, dims, inputs, outputs, place, tape);
}

/// The kernel's adjoint over the same grid; `gradients` replace those of the arrays where they are given.
void launch_adjoint(const std::shared_ptr<PythonKernel>& asked, PyObject* dim, PyObject* arguments, PyObject* gradients,
                    LaunchPlace place) {
  std::int64_t extents[kMaxRank];
  std::span<const std::int64_t> dims{extents, read_dims(dim, extents)};
  const ArgumentList args(arguments, Py_None), given(gradients, Py_None);
  if (place.device) asked->find_shares_memory(signature_for(*asked, args), dims.size());
  const std::shared_ptr<PythonKernel> kernel = kernel_for(asked, place, dims);
  dims = driver::grid_on(place.device, *kernel, dims);
  driver::KernelSignature& signature = signature_for(*kernel, args);
  Block block(signature.layout.size);
  std::vector<nb::object> keep;
  LaunchNotes notes;
  fill_block(*kernel, signature, args, block.data(), keep, place.device, &notes);
  if (!notes.guarded.empty() && !has_no_threads(*kernel, dims))
    check_guarded(*kernel, signature, notes, block.data(), dims.size());
  std::vector<runtime::Array> arrays = std::move(notes.held);
  use_gradients(*kernel, signature, given, block.data(), arrays);
  if (has_no_threads(*kernel, dims)) return;
  driver::announce_gradients(signature, block.data(), kernel->name());
  const driver::KernelVariant& variant = variant_for(*kernel, signature, dims, block.data(), true, place.device);
  if (place.device) {
    run_on_gpu(*kernel, signature, variant, args, block.data(), dims, place);
    return;
  }
  if (!kFreeThreaded)
    for (std::size_t i = 0; i < args.size(); ++i) hold_arrays(args[i], signature.types[i], arrays);
  if (record_launch({kernel, signature, variant, block.data(), dims, place, true, arrays, {}}, keep)) return;
  run_variant(*kernel, variant, block.data(), dims, releases_gil(variant, dims), true);
}

PyObject* launch_rarely(PyObject* const given[kArguments]) {
  PyObject* all[kArguments];
  for (std::size_t i = 0; i < kArguments; ++i) all[i] = given[i] ? given[i] : defaults[i];
  if (launch_settings().rare.is_valid())
    return PyObject_Vectorcall(launch_settings().rare.ptr(), all, kArguments, nullptr);
  PyErr_SetString(PyExc_RuntimeError, "warp is not initialised");
  return nullptr;
}

/// What a tape keeps of the request: (kernel, dim, max_blocks, inputs, outputs, device, block_dim), its lists copied.
nb::object arguments_for_tape(PyObject* const given[kArguments]) {
  PyObject* all[kArguments];
  for (std::size_t i = 0; i < kArguments; ++i) all[i] = given[i] ? given[i] : defaults[i];
  auto listed = [](PyObject* sequence) {
    nb::object copy = nb::steal(sequence == Py_None ? PyList_New(0) : PySequence_List(sequence));
    if (!copy.is_valid()) throw nb::python_error();
    return copy;
  };
  return nb::make_tuple(nb::handle(all[kKernel]), nb::handle(all[kDim]), nb::handle(all[kMaxBlocks]),
                        listed(all[kInputs]), listed(all[kOutputs]), nb::handle(all[kDevice]),
                        nb::handle(all[kBlockDim]));
}

/// Whether the error that is set is one of the compiler about a launch without threads, where it does no harm.
bool is_harmless(PyObject* dim) {
  if (!dim || !is_compile_error()) return false;
  nb::error_scope error;
  try {
    std::int64_t extents[kMaxRank];
    const std::size_t rank = read_dims(dim, extents);
    return std::find(extents, extents + rank, 0) != extents + rank;
  } catch (...) {
    return false;
  }
}

}  // namespace

WEFT_HOT PyObject* launch_entry(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
  PyObject* given[kArguments] = {};
  if (!sort_arguments(args, count, keywords, given)) return nullptr;
  try {
    const LaunchSettings& settings = launch_settings();
    PyObject* const inputs = given[kInputs] ? given[kInputs] : defaults[kInputs];
    PyObject* const outputs = given[kOutputs] ? given[kOutputs] : defaults[kOutputs];
    const int place = place_of(given[kDevice], inputs, outputs);
    const bool usual = settings.plain && place != kPlaceUnknown && (!given[kStream] || given[kStream] == Py_None) &&
                       is_off(given[kRecordCmd]) && is_off(given[kAdjoint]) && given[kDim] && given[kDim] != Py_None;
    KernelHandle* handle = usual ? find_kernel(given[kKernel]) : nullptr;
    if (!handle) {
      PyObject* done = launch_rarely(given);
      if (done || !is_off(given[kRecordCmd]) || !is_harmless(given[kDim])) return done;
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    const TapeTurnIfAny turn;
    LaunchOnTape on_tape;
    on_tape.take();
    if (on_tape.tape && given[kRecordTape] && PyObject_Not(given[kRecordTape]) == 1) on_tape.tape = nullptr;
    if (on_tape.tape) on_tape.arguments = arguments_for_tape(given), on_tape.backward = handle->backward;
    launch(current_kernel(given[kKernel], *handle), given[kDim], inputs, outputs,
           gpu_place(place, given[kMaxBlocks], given[kBlockDim], nullptr), on_tape.tape ? &on_tape : nullptr);
    Py_RETURN_NONE;
  } catch (...) {
    set_python_error();
    if (is_harmless(given[kDim])) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    return nullptr;
  }
}

namespace {

PyMethodDef launch_method = {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(launch_entry)),
                             METH_FASTCALL | METH_KEYWORDS, kDoc};

}  // namespace

WEFT_HOT LaunchSettings& launch_settings() {
  static auto* settings = new LaunchSettings;  // outlives module teardown
  return *settings;
}

namespace {

void refresh(PyObject* kernel) {
  nb::object done = nb::steal(PyObject_CallMethodNoArgs(kernel, refresh_name));
  if (!done.is_valid()) throw nb::python_error();
}

}  // namespace

WEFT_HOT std::shared_ptr<PythonKernel> current_kernel(PyObject* object, const KernelHandle& handle) {
  // Other threads may unload the kernel's module at any time: then it is chosen anew.
  for (;;) {
    {
      const nb::ft_object_guard guard(object);
      if (handle.current) return handle.current;
    }
    refresh(object);
  }
}

WEFT_HOT KernelHandle* find_kernel(PyObject* object) {
  if (!PyObject_TypeCheck(object, handle_class) || !nb::inst_ready(object)) return nullptr;
  auto* handle = nb::inst_ptr<KernelHandle>(object);
  if (handle->epoch != launch_settings().epoch) [[unlikely]]
    refresh(object);
  return handle;
}

void register_launch(nb::module_& m) {
  nb::class_<KernelHandle> cls(m, "KernelHandle", "The C++ part of a kernel: which compiled kernel launches use now.");
  cls.def(nb::init<>())
      .def(
          "_use",
          [](KernelHandle& h, std::shared_ptr<PythonKernel> kernel, std::int64_t epoch, bool backward, bool by_module) {
            h.backward = backward;
            if (kernel) kernel->set_module_disables_backward(!backward && by_module);
            h.epoch = kernel ? std::uint64_t(epoch) : KernelHandle::kNever;
            h.current = std::move(kernel);
          },
          nb::lock_self(), nb::arg("kernel").none(), nb::arg("epoch") = -1, nb::arg("backward") = true,
          nb::arg("by_module") = false, "Launches use this kernel until the settings change; None: ask again.")
      .def_prop_ro("_epoch", [](const KernelHandle& h) { return std::int64_t(h.epoch); });
  handle_class = reinterpret_cast<PyTypeObject*>(cls.ptr());
  Py_INCREF(handle_class);

  m.def(
      "set_launch_settings",
      [](std::uint64_t epoch, int max_threads, bool plain, bool cpu_blocks) {
        LaunchSettings& s = launch_settings();
        s.epoch = epoch;
        s.max_threads = max_threads;
        s.plain = plain;
        s.cpu_blocks = cpu_blocks;
      },
      nb::arg("epoch"), nb::arg("max_threads"), nb::arg("plain"), nb::arg("cpu_blocks") = false,
      "What launches know of the configuration: a number that changes with it, the most threads, whether launches "
      "need no help from Python (no print_launches), and whether blocks on the CPU may have several threads.");
  m.def(
      "set_launch_device", [](int place) { launch_settings().current = place; }, nb::arg("place"),
      "The current device: its number, -1 for the CPU, -3 to ask Python first.");
  m.def(
      "set_launch_devices",
      [](nb::dict by_device) {
        launch_settings().has_gpus = by_device.size() != 0;
        launch_settings().by_device = std::move(by_device);
      },
      nb::arg("by_device"), "The numbers of CUDA devices, by Device object and by name.");
  m.def(
      "set_launch_hooks",
      [](nb::object rare, nb::object rare_tiled, nb::object cpu) {
        launch_settings().rare = std::move(rare);
        launch_settings().rare_tiled = std::move(rare_tiled);
        launch_settings().cpu = std::move(cpu);
      },
      nb::arg("rare"), nb::arg("rare_tiled"), nb::arg("cpu"),
      "Python's launch and launch_tiled for rare requests, and the Device object of the CPU.");
  m.def(
      "run_launch",
      [](nb::handle kernel, nb::handle dim, nb::handle inputs, nb::handle outputs, int place, nb::handle max_blocks,
         nb::handle block_dim, const std::shared_ptr<cuda::Stream>& stream, nb::object arguments, bool run,
         nb::object again) {
        KernelHandle* handle = find_kernel(kernel.ptr());
        if (!handle) throw nb::type_error("not a kernel");
        const TapeTurnIfAny turn;
        LaunchOnTape on_tape{nullptr, arguments, run, handle->backward, std::move(again), {}};
        if (!arguments.is_none()) on_tape.take();
        launch(current_kernel(kernel.ptr(), *handle), dim.ptr(), inputs.ptr(), outputs.ptr(),
               gpu_place(place, max_blocks.ptr(), block_dim.ptr(), stream.get()),
               on_tape.tape || !run ? &on_tape : nullptr);
      },
      nb::arg("kernel"), nb::arg("dim"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("place") = kOnCpu,
      nb::arg("max_blocks").none() = nb::none(), nb::arg("block_dim").none() = nb::none(),
      nb::arg("stream").none() = nb::none(), nb::arg("arguments").none() = nb::none(), nb::arg("run") = true,
      nb::arg("again").none() = nb::none(),
      "Launches on a device: -1 is the CPU. `arguments` is what the tape that records shall keep, None: it does not "
      "record; run=False records a launch whose work was done by other means, and that `again` does once more.");

  m.def(
      "run_adjoint",
      [](nb::handle kernel, nb::handle dim, nb::handle arguments, nb::handle gradients, int place,
         nb::handle max_blocks, nb::handle block_dim, const std::shared_ptr<cuda::Stream>& stream) {
        KernelHandle* handle = find_kernel(kernel.ptr());
        if (!handle) throw nb::type_error("not a kernel");
        launch_adjoint(current_kernel(kernel.ptr(), *handle), dim.ptr(), arguments.ptr(), gradients.ptr(),
                       gpu_place(place, max_blocks.ptr(), block_dim.ptr(), stream.get()));
      },
      nb::arg("kernel"), nb::arg("dim"), nb::arg("arguments"), nb::arg("gradients"), nb::arg("place") = kOnCpu,
      nb::arg("max_blocks").none() = nb::none(), nb::arg("block_dim").none() = nb::none(),
      nb::arg("stream").none() = nb::none(), "Launches a kernel's adjoint on a device: -1 is the CPU.");

  register_launch_place(m);
  for (std::size_t i = 0; i < kArguments; ++i) names[i] = PyUnicode_InternFromString(kNames[i]);
  refresh_name = PyUnicode_InternFromString("_refresh");
  for (std::size_t i = 0; i < kArguments; ++i) defaults[i] = Py_None;
  for (Argument list : {kInputs, kOutputs, kAdjInputs, kAdjOutputs}) defaults[list] = PyTuple_New(0);
  defaults[kAdjoint] = defaults[kRecordCmd] = Py_False;
  defaults[kRecordTape] = Py_True;
  defaults[kMaxBlocks] = PyLong_FromLong(0);
  nb::object module_name = nb::str("warp");
  m.attr("launch") = nb::steal(PyCFunction_NewEx(&launch_method, nullptr, module_name.ptr()));
}

}  // namespace weft::bind
