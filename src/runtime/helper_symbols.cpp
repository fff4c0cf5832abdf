// The table of helpers.
#include "runtime/helper_symbols.h"

#include <algorithm>
#include <vector>

#include "runtime/block_threads.h"
#include "runtime/bucket_abi.h"
#include "runtime/kernel_abi.h"

namespace weft::runtime {
namespace {

template <class F>
HelperSymbol symbol(std::string_view name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

std::vector<HelperSymbol> make_table() {
  std::vector<HelperSymbol> table = {symbol("weft_rt_fail", &weft_rt_fail),
                                     symbol("weft_rt_print", &weft_rt_print),
                                     symbol("weft_rt_breakpoint", &weft_rt_breakpoint),
                                     symbol("weft_rt_blocks", &weft_rt_blocks),
                                     symbol("weft_rt_bucket", &weft_rt_bucket),
                                     symbol("weft_rt_barrier", &weft_rt_barrier),
                                     symbol("weft_rt_thread", &weft_rt_thread),
                                     symbol("weft_rt_threads", &weft_rt_threads),
                                     symbol("weft_rt_block_memory", &weft_rt_block_memory),
                                     symbol("weft_rt_warp", &weft_rt_warp),
                                     symbol("weft_rt_tally", &weft_rt_tally),
                                     symbol("weft_rt_vote", &weft_rt_vote),
                                     symbol("weft_rt_shuffle", &weft_rt_shuffle)};
  std::sort(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return table;
}

}  // namespace

std::span<const HelperSymbol> helper_symbols() {
  static const std::vector<HelperSymbol> table = make_table();
  return table;
}

}  // namespace weft::runtime
