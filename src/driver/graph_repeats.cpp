// A take is followed step by step; work in between that writes to what the steps so far have used begins it anew.
#include "driver/graph_repeats.h"

#include <algorithm>

namespace weft::driver {
namespace {

using Step = Tape::Step;

void visit_versions(const Tape::Take& take,
                    const std::function<void(const std::shared_ptr<runtime::Version>&)>& visit) {
  for (const Step& step : take.steps) {
    for (const auto& one : step.versions) visit(one);
    if (step.launch) step.launch->each_version(visit);
  }
}

/// Whether all that going back needs lies in the arrays when everything has run.
bool needs_no_record(const Tape::Take& take) {
  bool kept = false;
  visit_versions(take, [&](const auto& version) { kept = kept || version->is_kept(); });
  return !kept && std::none_of(take.steps.begin(), take.steps.end(),
                               [](const Step& step) { return step.launch && step.launch->logged; });
}

bool is_of_the_program(const Step& step) { return !step.launch && !step.function->is_known(); }

}  // namespace

GraphRepeats::GraphRepeats() {
  for (const std::shared_ptr<Tape::Take>& take : Repeats::takes())
    if (needs_no_record(*take)) tapes_.push_back({take});
}

template <class Fits>
void GraphRepeats::note_work(const Ranges& written, const Fits& fits) {
  for (Followed& one : tapes_) {
    const std::vector<Step>& steps = one.take->steps;
    auto pass_over = [&] {
      while (one.at < steps.size() && is_of_the_program(steps[one.at])) ++one.at;
    };
    pass_over();
    if (one.at < steps.size() && !fits(steps[one.at])) {
      auto is_used = [&](runtime::ByteRange r) {
        return std::any_of(one.used.begin(), one.used.end(), [&](runtime::ByteRange u) { return u.intersects(r); });
      };
      if (std::none_of(written.begin(), written.end(), is_used)) continue;
      one.at = 0;
      one.used.clear();
      pass_over();
    }
    if (one.at == steps.size() || !fits(steps[one.at])) continue;
    const TapedLaunch& launch = *steps[one.at].launch;
    for (const autodiff::ArrayLeaf& leaf : launch.facts->leaves) {
      const auto& desc = *reinterpret_cast<const ArrayDesc*>(launch.bytes() + leaf.offset);
      one.used.push_back(runtime::data_range(desc, leaf.type->element()->size()));
    }
    if (launch.facts->read_elsewhere || launch.facts->written_elsewhere) one.used.push_back(runtime::kAnywhere);
    ++one.at;
    pass_over();
    if (one.at < steps.size()) continue;
    visit_versions(*one.take, [&](const auto& version) { one.take->keeper.renew_unseen(version); });
    one.at = 0;
    one.used.clear();
  }
}

void GraphRepeats::note(const GraphWrites::Launch& launch, const Ranges& written) {
  WatchedLaunch same{launch.kernel, *launch.signature, launch.bytes(), launch.dims, launch.place};
  note_work(written, [&](const Step& step) { return step.launch && repeats(*step.launch, same); });
}

void GraphRepeats::note(const std::string& by, const Ranges& written) {
  // Where a copy takes its values from is not known here.
  const bool is_fill = by.starts_with("a fill") && written.size() == 1;
  note_work(written, [&](const Step& step) {
    if (!is_fill || !step.launch || step.launch->run || step.launch->facts->leaves.size() != 1) return false;
    const autodiff::ArrayLeaf& leaf = step.launch->facts->leaves.front();
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(step.launch->bytes() + leaf.offset);
    const runtime::ByteRange own = runtime::data_range(desc, leaf.type->element()->size());
    return own.lo == written[0].lo && own.hi == written[0].hi;
  });
}

}  // namespace weft::driver
