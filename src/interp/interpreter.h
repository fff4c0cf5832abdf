// The reference executor: runs the IR one thread after the other, straight from its definition in docs/design/ir.md.
// Scalars mean what ir/scalar_eval says, elementary functions are the library's (math/library). It never touches memory outside an
// array: an access out of bounds throws, with or without the debug checks of passes/bounds_check.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "ir/ir.h"
#include "runtime/kernel_abi.h"

namespace weft::interp {

/// An execution that can't go on: array access out of bounds, a limit exceeded, memory exhausted.
class Error : public std::runtime_error {
 public:
  Error(const std::string& what, SourceLoc loc) : std::runtime_error(what), loc_(loc) {}
  /// The operation at fault; valid while the module lives.
  SourceLoc loc() const { return loc_; }

 private:
  SourceLoc loc_;
};

/// Is told of every access to an array's elements before it happens.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// `op` is a load, store or atomic of `thread` on the value of this type that lies at `at`.
  virtual void access(const ir::Op& op, std::int64_t thread, const std::byte* at, const Type* type) = 0;
};

struct Limits {
  std::uint64_t max_steps = 0;  // operations executed in all; 0 means no limit
  bool check_bounds = true;     // off: array accesses go where they point
  Watcher* watcher = nullptr;   // null: nobody wants to know
  bool descending = false;      // the last thread of a launch runs first
};

/// A value of the kernel language as bytes in C layout (tuples: fields in order, each aligned).
struct Datum {
  const Type* type = nullptr;
  std::vector<std::byte> bytes;
};

/// Runs the threads begin … end−1, one after another in increasing order or, if the limits say so, in the opposite one.
/// `params` is the kernel's parameter block (ParamLayout). Failed checks and asserts go to the context's error record,
/// prints to its buffer.
void run_kernel(const ir::Module& module, const ir::Function& kernel, const void* params,
                runtime::LaunchContext& context, std::int64_t begin, std::int64_t end, const Limits& limits = {});

/// Calls a plain function. Failed asserts and checks throw; prints go to the process's sink.
std::vector<Datum> call(const ir::Function& function, std::span<const Datum> args, const Limits& limits = {});

/// Bytes a value of the type takes in a Datum, and where a struct's or tuple's field lies in it.
std::size_t value_size(const Type* type);
std::size_t field_offset(const Type* type, std::size_t field);

}  // namespace weft::interp
