// The table of helpers, made from the same lists that declare them.
#include "runtime/helper_symbols.h"

#include <algorithm>
#include <vector>

#include "runtime/kernel_abi.h"
#include "runtime/math_functions.h"

namespace weft::runtime {
namespace {

template <class F>
HelperSymbol symbol(std::string_view name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

std::vector<HelperSymbol> make_table() {
  std::vector<HelperSymbol> table = {symbol("weft_rt_fail", &weft_rt_fail), symbol("weft_rt_print", &weft_rt_print),
                                     symbol("weft_fmod_f32", &weft_fmod_f32), symbol("weft_fmod_f64", &weft_fmod_f64),
#define WEFT_ROW(name) \
  symbol("weft_" #name "_f32", &weft_##name##_f32), symbol("weft_" #name "_f64", &weft_##name##_f64),
                                     WEFT_MATH_UNARY(WEFT_ROW) WEFT_MATH_BINARY(WEFT_ROW)
#undef WEFT_ROW
  };
  std::sort(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return table;
}

}  // namespace

std::span<const HelperSymbol> helper_symbols() {
  static const std::vector<HelperSymbol> table = make_table();
  return table;
}

}  // namespace weft::runtime
