// Kernels behind the Python objects: what wp.launch, recorded launches and the kernel class share. warp.Kernel derives from
// KernelHandle, which knows the compiled kernel for the settings of now, so that a launch needs no attribute of any Python
// object.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "bind/bind.h"
#include "runtime/command_list.h"

namespace weft::bind {

using driver::LaunchPlace;

/// Whether other Python threads run at any time.
#ifdef Py_GIL_DISABLED
inline constexpr bool kFreeThreaded = true;
#else
inline constexpr bool kFreeThreaded = false;
#endif

class RecentLaunch;

/// A kernel of Python for one set of compile options (_weft.Kernel). It holds no Python object, so references to it never
/// make cycles that Python's garbage collector can't see.
class __attribute__((visibility("hidden"))) PythonKernel final : public driver::Kernel,
                                                                 public std::enable_shared_from_this<PythonKernel> {
 public:
  using Kernel::Kernel;

  /// The parameters as annotated; raises the compile error when they can't be read.
  const std::vector<sema::KernelParam>& params();
  /// False if the text or the names mean something else than when forms were built.
  bool unchanged();
  /// Remembers what the kernel's names stand for; false if forms of the signature were built when it was something else.
  bool note_meaning(const driver::KernelSignature& signature);

  /// Compiles, its warnings to Python. Raises compile errors.
  const driver::KernelVariant& build(driver::KernelSignature& signature, driver::LaunchForm form, cuda::Device* device,
                                     driver::Effort effort = driver::Effort::full) override;
  driver::Effort launch_effort() const override;
  void note_full_version(const driver::KernelVariant& now) const override;
  /// `owner` is a PythonLaunch.
  void start(const driver::LaunchWork& work) override;
  runtime::LaunchOptions cpu_options() const override;
  void run_unlocked(const std::function<void(const runtime::LaunchOptions&)>& work) override;
  void warn(const std::string& text) const override;

  std::shared_ptr<RecentLaunch> recent;  // guarded by the GIL; null without one

 private:
  std::shared_ptr<driver::Kernel> under(driver::CompileOptions options) const override;

  std::mutex mutex_;                    // guards the rest
  std::optional<Hash128> fingerprint_;  // what the text and its names meant when forms were built
  bool mixed_ = false;                  // forms were built under different meanings
  /// By signature: what the kernel's names stood for when its first form was built.
  std::map<const driver::KernelSignature*, std::string> meanings_;
};

/// driver::kernel_for of Python's kernels.
std::shared_ptr<PythonKernel> kernel_for(const std::shared_ptr<PythonKernel>& kernel, LaunchPlace& place,
                                         std::span<const std::int64_t> dims);

/// What a launch from Python holds: on a tape, as long as it stands there.
struct __attribute__((visibility("hidden"))) PythonLaunch {
  std::vector<nb::object> keep;  // buffers and the like, which the block points to
  nb::object again;              // does the work once more, where it was done by other means
  nb::object arguments;          // (kernel, dim, max_blocks, inputs, outputs, device, block_dim) for those who look
  std::vector<nb::object> arrays, held;  // those of driver::WatchedLaunch
};

/// The base class of warp.Kernel.
struct __attribute__((visibility("hidden"))) KernelHandle {
  static constexpr std::uint64_t kNever = ~std::uint64_t(0);
  std::shared_ptr<PythonKernel> current;
  std::atomic<std::uint64_t> epoch = kNever;  // settings for which `current` was chosen
  bool backward = true;                       // enable_backward
};

/// The handle inside a warp.Kernel, its compiled kernel chosen for the settings of now; null if the object is no kernel.
KernelHandle* find_kernel(PyObject* object);
/// The compiled kernel of a handle, held: another thread may choose another one meanwhile.
std::shared_ptr<PythonKernel> current_kernel(PyObject* object, const KernelHandle& handle);

/// The arguments of one launch: inputs, then outputs. It holds them itself, for reading one of them may run Python code
/// that changes the lists.
class __attribute__((visibility("hidden"))) ArgumentList {
 public:
  /// Takes lists, tuples and other sequences; None is no argument. Raises TypeError for anything else.
  ArgumentList(PyObject* inputs, PyObject* outputs);
  ~ArgumentList() {
    for (std::size_t i = 0; i < size_; ++i) Py_DECREF(items_[i]);
  }
  ArgumentList(const ArgumentList&) = delete;
  ArgumentList& operator=(const ArgumentList&) = delete;

  std::size_t size() const { return size_; }
  PyObject* operator[](std::size_t i) const { return items_[i]; }

