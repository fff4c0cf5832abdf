// Which values a derivative can flow through: those that depend on data read from arrays (or on parameters of a plain
// function) and that reach a write (or a result) by float arithmetic. Everything else gets no adjoint.
#pragma once
#include <vector>

#include "autodiff/struct_numbers.h"
#include "ir/ir.h"

namespace weft::autodiff {

class Activity {
 public:
  /// `prints`: printing is something that reversing an operation does. `roots` vary besides what is read from memory.
  explicit Activity(const ir::Function& function, bool prints = false, std::span<const NumberRoot> roots = {});

  bool active(const ir::Value* value) const {
    return !value->is_constant() && varied_[value->id] && useful_[value->id] && has_floats(value->type);
  }
  /// Whether reversing the operation can do anything: it, or one inside it, passes derivatives on, or prints.
  bool matters(const ir::Op& op) const;

 private:
  bool vary(const ir::Value* value);
  bool use(const ir::Value* value);
  void forward(const ir::Region& region);
  void backward(const ir::Region& region);
  void forward_op(const ir::Op& op);
  void backward_op(const ir::Op& op);
  bool any_varied(std::span<ir::Value* const> values) const;

  std::vector<bool> varied_, useful_;  // by value id
  bool changed_ = false;
  const bool prints_;
};

/// Whether the program prints there, not the library (expect_near).
bool is_users_print(const ir::Op& op);
/// Whether a function prints, itself or by functions that it calls.
bool prints(const ir::Function& function);

/// The active values from outside that operations inside the region use, in order of their first use.
std::vector<ir::Value*> active_from_outside(const ir::Op& op, const Activity& activity);

}  // namespace weft::autodiff
