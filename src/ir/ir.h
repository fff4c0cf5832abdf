// The intermediate representation: typed SSA with structured regions. There is no control-flow graph; `if`, `for` and
// `while` are operations that own regions. Uses always come after definitions in walk order, so one forward walk with a
// replacement table is enough to rewrite a function. Everything lives in the function's arena.
// docs/design/ir.md is the reference: operands, types, meaning and text form of every operation.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/ops.def"
#include "support/arena.h"
#include "support/check.h"
#include "support/source.h"
#include "types/type.h"

namespace weft::ir {

enum class OpCode : std::uint8_t {
#define WEFT_NAME_OF(name, ...) name,
  WEFT_OPS(WEFT_NAME_OF)
#undef WEFT_NAME_OF
};
inline constexpr int kOpCodes = 0
#define WEFT_ONE_MORE(...) +1
    WEFT_OPS(WEFT_ONE_MORE)
#undef WEFT_ONE_MORE
    ;

enum class OpClass : std::uint8_t { arith, bits, compare, round, math, data, whole, memory, control, effect };
enum class Effect : std::uint8_t { none, read, write, region, end };
enum class Access : std::uint8_t { none, reads, writes, updates, address, callee };
enum class Derivative : std::uint8_t { smooth, none, own };
enum class Lanes : std::uint8_t { operands, uniform, varying, own, nothing };

/// Text name ("add", "if", "return"…: without the underscore of the identifier) and the columns of ops.def.
std::string_view name_of(OpCode code);
OpClass class_of(OpCode code);
Effect effect_of(OpCode code);
Access access_of(OpCode code);
Derivative derivative_of(OpCode code);
Lanes lanes_of(OpCode code);
/// Behind it all that other threads wrote before may be seen, wherever it lies.
inline bool shows_memory(OpCode code) {
  return code == OpCode::barrier || code == OpCode::tally || code == OpCode::fence || code == OpCode::warp_sync;
}

enum class AtomicKind : std::uint8_t { add, min, max, exch, cas, bit_and, bit_or, bit_xor };
inline constexpr int kAtomicKinds = 8;
std::string_view name_of(AtomicKind kind);

/// Limits that typing rules, the verifier and the text parser share.
inline constexpr std::uint32_t kMaxComponents = 65536;                   // scalars in one vec or mat
inline constexpr std::uint64_t kMaxTypeBytes = std::uint64_t(1) << 26;   // one value
inline constexpr std::uint64_t kMaxLocalBytes = std::uint64_t(1) << 30;  // one `local`
inline constexpr int kMaxTypeDepth = 32;                                 // structs and arrays inside each other
inline constexpr int kMaxRegionDepth = 256;                              // regions inside each other

/// What a failed `check` reports.
enum class CheckKind : std::uint8_t { bounds, divide_by_zero, not_finite, object, aligned, together };
inline constexpr int kCheckKinds = 6;
std::string_view name_of(CheckKind kind);

struct Op;
struct Region;
struct Function;

enum class ValueKind : std::uint8_t { constant, result, argument };

/// An SSA value: a constant, the result of an operation or the argument of a region.
struct Value {
  const Type* type;
  ValueKind kind;
  std::uint32_t id;     // dense within the function: index for side tables
  std::uint32_t index;  // which result or argument
  union {
    Op* op;              // result: the operation
    Region* region;      // argument: the region
    std::uint64_t bits;  // constant: the scalar's bits, zero-extended; for non-scalars 0, meaning all zero
  };
  std::string_view name;  // a hint for printing, may be empty

