// The derivative of one function for use inside other code (wp.grad): its adjoint, with arrays taken as constants.
#pragma once
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::autodiff {

/// Adds (params…, adjoints of float results…) → adjoints of float params to the module, with what that calls, and gives
/// it. Nothing is added to the gradients of arrays. `at` is where errors are reported that have no place of their own.
ir::Function* make_derivative(ir::Module& module, const ir::Function& source, const SourceLoc& at,
                              DiagnosticSink& sink);

}  // namespace weft::autodiff
