// Inputs of a tape that were written to since. Going back needs values; those that the program has changed can be taken as
// they are now if they are inputs, and nothing else that is needed was computed from them: the gradient is then that at the
// new values, as if everything had been recorded anew.
#include <algorithm>

#include "driver/tape_repeat.h"

namespace weft::driver {
namespace {

using Ranges = std::vector<runtime::ByteRange>;
using Versions = std::vector<std::shared_ptr<runtime::Version>>;

bool meets(const Ranges& ranges, runtime::ByteRange one) {
  return std::any_of(ranges.begin(), ranges.end(), [&](runtime::ByteRange r) { return r.intersects(one); });
}
bool meets(const Ranges& a, const Ranges& b) {
  return std::any_of(b.begin(), b.end(), [&](runtime::ByteRange r) { return meets(a, r); });
}

/// What a step reads and writes, and the values that going back over it needs.
struct Uses {
  Ranges read, written;
  Versions needed;
  bool logged = false;

  explicit Uses(const Tape::Step& step) : needed(step.versions) {
    step.launch ? add(*step.launch) : add(*step.function);
  }

 private:
  void add(const TapedLaunch& l) {
    const TapeFacts& facts = *l.facts;
    for (std::size_t k = 0; k < l.leaves.size(); ++k) {
      const auto& desc = *reinterpret_cast<const ArrayDesc*>(l.bytes() + facts.leaves[k].offset);
      const runtime::ByteRange range = runtime::data_range(desc, facts.leaves[k].type->element()->size());
      if (facts.read[k]) read.push_back(range);
      if (facts.written[k]) written.push_back(range);
      if (l.leaves[k].version) needed.push_back(l.leaves[k].version);
    }
    if (facts.read_elsewhere) read.push_back(runtime::kAnywhere);
    if (facts.written_elsewhere) written.push_back(runtime::kAnywhere);
    needed.insert(needed.end(), l.held_versions.begin(), l.held_versions.end());
    logged = l.logged;
  }
  void add(const TapedFunction& function) {
    for (const runtime::Array* one : function.arrays()) read.push_back(one->range());
    for (const runtime::Array* one : function.written()) written.push_back(one->range());
  }
};

}  // namespace

void renew_rewritten(Tape::Take& take) {
  std::vector<Uses> steps;
  Versions stale;
  Ranges rewritten;
  for (const Tape::Step& step : take.steps) {
    steps.emplace_back(step);
    for (const auto& version : steps.back().needed) {
      if (!version->is_stale()) continue;
      stale.push_back(version);
      rewritten.push_back(version->range());
    }
  }
  if (stale.empty()) return;
  Ranges computed;  // from what was rewritten
  for (const Uses& step : steps) {
    if (meets(rewritten, step.written)) return;  // the tape makes it: it is no input
    const bool passes_on = meets(rewritten, step.read) || meets(computed, step.read);
    if (passes_on && step.logged) return;
    if (passes_on) computed.insert(computed.end(), step.written.begin(), step.written.end());
    for (const auto& version : step.needed)
      if (meets(computed, version->range())) return;
  }
  for (const auto& version : stale) take.keeper.renew(version);
}

}  // namespace weft::driver
