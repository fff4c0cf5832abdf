// The places in a module where a check can fail (assert, check), numbered the same way by every executor: functions in
// module order, operations in walk order.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

struct CheckSites {
  std::vector<const ir::Op*> ops;  // by site number
  std::unordered_map<const ir::Op*, std::int32_t> number;
};

CheckSites check_sites(const ir::Module& module);

}  // namespace weft::analysis
