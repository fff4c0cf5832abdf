// First versions of large kernels: which kernels begin with one, and how it is made (docs/design/tiers.md).
#pragma once
#include "codegen/codegen.h"
#include "driver/options.h"
#include "ir/ir.h"

namespace weft::driver {

/// Whether a kernel could have one, as far as options and the front end's IR tell: it is not small, and what it does is the
/// same whatever the number of lanes and LLVM's effort.
bool may_have_first_version(const ir::Module& module, const CompileOptions& options);
/// Whether an optimised kernel takes so long to compile that it should begin with one. `lanes` are those asked for; 0: chosen.
bool first_version_pays(const ir::Module& module, const codegen::TargetSpec& target, int lanes);
/// Makes options for the full version those for the first one. Gives how many times longer than estimated a thread takes. That
/// is 1 where the lanes stay: chunks have to stay as well, for sums are rounded chunk by chunk.
float use_first_version(const ir::Module& module, const codegen::TargetSpec& target, codegen::EmitOptions& options);

}  // namespace weft::driver
