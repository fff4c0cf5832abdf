// Which values a program may compute and then leave out: the side of a choice that was not taken, the smaller one of a
// maximum, a component that is overwritten. Their adjoints are zero, and products with them must be, too, although what
// they are multiplied by may be infinite or no number. Everywhere else products are plain.
#pragma once
#include <span>
#include <vector>

#include "ir/ir.h"

namespace weft::autodiff {

class ZeroAdjoints {
 public:
  explicit ZeroAdjoints(const ir::Function& function);

  /// Whether a product of a value's adjoint with `partial` must be nothing where the adjoint is zero.
  bool product(const ir::Value* value, const ir::Value* partial) const;

 private:
  bool mark(std::vector<bool>& set, const ir::Value* value);
  void seed(const ir::Op& op);
  void spread(const ir::Region& region);
  void spread(const ir::Op& op, std::vector<bool>& set);
  void find_singular(const ir::Region& region);
  bool any(const std::vector<bool>& set, std::span<ir::Value* const> values) const;

  std::vector<bool> chosen_;    // by value id: left out by choices
  std::vector<bool> beaten_;    // by minima and maxima
  std::vector<bool> singular_;  // may not be finite though all that was loaded is
  bool changed_ = false;
};

}  // namespace weft::autodiff
