// How long private arrays live. Each has one piece of memory, which is cleared where the array is made: a second one
// made in the same place, in the next iteration of a loop or in another call, takes the memory of the first.
#pragma once
#include "analysis/alias.h"
#include "ir/ir.h"

namespace weft::analysis {

/// A private array of which one iteration of a loop still uses what an earlier one made, when it has made its own, or that
/// its function gives back; null if there is none.
const ir::Op* outliving_local(const ir::Function& function, const Alias& alias);
/// What to say of one.
inline constexpr const char* kOutlivingLocal =
    "a private array that is made in a loop can't be used any longer when the next iteration has made its own: make it "
    "before the loop";

/// Whether iterations of the loop use such an array of an earlier iteration behind the place where it is made.
bool is_kept(const ir::Op& loop, const ir::Op& local, const Alias& alias);

}  // namespace weft::analysis
