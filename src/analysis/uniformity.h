// How values differ between neighbouring lanes of a vector of W threads. Each value has one lane shape per unit (a
// scalar, a whole composite, or a single field of an array descriptor): uniform, linear (lane k holds lane 0's value
// plus k·stride, in the type's own wrapping arithmetic) or varying. The emitter trusts this: a uniform unit becomes a
// scalar, a linear one a scalar and a stride, anything else a vector.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// Units of a type: scalar 1, composite 1, array 2 + 2·rank (data, gradient, extents, strides), struct and tuple the sum
/// over their fields.
std::uint32_t lane_units(const Type* type);
/// First unit of field k of a struct or tuple.
std::uint32_t first_unit_of_field(const Type* aggregate, std::size_t field);
/// Units of an array: data, gradient, then the extents, then the strides.
inline constexpr std::uint32_t kUnitData = 0, kUnitGrad = 1, kUnitShape = 2;

/// Stride between lanes: 0 is uniform.
using LaneShape = std::int32_t;
inline constexpr LaneShape kUniform = 0;
inline constexpr LaneShape kVarying = INT32_MIN;

/// What is known at a function's entry.
struct LaneEntry {
  std::vector<LaneShape> params;  // one per unit of all parameters in order; empty: all uniform
  LaneShape tids[kMaxRank] = {kUniform, kUniform, kUniform, kUniform};
  LaneShape thread = kUniform;        // the number in the launch
  LaneShape block_thread = kUniform;  // the number in the block
  bool in_step = true;  // lanes wait for each other (`any`); threads of a block don't: each answers for itself
};

class Uniformity {
 public:
  Uniformity(const ir::Function& function, const LaneEntry& entry);

  /// Constants are uniform.
  LaneShape shape(const ir::Value* value, std::uint32_t unit = 0) const {
    return value->is_constant() ? kUniform : shapes_[first_[value->id] + unit];
  }
  bool uniform(const ir::Value* value) const;
  /// A local array that is only read and written, element by element: nobody sees how it lies in memory. If its data is
  /// uniform, all lanes write the same to it, and one copy serves them all.
  bool only_accessed(const ir::Value* local) const { return !escapes_[local->id]; }
  /// A loop whose lanes may leave it at different times.
  bool divergent(const ir::Op& loop) const;
  /// Rounds over the function that the fixpoint took.
  int rounds() const { return rounds_; }

 private:
  void number(const ir::Region& region);
  void find_escapes(const ir::Region& region);
  void number(const ir::Value* value);
  void visit(const ir::Region& region);
  void visit(const ir::Op& op);
  void visit_arith(const ir::Op& op);
  void visit_memory(const ir::Op& op);
  void visit_data(const ir::Op& op);
  void visit_store(const ir::Op& op);
  void visit_control(const ir::Op& op);
  /// Visits a region of an operation whose lanes may part.
  void visit_inside(const ir::Region& region, LaneShape condition);
  LaneShape meet(LaneShape a, LaneShape b) const;
  /// Uniform if every unit of every operand is (linear counts as varying).
  LaneShape all_of(std::span<ir::Value* const> operands) const;
  LaneShape whole(const ir::Value* value) const;
  void join(const ir::Value* value, std::uint32_t unit, LaneShape shape);
  void join_all(const ir::Value* value, LaneShape shape);
  void join_copy(const ir::Value* to, std::uint32_t to_unit, const ir::Value* from, std::uint32_t from_unit,
                 std::uint32_t count);

  const LaneEntry& entry_;
  std::vector<std::uint32_t> first_;
  std::vector<LaneShape> shapes_;
  std::vector<bool> escapes_;  // by value id: used other than as the array of an access
  int parted_ = 0;             // conditions around that lanes answer differently
  bool changed_ = false;
  bool give_up_ = false;  // too many rounds: carried values count as varying
  int rounds_ = 0;
};

}  // namespace weft::analysis
