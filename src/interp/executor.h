// Inside of the interpreter: frames and the execution of operations, one member function per class of operation. Every
// value of a function has a place in the function's frame, found once; since recursion does not exist, one frame per
// function is enough. Values lie there in C layout.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/block_memory.h"
#include "analysis/check_sites.h"
#include "interp/interpreter.h"

namespace weft::interp {

/// Zero-extended bits of the scalar at `from`, and back. `size` is 1, 2, 4 or 8.
inline std::uint64_t read_bits(const std::byte* from, std::size_t size) {
  std::uint64_t bits = 0;
  switch (size) {
    case 1: std::memcpy(&bits, from, 1); break;
    case 2: std::memcpy(&bits, from, 2); break;
    case 4: std::memcpy(&bits, from, 4); break;
    default: std::memcpy(&bits, from, 8); break;
  }
  return bits;
}
inline void write_bits(std::byte* to, std::size_t size, std::uint64_t bits) {
  switch (size) {
    case 1: std::memcpy(to, &bits, 1); break;
    case 2: std::memcpy(to, &bits, 2); break;
    case 4: std::memcpy(to, &bits, 4); break;
    default: std::memcpy(to, &bits, 8); break;
  }
}

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

/// A function made ready to run: a frame with its constants in place.
struct Frame {
  const ir::Function* function = nullptr;
  std::vector<std::size_t> slots;    // by value id: byte offset into memory
  std::vector<std::uint64_t> words;  // the memory, 8-byte aligned
  bool active = false;
  bool keeps_locals = false;  // a local's descriptor may outlive the call: memory passes to the caller
  std::vector<std::unique_ptr<void, FreeMemory>> locals;

  std::byte* at(const ir::Value* value) { return reinterpret_cast<std::byte*>(words.data()) + slots[value->id]; }
};

class Executor {
 public:
  /// `sites` null: failed checks throw.
  Executor(runtime::LaunchContext& context, const analysis::CheckSites* sites, const Limits& limits)
      : context_(context), sites_(sites), limits_(limits) {}

  Frame& frame_of(const ir::Function& function);
  /// Runs a function whose arguments lie in its frame; afterwards the returned values are those of its terminator.
  void run(Frame& frame);
  void set_thread(std::int64_t linear);
  /// The thread is one of a block of several (runtime/block_threads.h): how many, and what they share.
  void set_block(int threads, const analysis::BlockMemory& memory) { block_ = threads, block_memory_ = &memory; }

  /// Thrown out of a kernel whose launch was told to stop.
  struct Stopped {};
  /// Counts a turn of a loop, as compiled code does, and asks now and then whether to go on.
  void take_turn();

 private:
  // Control (executor.cpp)
  void region(const ir::Region& region);
  void execute(const ir::Op& op);
  void if_(const ir::Op& op);
  void for_(const ir::Op& op);
  void while_(const ir::Op& op);
  void call(const ir::Op& op, const ir::Function& function);
  void print(const ir::Op& op);
  void fail(const ir::Op& op, std::int64_t index, std::int64_t extent);
  /// Copies values to places as if at once: the sources may be among the places.
  void assign(std::span<ir::Value* const> to, std::span<ir::Value* const> from);

  // Scalars and composites (exec_arith.cpp)
  void elementwise(const ir::Op& op);
  void compare(const ir::Op& op);
  void math(const ir::Op& op);
  void dot(const ir::Op& op);
  void matmul(const ir::Op& op);
  void transpose(const ir::Op& op);
  void outer(const ir::Op& op);
  void mask_of(const ir::Op& op);
  void choose_bits(const ir::Op& op);

  // Building and taking apart (exec_data.cpp)
  void data(const ir::Op& op);
  /// A part of an aggregate named by a path.
  struct Place {
    std::size_t offset = 0;
    const Type* type = nullptr;
    bool inside = true;  // false: a dynamic index is out of range
  };
  Place resolve(const Type* type, std::span<const ir::PathStep> path, std::span<ir::Value* const> dynamic);

  // Threads of a block (exec_block.cpp)
  void among_threads(const ir::Op& op);
  int thread_of_block() const { return block_ ? int(linear_ % block_) : 0; }
  int threads_of_block() const;
  void block_local(const ir::Op& op, std::byte* memory, std::size_t element, std::size_t bytes);

  // Arrays (exec_memory.cpp)
  void memory(const ir::Op& op);
  std::byte* element(const ir::Op& op);
  void load(const ir::Op& op);
  void store(const ir::Op& op);
  void atomic(const ir::Op& op);
  void view(const ir::Op& op);
  void slice(const ir::Op& op);
  void local(const ir::Op& op);
  /// An index operand after wrapping; `outside` tells whether it misses the dimension.
  std::int64_t index(const ir::Op& op, std::size_t k, const ArrayDesc& array, bool& outside);

  std::byte* at(const ir::Value* value) { return frame_->at(value); }
  std::uint64_t bits(const ir::Value* value) { return read_bits(at(value), value->type->size()); }
  /// An integer scalar, sign- or zero-extended by its type.
  std::int64_t integer(const ir::Value* value) { return ir::bits_to_int(value->type->scalar_kind(), bits(value)); }
  void set_bits(const ir::Value* value, std::uint64_t bits) { write_bits(at(value), value->type->size(), bits); }
  ArrayDesc array(const ir::Value* value) {
    ArrayDesc desc;
    std::memcpy(static_cast<void*>(&desc), at(value), sizeof desc);
    return desc;
  }
  [[noreturn]] void error(const ir::Op& op, const std::string& what);

  runtime::LaunchContext& context_;
  const analysis::CheckSites* sites_;
  Limits limits_;
  std::int32_t turns_ = runtime::kTurnsBetweenQuestions;
  std::unordered_map<const ir::Function*, std::unique_ptr<Frame>> frames_;
  std::unordered_map<const ir::Op*, std::string> formats_;
  Frame* frame_ = nullptr;
  std::vector<std::byte> scratch_;
  std::uint64_t steps_ = 0;
  int depth_ = 0;
  std::int64_t linear_ = 0;
  int block_ = 0;  // threads of a block; 0: each is one of its own
  const analysis::BlockMemory* block_memory_ = nullptr;
  std::int64_t thread_[kMaxRank] = {0, 0, 0, 0};

  /// A view out of bounds is harmless until it is used: its descriptor carries the number of this record (plus one) in
  /// its reserved field, and an access through it reports the view.
  struct BadView {
    const ir::Op* op = nullptr;
    std::int64_t index = 0;
    std::int64_t extent = 0;
  };
  std::vector<BadView> bad_views_;
  std::unordered_map<const ir::Op*, std::int32_t> bad_view_of_;
};

}  // namespace weft::interp
