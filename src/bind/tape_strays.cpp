// Writes that no gradient goes back over: those that a tape did not record or can't reverse, and those through an array that
// shares memory with another one, but not its gradient.
#include <algorithm>
#include <unordered_set>

#include "bind/tape.h"

namespace weft::bind {
namespace {

/// An array with a gradient, used by an operation.
struct Use {
  std::size_t step = 0;
  nb::object object;
  runtime::ByteRange range;
  std::uintptr_t shift = 0;  // from an element to its gradient
  bool written = false, replaced = false;
  runtime::ArrayView view;
  std::string by;
};

void add_use(std::vector<Use>& out, std::size_t step, const nb::object& object, const TapedLaunch* l,
             std::size_t leaf) {
  const runtime::Array* array = object.is_valid() && !object.is_none() ? as_array(object.ptr()) : nullptr;
  if (!array || !array->is_valid() || !array->has_grad()) return;
  const ArrayDesc& desc = array->desc();
  const auto shift = reinterpret_cast<std::uintptr_t>(desc.grad) - reinterpret_cast<std::uintptr_t>(desc.data);
  Use use{step, object, array->range(), shift, false, false, {&desc, array->element()->size()}, {}};
  use.written = l && l->facts->written[leaf];
  use.replaced = l && l->facts->replaced[leaf];
  use.by = l ? "kernel '" + l->kernel->name() + "'" : "a function of the tape";
  out.push_back(std::move(use));
}

std::vector<Use> list_uses(const TapeObject& tape) {
  std::vector<Use> out;
  for (std::size_t k = 0; k < tape.steps.size(); ++k) {
    const TapeObject::Step& step = tape.steps[k];
    if (const TapedLaunch* l = step.launch.get())
      for (std::size_t i = 0; i < l->leaves.size(); ++i) add_use(out, k, l->leaves[i].object, l, i);
    else
      for (nb::handle one : nb::cast<nb::list>(step.arrays)) add_use(out, k, nb::borrow(one), nullptr, 0);
  }
  return out;
}

/// Whether arrays of the tape that share memory have gradients that don't.
bool gradients_differ(const TapeObject& tape) {
  struct Place {
    runtime::ByteRange range;
    std::uintptr_t shift;
  };
  std::vector<Place> places;
  std::unordered_set<PyObject*> seen;
  auto add = [&](PyObject* object) {
    if (!object || object == Py_None || !seen.insert(object).second) return;
    const runtime::Array* array = as_array(object);
    if (!array || !array->is_valid() || !array->has_grad()) return;
    const ArrayDesc& desc = array->desc();
    places.push_back(
        {array->range(), reinterpret_cast<std::uintptr_t>(desc.grad) - reinterpret_cast<std::uintptr_t>(desc.data)});
  };
  for (const TapeObject::Step& step : tape.steps) {
    if (step.launch)
      for (const TapedLaunch::Leaf& leaf : step.launch->leaves) add(leaf.object.ptr());
    else
      for (nb::handle one : nb::cast<nb::list>(step.arrays)) add(one.ptr());
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

nb::list as_list(const std::vector<std::int64_t>& numbers) {
  nb::list out;
  for (const std::int64_t one : numbers) out.append(one);
  return out;
}

}  // namespace

nb::list list_strays(TapeObject& tape) {
  nb::list out;
  const std::vector<runtime::VersionKeeper::Stray> strays = tape.keeper.strays();
  const bool any =
      std::any_of(strays.begin(), strays.end(), [&](const auto& stray) { return stray.moment < tape.steps.size(); });
  const bool differ = gradients_differ(tape);
  if (!any && !differ) return out;
  const std::vector<Use> uses = list_uses(tape);
  for (const runtime::VersionKeeper::Stray& stray : strays) {
    if (stray.moment >= tape.steps.size()) continue;  // after the last operation it means nothing
    nb::list arrays;
    for (const Use& use : uses)
      if (use.step < stray.moment && use.range.intersects(stray.range))
        arrays.append(nb::make_tuple(use.object, use.written));
    if (nb::len(arrays))
      out.append(
          nb::make_tuple(stray.moment, explain(stray), stray.range.lo, stray.range.hi, as_list(stray.layout), arrays));
  }
  for (std::size_t k = 0; differ && k < uses.size(); ++k) {
    const Use& write = uses[k];
    if (!write.replaced) continue;
    nb::list arrays;
    for (const Use& use : uses)
      if (use.step > write.step && use.shift != write.shift && use.range.intersects(write.range))
        arrays.append(nb::make_tuple(use.object, false));
    if (nb::len(arrays))
      out.append(nb::make_tuple(write.step,
                                write.by + " has overwritten it through an array that shares its memory, but not its "
                                           "gradient; make views anew when `grad` was replaced",
                                write.range.lo, write.range.hi, as_list(runtime::layout_of(write.view)), arrays));
  }
  return out;
}

}  // namespace weft::bind
