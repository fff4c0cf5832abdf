// How often each value is used. The IR keeps no use lists; passes that need counts make this table in one walk.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// Number of operand positions (terminators included) in which each value stands, indexed by value id.
std::vector<std::uint32_t> use_counts(const ir::Function& function);

/// Operations in a region and all regions within, terminators not counted; stops early once past `limit`.
std::size_t count_ops(const ir::Region& region, std::size_t limit = SIZE_MAX);

}  // namespace weft::analysis
