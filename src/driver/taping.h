// Forms of kernels for tapes: the taped form, which writes down what its adjoint can't compute again, the adjoint that
// reads it, and what a tape must know of a launch to keep the right versions of arrays.
#pragma once
#include <vector>

#include "autodiff/accesses.h"
#include "autodiff/record.h"
#include "autodiff/struct_numbers.h"
#include "driver/held_objects.h"
#include "driver/options.h"
#include "support/diagnostic.h"

namespace weft::driver {

/// What a tape must know of a kernel in one form.
struct TapeFacts {
  autodiff::LogPlan log;
  std::vector<autodiff::ArrayLeaf> leaves;  // the arrays of its parameter block
  std::vector<bool> read, written, needed;  // by leaf; needed: the reverse reads values of it
  std::vector<bool> replaced;               // by leaf: written by more than additions
  bool read_elsewhere = false;              // arrays that came out of memory
  bool written_elsewhere = false;
  bool needed_elsewhere = false;
  bool needed_objects = false;  // the reverse reads arrays of objects
  std::string problem;          // why the kernel has no adjoint; empty: it has one
  std::string ordered;  // why its adjoint is right only for threads that ran one after another; empty: it always is
  std::vector<autodiff::NumberLeaf> numbers;  // in structs, whose gradients the adjoint adds up; empty: there are none
  bool takes_numbers = false;                 // the adjoint has a parameter for them
  std::vector<HandlePlace> handles;           // ids of objects, whose arrays are among those that came out of memory
  std::uint32_t named_kinds = 0;  // of objects that the reverse reaches by ids out of memory (analysis::kind_bit)
  bool any_order = false;         // threads of the adjoint only add where they meet, if gradients share no memory
  bool together =
      false;  // what is written down hangs on how many threads run together, as in derivatives inside of kernels
};

/// What a launch of a kernel's tangent, or of the tangent's adjoint, must know of the order of threads
/// (autodiff/tangent_order.h).
struct TangentPlan {
  std::string ordered;                       // why threads run one after another
  std::vector<autodiff::ArrayLeaf> settled;  // or: what two launches settle
  std::vector<autodiff::ArrayLeaf> written;  // then: all that the tangent writes to

  /// False: threads run as they like.
  bool has_order() const { return !ordered.empty() || !settled.empty(); }
};

/// The layout of a parameter block with the log's descriptors behind the kernel's own parameters.
ParamLayout log_layout(const ParamLayout& layout);
/// The layout of a taped form: the log's descriptors where there is a log, and in adjoints that of the array for gradients of
/// numbers where there are numbers.
ParamLayout taped_layout(const ParamLayout& layout, const TapeFacts& facts, bool adjoint);

/// Makes the kernel of a lowered module its tangent, directions in parameters (autodiff/adjoint.h).
void make_tangent(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink);
/// The plan for it. The module is used up.
TangentPlan plan_tangent(ir::Module& module, const CompileOptions& options);

/// Brings a lowered module into the form that its kernel says: the adjoint, the taped form, or (both set) the adjoint
/// that reads what the taped form wrote. Errors, with the place in the kernel, go to the sink.
void differentiate(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink);

/// The facts of a kernel in the form that it says, `taped` taken as set. The module is used up.
TapeFacts tape_facts(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink);

}  // namespace weft::driver