  bool is_constant() const { return kind == ValueKind::constant; }
  /// A constant scalar integer or bool as a signed/unsigned 64-bit number (sign- or zero-extended by type).
  std::int64_t as_int() const;
  /// A constant float of any width as double.
  double as_float() const;
  /// True for constants whose every bit is zero.
  bool is_zero() const { return is_constant() && bits == 0; }
};

/// A step of an access path into an aggregate: a struct field or tuple element, or a component/row index.
struct PathStep {
  enum Kind : std::uint8_t { field, index } kind;
  bool dynamic;        // index only: taken from the next path operand
  bool wrap;           // dynamic index only: a negative index counts from the end
  std::int32_t value;  // field number or constant index (never negative)
  bool operator==(const PathStep&) const = default;
};

/// What `from_ptr` says of its memory: nothing writes to it while kernels run; and vectors in it lie as their components do,
/// not as loads of a whole vector want them.
inline constexpr std::int64_t kFixed = 1, kFixedLoose = 3;
/// What `local` says of its memory: nobody reads what nobody has written; and, on a GPU, the threads of a block share it.
inline constexpr std::int64_t kRaw = 1, kOfBlock = 2;
/// The most threads of a block.
inline constexpr int kMaxBlock = 1024;
/// What Form::aligned promises, in bytes.
inline constexpr int kAlignedRows = 16;
/// Added to the rank of `texture` where it gives whole numbers.
inline constexpr std::int64_t kTextureWhole = 4;

struct Op {
  OpCode code;
  AtomicKind atomic = AtomicKind::add;
  CheckKind check = CheckKind::bounds;
  bool contract = false;         // dot, matmul: products are fused into the sum
  std::uint8_t num_indices = 0;  // load, store, atomic, view: how many array indices follow the descriptor
  std::uint8_t wrap = 0;         // bit k: array index k may be negative and then counts from the end
  std::span<Value*> operands;
  std::span<Value*> results;
  std::span<Region*> regions;
  std::span<PathStep> path;      // extract, insert, load, store, atomic
  std::span<std::int64_t> ints;  // local: the shape
  std::int64_t imm =
      0;  // tid, dim, slice: the dimension; view: how many leading dimensions stay; local: kRaw, kOfBlock;
          // from_ptr: kFixed, kFixedLoose; handle: the kind (types/handle.h); texture: the rank
  std::string_view text;       // print: leading literal; printf: format; assert, check: message
  Function* callee = nullptr;  // call
  SourceLoc loc;
  Op* prev = nullptr;
  Op* next = nullptr;
  Region* parent = nullptr;

  Value* result(std::size_t i = 0) const { return results[i]; }
  Value* operand(std::size_t i) const { return operands[i]; }
  /// Memory operations: the array indices; the dynamic path indices behind them.
  std::span<Value*> indices() const { return operands.subspan(1, num_indices); }
};

/// A sequence of operations with arguments; the last one is a terminator.
struct Region {
  Function* function = nullptr;
  Op* parent_op = nullptr;  // null for a function's body
  std::span<Value*> args;
  Op* first = nullptr;
  Op* last = nullptr;

  class Iterator {
   public:
    explicit Iterator(Op* at) : at_(at), next_(at ? at->next : nullptr) {}
    Op& operator*() const { return *at_; }
    Iterator& operator++() {
      at_ = next_;
      next_ = at_ ? at_->next : nullptr;
      return *this;
    }
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }

   private:
    Op* at_;
    Op* next_;  // read ahead, so that the current operation may be removed
  };
  Iterator begin() const { return Iterator(first); }
  Iterator end() const { return Iterator(nullptr); }
  /// The terminator, or null while the region is being built.
  Op* terminator() const { return last && effect_of(last->code) == Effect::end ? last : nullptr; }
};

/// What a launch knows beyond argument types (architecture §1). Part of the cache key.
struct Form {
  bool no_overlap = false;     // no written array argument overlaps another argument
  bool strided = false;        // the innermost elements of an array argument may lie apart
  bool taped = false;          // the launch is recorded on a tape
  bool adjoint = false;        // the kernel's adjoint (autodiff/adjoint.h), not the kernel itself
  bool meet = false;           // adjoint: gradients may share memory, or elements of one array do
  bool objects_apart = false;  // no write to an array argument reaches arrays of objects whose ids are arguments
  std::uint8_t rank = 1;       // launch dimensions, 1 to 4
  std::uint16_t block = 0;     // GPUs, kernels whose threads share memory: how many make a block; 0: it doesn't matter
  bool rows = false;           // then: blocks are the rows of the grid, all of them full
  bool aligned = false;        // then: array arguments and their rows begin at multiples of kAlignedRows bytes
  bool operator==(const Form&) const = default;
};

enum class FunctionKind : std::uint8_t { kernel, function };

struct Function {
  explicit Function(std::string name, FunctionKind kind) : name(std::move(name)), kind(kind) {
    body = arena.make<Region>();
    body->function = this;
  }
  Function(const Function&) = delete;

