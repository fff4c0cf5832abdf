// Answers `on_gpu` for the target that code is made for, and what threads side by side have to say where there are none.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Puts the answer in place of every `on_gpu`, and on a CPU of `warp`, `lane`, `vote` and `shuffle`, unless its `blocks` have
/// several threads; folding drops what is not taken. Says whether there was any.
bool settle_target(ir::Function& function, bool gpu, bool blocks = false);

}  // namespace weft::passes
