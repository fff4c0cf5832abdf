// Makes operations at a place, with result types inferred (ir/infer.h). Nothing is folded here: what is built is what
// the text form shows. Type errors here are bugs of the caller (InternalError): sema checks before it builds.
#pragma once
#include "ir/ir.h"

namespace weft::ir {

class Builder {
 public:
  Builder(Function& function, Region* region, Op* before = nullptr)
      : function_(&function), region_(region), before_(before) {}

  Function& function() const { return *function_; }
  Region* region() const { return region_; }
  /// New operations go to the end of `region`, or before `before`.
  void set_place(Region* region, Op* before = nullptr) { region_ = region, before_ = before; }
  void set_loc(SourceLoc loc) { loc_ = loc; }
  SourceLoc loc() const { return loc_; }

  Value* constant(const Type* type, std::uint64_t bits) { return function_->constant(type, bits); }
  Value* zero(const Type* type) { return function_->zero(type); }
  Value* i32(std::int64_t v) { return function_->constant_int(types::i32(), v); }
  Value* i64(std::int64_t v) { return function_->constant_int(types::i64(), v); }
  Value* boolean(bool v) { return function_->constant_bool(v); }

  /// Any operation with inferred results.
  Op* op(OpCode code, std::span<Value* const> operands, std::size_t num_regions = 0);
  /// Any operation with given result types (cast, bitcast, construct, splat, dim, local, from_ptr, if, for, while); not
  /// checked here, because its attributes are set afterwards.
  Op* op_typed(OpCode code, std::span<Value* const> operands, std::span<const Type* const> result_types,
               std::size_t num_regions = 0);

  Value* unary(OpCode code, Value* a);
  Value* binary(OpCode code, Value* a, Value* b);
  Value* ternary(OpCode code, Value* a, Value* b, Value* c);  // fma, select
  Value* select(Value* condition, Value* if_true, Value* if_false);
  Value* cast(Value* a, const Type* to);
  Value* bitcast(Value* a, const Type* to);
  Value* construct(const Type* type, std::span<Value* const> parts);
  Value* splat(const Type* type, Value* scalar);
  /// `dynamic` holds the values of the path's dynamic steps, in order.
  Value* extract(Value* aggregate, std::span<const PathStep> path, std::span<Value* const> dynamic = {});
  Value* insert(Value* aggregate, Value* part, std::span<const PathStep> path, std::span<Value* const> dynamic = {});
  /// One constant step.
  Value* extract(Value* aggregate, std::int32_t index);
  Value* insert(Value* aggregate, Value* part, std::int32_t index);

  Value* load(Value* array, std::span<Value* const> indices, std::uint8_t wrap, std::span<const PathStep> path = {},
              std::span<Value* const> dynamic = {});
  void store(Value* array, std::span<Value* const> indices, std::uint8_t wrap, std::span<const PathStep> path,
             std::span<Value* const> dynamic, Value* value);
  /// `expected` only for cas.
  Value* atomic(AtomicKind kind, Value* array, std::span<Value* const> indices, std::uint8_t wrap,
                std::span<const PathStep> path, std::span<Value* const> dynamic, Value* value,
                Value* expected = nullptr);
  /// `first_dimension`: the first one that is indexed; those in front of it stay.
  void prefetch(Value* array, std::span<Value* const> indices);
  Value* view(Value* array, std::span<Value* const> indices, std::uint8_t wrap, int first_dimension = 0);
  Value* slice(Value* array, int dimension, Value* start, Value* stop, Value* step);
  Value* dim(Value* array, int dimension, const Type* type);
  /// `raw`: not zeroed; every read must follow a write.
  Value* local(const Type* array_type, std::span<const std::int64_t> shape, bool raw = false);
  Value* gradient(Value* array) { return unary(OpCode::gradient, array); }
  Value* with_gradient(Value* array, Value* gradient) { return binary(OpCode::with_gradient, array, gradient); }
  Value* tid(int dimension);

  /// Control operations: regions are made empty; fill them, end each with yield (test region: test).
  Op* if_op(Value* condition, std::span<const Type* const> result_types);
  /// Region 0 takes the induction variable (type of lo) and the carried values.
  Op* for_op(Value* lo, Value* hi, Value* step, std::span<Value* const> init);
  /// Region 0 is the test, region 1 the body; both take the carried values.
  Op* while_op(std::span<Value* const> init);
  Op* call(Function* callee, std::span<Value* const> args);
  void yield(std::span<Value* const> values);
  void test(Value* condition);
  void ret(std::span<Value* const> values);

 private:
  Op* place(Op* op);

  Function* function_;
  Region* region_;
  Op* before_;
  SourceLoc loc_;
};

}  // namespace weft::ir
