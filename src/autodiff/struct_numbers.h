// Numbers in structs that a kernel is passed: the fields that are floats, vectors and matrices of floats. Each thread has
// the same ones, so their gradient is a sum over all threads. A tape's adjoint adds them to an array of float64, one element
// for each component, which it has as one more parameter.
#pragma once
#include <vector>

#include "ir/ir.h"

namespace weft::autodiff {

/// A field of a struct parameter that is a number, or is made of numbers.
struct NumberLeaf {
  std::size_t param = 0;
  std::vector<ir::PathStep> path;  // fields from the parameter on
  const Type* type = nullptr;
  std::size_t first = 0;  // of its components, among those of all leaves
};
std::vector<NumberLeaf> number_leaves(std::span<const Type* const> params);

inline constexpr std::string_view kNumbersName = "numbers";
/// The type of the parameter, an array.
const Type* numbers_type();

/// A leaf as a value of its own, at the begin of the kernel.
struct NumberRoot {
  ir::Value* value = nullptr;
  std::size_t first = 0;
};
/// Takes all leaves out of a kernel's parameters at its begin, and lets everything use those values.
std::vector<NumberRoot> take_out_numbers(ir::Function& kernel);

}  // namespace weft::autodiff
