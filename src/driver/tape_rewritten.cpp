// Inputs of a tape that were written to since. Going back needs values; those that the program has changed can be taken as
// they are now if they are inputs, and nothing else that is needed was computed from them: the gradient is then that at the
// new values, as if everything had been recorded anew.
#include <algorithm>
#include <unordered_set>

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

/// Calls `visit` with the versions that going back over a step needs.
template <class Visit>
void visit_needed(const Tape::Step& step, const Visit& visit) {
  for (const auto& version : step.versions) visit(version);
  if (step.launch) step.launch->each_version(visit);
}

/// What a step reads and writes, and the values that going back over it needs.
struct Uses {
  Ranges read, written;
  Versions needed;
  bool logged = false;

  explicit Uses(const Tape::Step& step) {
    visit_needed(step, [&](const auto& version) { needed.push_back(version); });
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
    }
    if (facts.read_elsewhere) read.push_back(runtime::kAnywhere);
    if (facts.written_elsewhere) written.push_back(runtime::kAnywhere);
    logged = l.logged;
  }
  void add(const TapedFunction& function) {
    // A function does not say which of its arrays it reads: all count.
    for (const runtime::Array* one : function.arrays()) read.push_back(one->range());
    for (const runtime::Array* one : function.written()) written.push_back(one->range());
  }
};

}  // namespace

void renew_rewritten(Tape::Take& take) {
  Versions stale;
  Ranges rewritten;
  std::unordered_set<const runtime::Version*> seen;
  for (const Tape::Step& step : take.steps)
    visit_needed(step, [&](const auto& version) {
      if (!seen.insert(version.get()).second || !version->is_stale()) return;
      stale.push_back(version);
      rewritten.push_back(version->range());
    });
  if (stale.empty()) return;
  for (const Tape::Step& step : take.steps)
    if (step.launch)
      for (const TapedLaunch::Handle& handle : step.launch->handles)
        // The tree of then over the points of now would be neither.
        if (handle.pin->kept() && std::any_of(handle.values.begin(), handle.values.end(),
                                              [](const auto& version) { return version->is_stale(); }))
          return;
  Ranges computed;  // from what was rewritten
  for (const Tape::Step& one : take.steps) {
    const Uses step(one);
    if (meets(rewritten, step.written)) return;  // the tape makes it: it is no input
    const bool passes_on = meets(rewritten, step.read) || meets(computed, step.read);
    // What it wrote down was found at the old values.
    if (passes_on && step.logged) return;
    // By ranges and forwards: whatever a step writes counts as computed from all that it reads, and stays so, also
    // where a later step overwrites it. That is careful, never wrong.
    if (passes_on) computed.insert(computed.end(), step.written.begin(), step.written.end());
    for (const auto& version : step.needed)
      // One value from before and one from now would give the gradient at no point at all.
      if (meets(computed, version->range())) return;
  }
  for (const auto& version : stale) take.keeper.renew(version);
}

}  // namespace weft::driver
