// Differentiation of kernels on the IR: reverse mode (the adjoint of a kernel) and forward mode (its tangent).
// docs/design/gradients.md says how and why. Both work on a module whose functions were tidied and inlined before, and
// leave much for the usual passes to fold and drop.
#pragma once
#include <cstdint>
#include <string_view>

#include "autodiff/record.h"
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::autodiff {

struct AdjointOptions {
  /// Private memory of a thread for what loops must remember, shared by the loops of a function.
  std::uint64_t slot_bytes = 8 << 10;
  /// That memory is far away, as on GPUs: loops whose turns are cheap rather run again.
  bool slots_are_far = false;
  /// What the kernel's taped form wrote down; null: nothing. The adjoint then has the log's parameters behind its own.
  const LogPlan* log = nullptr;
  /// Takes what is exact only if threads ran one after another, and go back in the opposite order; null: these are errors.
  DiagnosticSink* ordered = nullptr;
  /// Whether numbers in structs that the kernel is passed get a gradient (struct_numbers.h). The adjoint of a kernel with
  /// such numbers then has one more parameter, behind all others.
  bool into_numbers = false;
  /// False: arrays count as constants, and only what is passed by value gets adjoints.
  bool into_arrays = true;
  /// What the kernel prints is printed again in reverse, each with its adjoint behind it (prints.cpp).
  bool prints = false;
  /// The adjoint has a parameter more for each of the kernel's own, of the same type: with that the adjoint of a number,
  /// vector or matrix begins. Only prints show it, for what is passed by value gets no gradient.
  bool seeds = false;
};
inline constexpr std::string_view kSeedSuffix = "_seed";  // of those parameters' names

/// Makes the kernel, the module's last function, its own adjoint: it keeps parameters and form, reads the arrays as they
/// were at the launch, and adds to the gradients of what was read what the gradients of the written arrays say.
/// Gradients live behind the descriptors' gradient pointers; arrays without one get none. Errors go to the sink.
void make_adjoint(ir::Module& module, const AdjointOptions& options, DiagnosticSink& sink);

/// Where a tangent kernel finds directions, and leaves derivatives.
enum class Directions : std::uint8_t {
  in_gradients,   // of the arrays; what is passed by value does not move
  in_parameters,  // behind the kernel's own: one of the same type for each, an array for an array (null: does not move)
};
inline constexpr std::string_view kTangentSuffix = "_tangent";  // of those parameters' names

/// Makes the kernel its own tangent: besides what it does it writes, for each array that it writes, the derivative in the
/// given direction.
void make_tangent(ir::Module& module, Directions directions, DiagnosticSink& sink);

/// Makes the kernel write down what its adjoint can't compute again: its taped form.
void make_taped(ir::Module& module, const LogPlan& log);

/// The sites (record.h) whose values an adjoint must recall though no log has them; to be asked once dead code is gone.
std::vector<std::uint32_t> missing_sites(const ir::Module& adjoint);
/// Values that an adjoint must recall because nothing can compute them again (IR operation `recall`), reported as errors
/// with the place in the kernel; to be called once dead code is gone. True if there are none.
bool check_recalls(const ir::Module& module, DiagnosticSink& sink);

}  // namespace weft::autodiff
