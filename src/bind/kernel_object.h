// Kernels behind the Python objects: what wp.launch, recorded launches and the kernel class share. A Kernel of Python
// derives from KernelHandle, which knows the compiled family for the settings of now, so that a launch needs no attribute
// of any Python object.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "bind/bind.h"
#include "runtime/command_list.h"

namespace weft::bind {

/// Whether other Python threads run at any time.
#ifdef Py_GIL_DISABLED
inline constexpr bool kFreeThreaded = true;
#else
inline constexpr bool kFreeThreaded = false;
#endif

class RecentLaunch;

/// A kernel for one set of compile options. It holds no Python object, so references to it never make cycles that
/// Python's garbage collector can't see.
struct __attribute__((visibility("hidden"))) KernelObject : std::enable_shared_from_this<KernelObject> {
  std::unique_ptr<driver::KernelFamily> family;
  std::shared_ptr<const sema::FunctionDecl> decl;
  std::shared_ptr<RecentLaunch> recent;  // guarded by the GIL; null without one
  std::mutex mutex;                      // guards the rest
  std::optional<Hash128> fingerprint;    // what the text and its names meant when forms were built
  bool mixed = false;                    // forms were built under different meanings
  /// By signature: what the kernel's names stood for when its first form was built.
  std::map<const driver::KernelSignature*, std::string> meanings;
  std::atomic<bool> variable{false};  // and whether that may well change

  const std::string& name() const { return family->name(); }
  /// The parameters as annotated; raises the compile error when they can't be read.
  const std::vector<sema::KernelParam>& params();
  /// False if the text or the names mean something else than when forms were built.
  bool unchanged();
};

/// _weft.Kernel: a reference to a kernel object.
struct __attribute__((visibility("hidden"))) KernelRef {
  std::shared_ptr<KernelObject> kernel;
};

/// The base class of warp.Kernel.
struct __attribute__((visibility("hidden"))) KernelHandle {
  static constexpr std::uint64_t kNever = ~std::uint64_t(0);
  std::shared_ptr<KernelObject> current;
  std::atomic<std::uint64_t> epoch = kNever;  // settings for which `current` was chosen
  bool backward = true;                       // enable_backward
};

/// The handle inside a warp.Kernel, its family chosen for the settings of now; null if the object is no kernel.
KernelHandle* find_kernel(PyObject* object);
/// The compiled kernel of a handle, held: another thread may choose another one meanwhile.
std::shared_ptr<KernelObject> current_kernel(PyObject* object, const KernelHandle& handle);

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
  PyObject* few_[16];
  std::unique_ptr<PyObject*[]> many_;
  PyObject** items_ = few_;
  std::size_t size_ = 0;
};

/// Reads launch dimensions: a number or a sequence of 1 to 4; returns how many.
std::size_t read_dims(PyObject* dim, std::int64_t out[kMaxRank]);

/// The signature that these arguments call for. Raises for wrong counts and types that can't be told.
driver::KernelSignature& signature_for(KernelObject& kernel, const ArgumentList& args);

/// Writes all parameters, defaults included, into a block of the signature's layout. Objects that must live until the
/// launch ends are added to `keep`. Arrays must lie where the launch runs: `device`, null for the CPU.
void fill_block(KernelObject& kernel, const driver::KernelSignature& signature, const ArgumentList& args, char* block,
                std::vector<nb::object>& keep, cuda::Device* device = nullptr);
/// Writes one parameter.
void fill_param(KernelObject& kernel, const driver::KernelSignature& signature, std::size_t index, PyObject* value,
                char* block, std::vector<nb::object>& keep, cuda::Device* device = nullptr);
/// The array inside a Python object; null if it is none.
const runtime::Array* as_array(PyObject* value);
/// Adds the arrays in an argument, and in its fields if it is a struct, to `keep`: for launches that let other Python
/// threads run, which may drop or replace them meanwhile.
void hold_arrays(PyObject* value, const Type* type, std::vector<runtime::Array>& keep);

/// The form for this block and rank, compiled if need be. Raises compile errors.
const driver::KernelVariant& variant_for(KernelObject& kernel, driver::KernelSignature& signature,
                                         std::span<const std::int64_t> dims, const char* block, bool adjoint = false,
                                         cuda::Device* device = nullptr);
