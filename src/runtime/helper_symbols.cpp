// The table of helpers.
#include "runtime/helper_symbols.h"

#include <algorithm>
#include <vector>

#include "runtime/kernel_abi.h"

namespace weft::runtime {
namespace {

template <class F>
HelperSymbol symbol(std::string_view name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

std::vector<HelperSymbol> make_table() {
  std::vector<HelperSymbol> table = {symbol("weft_rt_fail", &weft_rt_fail), symbol("weft_rt_print", &weft_rt_print),
                                     symbol("weft_rt_breakpoint", &weft_rt_breakpoint)};
  std::sort(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return table;
}

}  // namespace

std::span<const HelperSymbol> helper_symbols() {
  static const std::vector<HelperSymbol> table = make_table();
  return table;
}

}  // namespace weft::runtime
