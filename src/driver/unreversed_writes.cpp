// Finding the writes, and watching the gradients on their far side.
#include "driver/unreversed_writes.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "driver/gradient_values.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

/// An array with a gradient, used by an operation.
struct Use {
  std::size_t step = 0;
  const runtime::Array* array = nullptr;
  runtime::ByteRange range;
  std::uintptr_t shift = 0;  // from an element to its gradient
  bool written = false, replaced = false;
  runtime::ArrayView view;
  std::string by;
};

void add_use(std::vector<Use>& out, std::size_t step, const runtime::Array* array, const TapedLaunch* l,
             std::size_t leaf) {
  if (!array || !array->is_valid() || !array->has_grad()) return;
  const ArrayDesc& desc = array->desc();
  const auto shift = reinterpret_cast<std::uintptr_t>(desc.grad) - reinterpret_cast<std::uintptr_t>(desc.data);
  Use use{step, array, array->range(), shift, false, false, {&desc, array->element()->size()}, {}};
  use.written = l && l->facts->written[leaf];
  use.replaced = l && l->facts->replaced[leaf];
  use.by = l ? "kernel '" + l->kernel->name() + "'" : "a function of the tape";
  out.push_back(std::move(use));
}

std::vector<Use> list_uses(const Tape& tape) {
  std::vector<Use> out;
  for (std::size_t k = 0; k < tape.steps().size(); ++k) {
    const Tape::Step& step = tape.steps()[k];
    if (const TapedLaunch* l = step.launch.get())
      for (std::size_t i = 0; i < l->leaves.size(); ++i) add_use(out, k, l->leaves[i].array, l, i);
    else
      for (const runtime::Array* one : step.function->arrays()) add_use(out, k, one, nullptr, 0);
  }
  return out;
}

/// Whether arrays of the tape that share memory have gradients that don't.
bool gradients_differ(const Tape& tape) {
  struct Place {
    runtime::ByteRange range;
    std::uintptr_t shift;
  };
  std::vector<Place> places;
  std::unordered_set<const runtime::Array*> seen;
  auto add = [&](const runtime::Array* array) {
    if (!array || !seen.insert(array).second || !array->is_valid() || !array->has_grad()) return;
    const ArrayDesc& desc = array->desc();
    places.push_back(
        {array->range(), reinterpret_cast<std::uintptr_t>(desc.grad) - reinterpret_cast<std::uintptr_t>(desc.data)});
  };
  for (const Tape::Step& step : tape.steps()) {
    if (step.launch)
      for (const TapedLaunch::Leaf& leaf : step.launch->leaves) add(leaf.array);
    else
      for (const runtime::Array* one : step.function->arrays()) add(one);
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.range.lo < b.range.lo; });
  std::uintptr_t reach = 0, shift = 0;
  for (const Place& place : places) {
    if (place.range.lo >= reach)
      shift = place.shift;
    else if (place.shift != shift)
      return true;
    reach = std::max(reach, place.range.hi);
  }
  return false;
}

std::string explain(const runtime::VersionKeeper::Stray& stray) {
  switch (stray.passage) {
    case runtime::Passage::disabled:
      return stray.by +
             ", which is not differentiated (enable_backward=False), has overwritten it; differentiate that "
             "kernel, or let it write to another array";
    case runtime::Passage::unseen:
      return stray.by +
             " has overwritten it through an array without a gradient; write through an array that has the "
             "same gradient, as views made after requires_grad was set have";
    default:
      return stray.by +
             " has written to it between operations that the tape recorded, outside of the tape; record that "
             "write too, or begin anew with tape.reset()";
  }
}

/// Where the elements of an array begin, in increasing order.
std::vector<std::int64_t> element_addresses(std::int64_t first, std::span<const std::int64_t> shape,
                                            std::span<const std::int64_t> strides) {
  std::vector<std::int64_t> out{first};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(out.size() * std::size_t(shape[d]));
    for (const std::int64_t from : out)
      for (std::int64_t i = 0; i < shape[d]; ++i) next.push_back(from + i * strides[d]);
    out = std::move(next);
  }
  return out;
}