/// The same for known facts of the arrays.
const driver::KernelVariant& form_for(KernelObject& kernel, driver::KernelSignature& signature,
                                      std::span<const std::int64_t> dims, const char* block, driver::ArrayFacts arrays,
                                      cuda::Device* device = nullptr);
/// Compiles a form, its warnings to Python. Raises compile errors.
const driver::KernelVariant& build_variant(KernelObject& kernel, driver::KernelSignature& signature, std::size_t rank,
                                           driver::ArrayFacts arrays, cuda::Device* device = nullptr);

/// Whether a launch is long enough to let other Python threads run meanwhile.
bool releases_gil(const driver::KernelVariant& variant, std::span<const std::int64_t> dims);
/// Points the gradients of the arrays in a finished block to other memory: `gradients` has one array or None for each
/// parameter. Raises for gradients that don't match their array.
void use_gradients(KernelObject& kernel, const driver::KernelSignature& signature, const ArgumentList& gradients,
                   char* block);
/// Takes hold of what a launch works on, before other Python threads run beside it. May throw.
struct Holder {
  void (*hold)(void* state) = nullptr;  // null: it is held already
  void* state = nullptr;
};
/// Runs a form; Ctrl-C ends it. With `release` other Python threads run meanwhile; without, only from when it has run for
/// long: `holder` is called before.
void run_variant(KernelObject& kernel, const driver::KernelVariant& variant, const char* block,
                 std::span<const std::int64_t> dims, bool release, bool adjoint = false, Holder holder = {});

/// Does work while other Python threads run; with the options that it is given, Ctrl-C ends it.
void run_released(const std::function<void(const runtime::LaunchOptions&)>& work);

/// While the calling thread captures a graph on the CPU: adds the launch to it instead of running it. The graph keeps the
/// arrays and objects that the block points to. False when nothing is captured.
bool record_launch(const std::shared_ptr<KernelObject>& kernel, const driver::KernelSignature& signature,
                   const driver::KernelVariant& variant, const char* block, std::span<const std::int64_t> dims,
                   bool adjoint, const std::vector<runtime::Array>& arrays, const std::vector<nb::object>& keep);
/// Whether it does, so that arrays and objects have to be gathered.
bool capturing_on_cpu();
/// Runs a call of Python at that place of the graph; raises what it raises.
void record_call(nb::object function);
/// Runs what was captured on the CPU. Other Python threads run meanwhile, and Ctrl-C ends it.
void run_commands(const std::shared_ptr<const runtime::CommandList>& list);

/// Where and how a launch runs; a null device is the CPU.
struct LaunchPlace {
  cuda::Device* device = nullptr;
  driver::GpuLaunchOptions gpu = {};
};
/// Queues a form on a GPU. While a graph is captured there, the arrays of `args` stay alive as long as the graph.
void run_on_gpu(KernelObject& kernel, const driver::KernelSignature& signature, const driver::KernelVariant& variant,
                const ArgumentList& args, const char* block, std::span<const std::int64_t> dims,
                const LaunchPlace& place);

/// Numbers for places in what Python hands over: CUDA devices count from 0.
inline constexpr int kOnCpu = -1, kOnPinned = -2, kPlaceUnknown = -3;
/// The memory space of such a number; null: plain host memory.
runtime::MemorySpace* space_of(int place);
int place_of(const runtime::Array& array);

/// What launches need to know of warp.config and of the package; set by warp._src.session.settings.
struct __attribute__((visibility("hidden"))) LaunchSettings {
  std::atomic<std::uint64_t> epoch = 0;      // counts changes
  std::atomic<int> max_threads = 0;          // config.cpu_threads; 1: serial
  std::atomic<bool> plain = true;            // nothing that the hot path does not know: no print_launches
  std::atomic<int> current = kPlaceUnknown;  // the current device; unknown until somebody needs to know
  nb::object rare;                           // Python's launch, for everything that the hot path does not do
  nb::object cpu;                            // the Device object of the CPU
  nb::dict by_device;                        // Device objects of CUDA devices and their names → number
};
LaunchSettings& launch_settings();

}  // namespace weft::bind
