// The one reader of memory of other libraries: whatever object a program hands to a launch, to `wp.array` or to one of the
// from_… functions is asked here for its memory, by the fastest way that its type knows, and nothing it says is believed
// before interop/dlpack.h has looked at it. See docs/design/interop.md.
#pragma once
#include "bind/bind.h"
#include "interop/dlpack.h"

namespace weft::bind {

/// What one sees through an object: memory of another library in the form of a Weft array.
struct __attribute__((visibility("hidden"))) ForeignArray {
  const Type* element = nullptr;
  ArrayDesc desc;
  int place = -1;          // of python_kernel.h
  bool read_only = false;  // its owner says so
  bool copied = false;     // the object made a copy of its elements to show them
  bool tracks = false;     // a tensor that may require a gradient
  nb::object keep;         // while it lives, the memory stays where it is
  /// Of a provider that says what stream its work goes to; null: none does.
  const interop::DlExchangeTable* provider = nullptr;
  /// Its provider's work comes before what is queued on the device's current stream from now on.
  bool ordered = false;
  std::uintptr_t stream = 0;  // that the memory comes with, of __cuda_array_interface__; 0: none
};

/// Describes the memory behind an object. `element` is the wanted element type, null for the scalars as they are. False,
/// with no Python error set and a reason in `why`, when the object shows no memory or none that can be seen so; `why` is
/// empty when it shows none at all. Objects that say things which can't be true raise RuntimeError.
bool read_foreign(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out, std::string& why);

/// The same for the usual tensor in a launch on a device, null for the CPU: of PyTorch, with an exchange table, of this array
/// type, packed and writable. False for every other one, whatever the reason; nothing is raised. The memory is the object's own.
bool read_plain_tensor(PyObject* object, const Type* type, const cuda::Device* device, struct LaunchNotes& notes,
                       ArrayDesc& out);

/// A runtime array over that memory; it keeps what has to be kept until the last view is gone. The stream that it comes
/// with is waited for.
runtime::Array wrap_foreign(ForeignArray&& foreign);

/// The array over (or copied from) memory of another object on the host; none when that does not serve as it is.
std::optional<runtime::Array> from_foreign(nb::handle source, const Type* element, bool copy, bool& read_only);

/// Lets a stream wait for what another one has queued, unless it does so by itself: CUDA's legacy default stream and
/// streams that block wait for each other. A graph that is captured waits for nothing outside of it, nor that for a graph.
void put_in_order(const cuda::Stream& earlier, const cuda::Stream& later);
/// The same for a stream of another library and a device's current one.
void wait_for_foreign(cuda::Device& device, std::uintptr_t stream);

/// The exchange table of a type, of its own or inherited; null if it has none that is understood.
const interop::DlExchangeTable* exchange_table(PyTypeObject* type);
/// Whether a type is one of tensors: PyTorch's, Paddle's, or one that has an exchange table. Decided once.
bool is_tensor_type(PyTypeObject* type);
/// Whether it is of objects that are nothing but memory: those tensors, and NumPy's arrays.
bool is_memory_type(PyTypeObject* type);

/// What a launch has to know of arguments that are not plain arrays of ours.
struct __attribute__((visibility("hidden"))) LaunchNotes {
  enum class Memory : std::uint8_t { read_only, copied, shared };
  struct Guarded {
    std::size_t offset;  // of the descriptor in the block
    Memory memory;
    std::string param, owner;  // owner: name of the object's type
  };
  const char* block = nullptr;
  std::vector<Guarded> guarded;                        // memory that should not be written to
  const interop::DlExchangeTable* provider = nullptr;  // of the first tensor on a CUDA device
  std::int32_t provider_device = 0;
  bool ordered = false;     // other libraries' work was put before that of the current stream
  bool own_arrays = false;  // there are arrays of ours, too; known if a provider is
  bool arguments_held =
      false;  // until the launch is done or queued: tensors that are their memory need no keeping then,
  bool plain_tensors = false;  // and there are some
  /// Without the GIL: the arrays in the block, as they were when they were written there. Another thread may give a struct another
  /// array, or an array another gradient, before they are looked at again.
  std::vector<runtime::Array> held{};
};

/// Raises for a kernel that writes to copies or to memory that its owner calls read-only; warns where a program asked for
/// such memory to be shared.
void check_guarded(class PythonKernel& kernel, driver::KernelSignature& signature, const LaunchNotes& notes,
                   const char* block, std::size_t rank);
/// Says once of each owner that read-only memory is written to; raises RuntimeError in debug mode.
void warn_of_write(const std::string& owner, bool debug);

}  // namespace weft::bind
