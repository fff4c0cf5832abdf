// Finds threads of one launch that meet in an element of an array of floats: two that store to it, or one that reads
// what another one writes. Such a launch has no defined result and no gradient. The kernel runs in the interpreter, thread
// by thread, on memory that the caller gives up; every access is noted down.
#pragma once
#include <span>
#include <string>

#include "autodiff/accesses.h"
#include "ir/ir.h"
#include "runtime/launch.h"

namespace weft::driver {

/// Runs the kernel, the module's last function, on a parameter block whose arrays lie on the host and belong to the
/// check. Gives what is wrong, with both places and threads; empty: nothing. `leaves` are the block's arrays. `options` say
/// who may stop it.
std::string find_race(const ir::Module& module, const ParamLayout& layout, std::span<const autodiff::ArrayLeaf> leaves,
                      const void* block, std::span<const std::int64_t> dims,
                      const runtime::LaunchOptions& options = {});

}  // namespace weft::driver