 private:
  PyObject* few_[64];
  std::unique_ptr<PyObject*[]> many_;
  PyObject** items_ = few_;
  std::size_t size_ = 0;
};

/// Reads launch dimensions: a number or a sequence of 1 to 4; returns how many.
std::size_t read_dims(PyObject* dim, std::int64_t out[kMaxRank]);

/// The signature that these arguments call for. Raises for wrong counts and types that can't be told.
driver::KernelSignature& signature_for(PythonKernel& kernel, const ArgumentList& args);

/// Writes all parameters, defaults included, into a block of the signature's layout. Objects that must live until the
/// launch ends are added to `keep`. Arrays must lie where the launch runs: `device`, null for the CPU. `notes` take what the
/// launch has to know of arguments of other libraries (exchange.h).
void fill_block(PythonKernel& kernel, const driver::KernelSignature& signature, const ArgumentList& args, char* block,
                std::vector<nb::object>& keep, cuda::Device* device = nullptr, struct LaunchNotes* notes = nullptr);
/// Writes one parameter.
void fill_param(PythonKernel& kernel, const driver::KernelSignature& signature, std::size_t index, PyObject* value,
                char* block, std::vector<nb::object>& keep, cuda::Device* device = nullptr,
                struct LaunchNotes* notes = nullptr);
/// The array inside a Python object; null if it is none.
const runtime::Array* as_array(PyObject* value);
/// Adds the arrays in an argument, and in its fields if it is a struct, to `keep`: for launches that let other Python
/// threads run, which may drop or replace them meanwhile.
void hold_arrays(PyObject* value, const Type* type, std::vector<runtime::Array>& keep);

/// Does work while other Python threads run; with the options that it is given, Ctrl-C ends it.
void run_released(const std::function<void(const runtime::LaunchOptions&)>& work);

/// The form for this block and rank, compiled if need be. Raises compile errors.
const driver::KernelVariant& variant_for(PythonKernel& kernel, driver::KernelSignature& signature,
                                         std::span<const std::int64_t> dims, const char* block, bool adjoint = false,
                                         cuda::Device* device = nullptr);
/// Whether a launch is long enough to let other Python threads run meanwhile.
bool releases_gil(const driver::KernelVariant& variant, std::span<const std::int64_t> dims);
/// Points the gradients of the arrays in a finished block to other memory: `gradients` has one array or None for each
/// parameter. Raises for gradients that don't match their array; `held` takes those that do.
void use_gradients(PythonKernel& kernel, const driver::KernelSignature& signature, const ArgumentList& gradients,
                   char* block, std::vector<runtime::Array>& held);
/// Takes hold of what a launch works on, before other Python threads run beside it. May throw.
struct Holder {
  void (*hold)(void* state) = nullptr;  // null: it is held already
  void* state = nullptr;
};
/// Runs a form; Ctrl-C ends it. With `release` other Python threads run meanwhile; without, only from when it has run for
/// long: `holder` is called before.
void run_variant(PythonKernel& kernel, const driver::KernelVariant& variant, const char* block,
                 std::span<const std::int64_t> dims, bool release, bool adjoint = false, Holder holder = {});

/// While the calling thread captures a graph on the CPU: adds the launch to it instead of running it. The graph keeps the
/// arrays and objects that the block points to. False when nothing is captured.
bool record_launch(const driver::LaunchWork& work, const std::vector<nb::object>& keep);
/// Whether it does, so that arrays and objects have to be gathered.
bool capturing_on_cpu();
/// Runs a call of Python at that place of the graph; raises what it raises.
void record_call(nb::object function);
/// Runs what was captured on the CPU. Other Python threads run meanwhile, and Ctrl-C ends it.
void run_commands(const std::shared_ptr<const runtime::CommandList>& list);

/// Queues a form on a GPU. While a graph is captured there, the arrays of `args` stay alive as long as the graph.
void run_on_gpu(PythonKernel& kernel, driver::KernelSignature& signature, const driver::KernelVariant& variant,
                const ArgumentList& args, const char* block, std::span<const std::int64_t> dims,
                const LaunchPlace& place);

/// Numbers for places in what Python hands over: CUDA devices count from 0.
inline constexpr int kOnCpu = -1, kOnPinned = -2, kPlaceUnknown = -3;
/// The memory space of such a number; null: plain host memory.
runtime::MemorySpace* space_of(int place);
int place_of(const runtime::Array& array);
/// The place of an address that CUDA knows; nothing of others.
std::optional<int> pointer_place(std::uintptr_t address);

/// What launches need to know of warp.config and of the package; set by warp._src.session.settings.
struct __attribute__((visibility("hidden"))) LaunchSettings {
  std::atomic<std::uint64_t> epoch = 0;      // counts changes
  std::atomic<int> max_threads = 0;          // config.cpu_threads; 1: serial
  std::atomic<bool> plain = true;            // nothing that the hot path does not know: no print_launches
  std::atomic<bool> cpu_blocks = false;      // config.enable_cpu_blocks
  std::atomic<int> current = kPlaceUnknown;  // the process's device; unknown until somebody needs to know
  std::atomic<bool> has_gpus = false;        // there are devices besides the CPU
  nb::object rare, rare_tiled;  // Python's launch and launch_tiled, for everything that the hot paths do not do
  nb::object cpu;               // the Device object of the CPU
  nb::dict by_device;           // Device objects of CUDA devices and their names → number
};
LaunchSettings& launch_settings();

}  // namespace weft::bind
