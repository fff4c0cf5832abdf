// What an adjoint needs and nothing can compute again: values that the kernel read before it overwrote them, results of
// atomics. The taped form of a kernel writes them down while it runs, and the adjoint reads them where it replays the
// kernel. Both are made from one list of sites, so they agree on where each value lies.
//
// Sites outside loops have a fixed place: word k of thread t. Sites inside loops go to pages of a slab that threads take
// as they need them; a page ends in the number of the next. The cursor into the pages is an ordinary value that `if` and
// loops carry on, so that a replay which starts in the middle of a loop finds its place by itself.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::autodiff {

/// The sites of a kernel and the memory that they take.
struct LogPlan {
  std::vector<std::uint32_t> sites;  // numbers of memory operations (SiteNumbers), ascending
  std::uint32_t fixed_words = 0;     // 32-bit words of a thread for sites outside loops
  std::uint32_t page_words = 0;      // words of a page, a power of two; 0: no site is inside a loop

  bool empty() const { return sites.empty(); }
};

/// Loads, atomics and calls with a result of a function in the order of the text: the same numbers in every form made
/// from the same IR.
using SiteNumbers = std::unordered_map<const ir::Op*, std::uint32_t>;
SiteNumbers number_sites(const ir::Function& function);

/// Lays out the log for these sites of a kernel. Sites whose values can't be written down (descriptors) or whose place
/// has no cursor (the test of a `while`) are reported.
LogPlan plan_log(const ir::Function& kernel, std::vector<std::uint32_t> sites, DiagnosticSink& sink);

/// The parameters that a form with a log has behind the kernel's own: fixed words [word, thread], first page of a thread,
/// words of all pages, first free word.
inline constexpr std::size_t kLogParams = 4;
const Type* log_param_type(std::size_t index);
inline constexpr std::string_view kLogParamNames[kLogParams] = {"log_fixed", "log_first", "log_pages", "log_next"};

/// Adds the log's parameters and makes every site write its result down.
void add_log_writes(ir::Function& kernel, const LogPlan& plan);
/// Adds the log's parameters and reads of every site's value before the site; gives those values.
std::unordered_map<const ir::Op*, ir::Value*> add_log_reads(ir::Function& kernel, const LogPlan& plan);

}  // namespace weft::autodiff