  std::string name;
  FunctionKind kind;
  Form form;                              // kernels
  std::vector<const Type*> result_types;  // functions
  Region* body;                           // its arguments are the parameters; ends in `return`
  Arena arena;
  std::uint32_t value_count = 0;  // ids are below this
  SourceLoc loc;
  bool from_library = false;  // written in the standard library
  /// Runs for one thread at a time wherever it is called, on CPUs not inlined: walks over trees, whose lanes would each go
  /// another way. On CPUs its vectors of 4 and 8 numbers of 32 bits fill registers instead.
  bool lanewise = false;
  std::string native;  // C++ of a native function: code generation compiles it, the body only returns zeros
  /// Functions of the same module that differentiation uses for this one. `gradient` is its adjoint, (params…, adjoints
  /// of results with floats…) → adjoints of params with floats; `replay` computes the results again.
  Function* gradient = nullptr;
  Function* replay = nullptr;
  /// This is the adjoint of that function, still to be written (autodiff/derive.h); until then the body returns zeros.
  Function* derives = nullptr;

  std::span<Value*> params() const { return body->args; }

  /// Constants are unique per function. Non-scalar types allow only zero.
  Value* constant(const Type* type, std::uint64_t bits);
  Value* constant_int(const Type* type, std::int64_t value);
  Value* constant_float(const Type* type, double value);  // rounds to the type
  Value* constant_bool(bool value) { return constant(types::boolean(), value); }
  Value* zero(const Type* type) { return constant(type, 0); }

  /// A new argument at the end of the region's list (allowed at any time while building).
  Value* add_argument(Region* region, const Type* type, std::string_view name = {});
  /// A new, detached operation; results get fresh values of these types.
  Op* make_op(OpCode code, std::span<Value* const> operands, std::span<const Type* const> result_types,
              std::size_t num_regions = 0);
  Region* make_region(Op* parent_op);
  /// Appends operands or results to an operation made before (carried values found late).
  void append_operand(Op* op, Value* value);
  Value* append_result(Op* op, const Type* type, std::string_view name = {});

 private:
  struct ConstantKey {
    const Type* type;
    std::uint64_t bits;
    bool operator==(const ConstantKey&) const = default;
  };
  struct ConstantHash {
    std::size_t operator()(const ConstantKey& k) const {
      return std::hash<const void*>()(k.type) ^ (k.bits * 0x9e3779b97f4a7c15ULL >> 7);
    }
  };
  Value* new_value(const Type* type, ValueKind kind, std::size_t index, std::string_view name);
  void append(std::span<Value*>& list, Value* value);

  std::unordered_map<ConstantKey, Value*, ConstantHash> constants_;
  std::unordered_map<Value* const*, std::size_t> room_;  // elements that fit into a list that has grown, by its address
};

/// Links `op` into `region` before `before`, or at the end when null.
void insert_op(Region* region, Op* op, Op* before = nullptr);
/// Unlinks an operation; its memory stays in the arena.
void remove_op(Op* op);

/// Functions that call each other, and the source texts their locations point into. Callees come before callers.
struct Module {
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::shared_ptr<const SourceFile>> sources;

  Function* find(std::string_view name) const;
  Function* add(std::string name, FunctionKind kind);
};

/// True if the operation can be dropped when unused, merged with an equal one and moved (regions looked into; a call is
/// pure if its callee's body is).
bool is_pure(const Op& op);
/// True if dropping it is allowed when its results are unused: pure operations and loads.
bool is_removable(const Op& op);

/// A constant's bits from a double, and back, for any float kind (round to nearest even; f16 and bf16 included).
std::uint64_t float_to_bits(ScalarKind kind, double value);
double bits_to_float(ScalarKind kind, std::uint64_t bits);
/// Bits of ±significand·2^exponent, rounded once.
std::uint64_t scaled_to_bits(ScalarKind kind, bool negative, std::uint64_t significand, int exponent);
/// True if no bit lies above the kind's width (bool: 0 or 1).
bool is_legal_constant(ScalarKind kind, std::uint64_t bits);
/// Zero-extended bits of an integer truncated to the kind's width, and the sign/zero-extended value back.
std::uint64_t int_to_bits(ScalarKind kind, std::int64_t value);
std::int64_t bits_to_int(ScalarKind kind, std::uint64_t bits);

}  // namespace weft::ir
