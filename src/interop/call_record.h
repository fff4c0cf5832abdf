// What a program of XLA knows of a call of a kernel: one attribute of bytes, a digest and then everything that decides what
// the call does. Equal calls are equal bytes, in any process, so that XLA's caches find their programs again; there is no
// counter and no address in it. The digest finds the call's target, which is made once (CallTable).
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/kernel.h"
#include "interop/quick_call.h"
#include "support/hash.h"

namespace weft::interop {

enum class Direction : std::uint8_t { forward, tangent, adjoint };

/// What a parameter of the kernel is to the call.
enum class Role : std::uint8_t { value, input, output, in_out };

/// A parameter, and which buffers of the call belong to it; −1: none. "Dot" is the tangent of a tangent's parameter, and
/// of an adjoint's the gradient.
struct CallParam {
  Role role = Role::value;
  bool zeroed = false;              // an output that begins with zeros
  std::int16_t arg = -1, ret = -1;  // values: among the call's arguments, among its results
  std::int16_t arg_dot = -1, ret_dot = -1;
  std::string type;         // its text in IR
  std::vector<char> value;  // of Role::value
};

/// The kernel itself, for programs that run where nobody has made it: its IR, from which every direction can be made, and
/// how it is compiled (driver/kernel_from_ir.h).
struct PortableKernel {
  std::string ir;
  std::string block_ir;            // of a kernel whose threads share memory: the same for blocks of a GPU
  std::int32_t block = 0;          // of that many threads,
  bool rows = false;               // which are the rows of the grid
  driver::CompileOptions options;  // those that say what the code does; the others are as they are where it runs
};

struct CallRecord {
  Direction direction = Direction::forward;
  Hash128 source;      // of the kernel: its text, what its names mean, how it is compiled
  std::string kernel;  // its name, for messages
  std::vector<std::int64_t> dims;
  std::int32_t block_dim = 0;
  std::uint8_t batch_rank = 0;  // leading dimensions of every buffer, each 1 or the batch's extent
  bool replays = false;         // an adjoint that needs what the kernel writes down when it runs
  std::vector<CallParam> params;
  std::optional<PortableKernel> portable;

  static constexpr std::size_t kDigestBytes = sizeof(Hash128);
  /// The digest and the record.
  std::string encode() const;
  /// Nothing if the bytes are no record of this version, or were changed.
  static std::optional<CallRecord> decode(std::string_view bytes);
};

/// The digest that a record begins with; nothing if it is too short.
std::optional<Hash128> digest_of(std::string_view bytes);

/// A record with what it takes to run it.
struct CallTarget {
  CallRecord record;
  Hash128 digest;
  std::shared_ptr<driver::Kernel> kernel;  // of a tangent: the one with twice the parameters
  driver::KernelSignature* signature = nullptr;
  const driver::TapeFacts* facts = nullptr;  // of an adjoint
  ParamLayout layout;                        // of the block, with what a log adds to it
  std::vector<std::uint64_t> block;          // values in their places, descriptors empty
  std::shared_ptr<void> owner;               // of what the values refer to
  std::unique_ptr<const QuickCall> quick;    // of the usual calls on the host
  /// On GPUs, of a kernel whose threads share memory: the same call of the kernel for its blocks. Made on first use.
  mutable std::once_flag block_made;
  mutable std::unique_ptr<CallTarget> for_block;

  /// The grid of its launches on a device; null is the host. An adjoint's is as it is told: so are the facts about it.
  std::span<const std::int64_t> dims(const cuda::Device* device) const;
  /// The form that a launch of it asks for there; `taped`: of the run that writes down what the adjoint needs.
  driver::LaunchForm form(const cuda::Device* device, bool taped = false) const;
};

/// What it takes to run a record with a kernel for these types, values in their places.
std::unique_ptr<CallTarget> make_target(CallRecord record, std::shared_ptr<driver::Kernel> kernel,
                                        driver::KernelSignature& signature);
/// What a call runs on a device: itself or, if the threads of its kernel share memory, the call for such blocks.
const CallTarget& target_on(const CallTarget& target, cuda::Device* device);
/// Whether a kernel of these types takes what a record says.
bool fits(const CallRecord& record, const driver::KernelSignature& signature);
/// A kernel as the record of a call takes it along; its IR is empty with errors in the sink. Throws runtime::ArgumentError for
/// kernels that can't travel.
PortableKernel make_portable(driver::Kernel& kernel, driver::KernelSignature& signature, const CallRecord& record,
                             DiagnosticSink& sink);
/// The target of a record that brings its kernel along. Throws runtime::ArgumentError for one that is damaged.
std::unique_ptr<CallTarget> portable_target(CallRecord record);

/// What a target asks of the language that made its kernel. Both may be called from any thread.
struct CallHost {
  /// Does something that wants the language's lock. Throws what it throws.
  std::function<void(const std::function<void()>&)> locked;
  /// Is told of a record that nobody has registered in this process, and may do so.
  std::function<void(std::string_view bytes)> unknown;
};

/// Finished targets by digest. They stay as long as the process: compiled programs may call them as long as they live.
class CallTable {
 public:
  /// The process's own; never goes away.
  static CallTable& shared();

  /// Without a lock; null if there is none.
  const CallTarget* find(const Hash128& digest) const;
  /// The target for that digest from now on: this one, or one that another thread has added.
  const CallTarget& add(std::unique_ptr<CallTarget> target);
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  CallHost host;  // set once, before the first target is added

 private:
  struct Node {
    std::unique_ptr<CallTarget> target;
    Node* next = nullptr;
  };
  static constexpr std::size_t kBuckets = 4096;
  std::atomic<Node*> buckets_[kBuckets] = {};
  std::atomic<std::size_t> size_{0};
  std::mutex adding_;
};

}  // namespace weft::interop