/// Which elements of an array a write went to, in the order of their indices.
std::vector<std::size_t> elements_met(const runtime::Array& array, const UnreversedWrite& write) {
  std::vector<std::int64_t> written;
  std::int64_t bytes = 0;
  if (write.layout.empty()) {
    written = {std::int64_t(write.range.lo)};
    bytes = std::int64_t(write.range.hi - write.range.lo);
  } else {
    const std::span<const std::int64_t> numbers(write.layout);
    const std::size_t rank = (numbers.size() - 2) / 2;
    written = element_addresses(numbers[0], numbers.subspan(2, rank), numbers.subspan(2 + rank, rank));
    std::sort(written.begin(), written.end());
    bytes = numbers[1];
  }
  const auto first = std::int64_t(reinterpret_cast<std::uintptr_t>(array.data()));
  const auto size = std::int64_t(array.element()->size());
  std::vector<std::size_t> out;
  const std::vector<std::int64_t> own = element_addresses(first, array.shape(), array.strides());
  for (std::size_t i = 0; i < own.size(); ++i)
    if (std::lower_bound(written.begin(), written.end(), own[i] + size) >
        std::upper_bound(written.begin(), written.end(), own[i] - bytes))
      out.push_back(i);
  return out;
}

}  // namespace

std::vector<UnreversedWrite> unreversed_writes(const Tape& tape) {
  std::vector<UnreversedWrite> out;
  const std::vector<runtime::VersionKeeper::Stray> strays = tape.keeper().strays();
  const std::size_t count = tape.steps().size();
  const bool any = std::any_of(strays.begin(), strays.end(), [&](const auto& stray) { return stray.moment < count; });
  const bool differ = gradients_differ(tape);
  if (!any && !differ) return out;
  const std::vector<Use> uses = list_uses(tape);
  for (const runtime::VersionKeeper::Stray& stray : strays) {
    if (stray.moment >= count) continue;  // after the last operation it means nothing
    UnreversedWrite write{stray.moment, explain(stray), stray.range, stray.layout, {}};
    for (const Use& use : uses)
      if (use.step < stray.moment && use.range.intersects(stray.range))
        write.arrays.push_back({use.array, use.written});
    if (!write.arrays.empty()) out.push_back(std::move(write));
  }
  for (std::size_t k = 0; differ && k < uses.size(); ++k) {
    const Use& through = uses[k];
    if (!through.replaced) continue;
    UnreversedWrite write{through.step,
                          through.by +
                              " has overwritten it through an array that shares its memory, but not its "
                              "gradient; make views anew when `grad` was replaced",
                          through.range,
                          runtime::layout_of(through.view),
                          {}};
    for (const Use& use : uses)
      if (use.step > through.step && use.shift != through.shift && use.range.intersects(through.range))
        write.arrays.push_back({use.array, false});
    if (!write.arrays.empty()) out.push_back(std::move(write));
  }
  return out;
}

FarSide::FarSide(const UnreversedWrite& write) : moment_(write.moment), why_(write.why) {
  std::map<const runtime::Array*, bool> results;
  for (const UnreversedWrite::Use& use : write.arrays) results[use.array] |= use.written;
  for (const auto& [array, is_result] : results) {
    if (array->size() == 0) continue;
    Watched one{array, elements_met(*array, write), {}};
    if (one.elements.empty()) continue;
    // That of results is nothing unless it is to go back; to that of what is only read backward passes add.
    const GradientValues now(*array);
    for (const std::size_t element : one.elements)
      for (std::size_t c = 0; c < now.components(); ++c)
        one.before.push_back(is_result ? 0.0 : now.value(element * now.components() + c));
    watched_.push_back(std::move(one));
  }
}

void FarSide::check() const {
  for (const Watched& one : watched_) {
    const GradientValues now(*one.array);
    bool same = true;
    for (std::size_t k = 0; k < one.elements.size(); ++k)
      for (std::size_t c = 0; c < now.components(); ++c)
        same &= now.value(one.elements[k] * now.components() + c) == one.before[k * now.components() + c];
    if (!same)
      throw runtime::Error("the gradient of an array of shape " + shape_text(*one.array) +
                           " is not known before a place on the tape: " + why_);
  }
}

}  // namespace weft::driver
