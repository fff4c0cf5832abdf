// Going back over one launch: its adjoint, on the values of then and the gradients of now.
#include <algorithm>
#include <cstring>

#include "driver/tape.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"
#include "runtime/held_array.h"

namespace weft::driver {
namespace {

ArrayDesc& desc_at(char* block, const autodiff::ArrayLeaf& leaf) {
  return *reinterpret_cast<ArrayDesc*>(block + leaf.offset);
}

/// Whether going back over a launch reads values of arrays, or a log.
bool needs_values(const TapeFacts& facts) {
  return !facts.log.empty() || facts.needed_elsewhere || facts.needed_objects ||
         std::find(facts.needed.begin(), facts.needed.end(), true) != facts.needed.end();
}

/// Gives a block the gradients that arrays have now, which may have been given to them after the launch, and holds them: another
/// thread may give other ones. Returns whether there are any.
bool use_gradients(const TapedLaunch& l, char* bytes, const Probe* probe, std::vector<runtime::Array>& memory) {
  bool any = false;
  for (std::size_t k = 0; k < l.facts->leaves.size(); ++k) {
    ArrayDesc& desc = desc_at(bytes, l.facts->leaves[k]);
    const runtime::Array* array = l.leaves[k].array;
    // Only while it is the same memory: a program may have given the object another array since.
    if (array && array->is_valid() && array->data() == desc.data) {
      runtime::Array now = runtime::held(*array);
      desc.grad = now.desc().grad;
      if (desc.grad) memory.push_back(std::move(now));
    }
    if (probe) {
      const auto at = reinterpret_cast<std::uintptr_t>(desc.grad);
      const bool inside = at >= probe->gradient.lo && at < probe->gradient.hi;
      // All views of the array that is asked about share the scratch; no other array has a
      // gradient, so that nothing else is changed.
      desc.grad = inside ? probe->scratch + (at - probe->gradient.lo) : nullptr;
    }
    any |= desc.grad != nullptr;
  }
  for (const runtime::Array* one : l.held) any |= one->has_grad();
  return any;
}

/// Throws if there is no gradient, or what it takes is not there.
void check_reversible(TapedLaunch& l) {
  const TapeFacts& facts = *l.facts;
  const std::string& name = l.kernel->name();
  if (!facts.problem.empty()) throw runtime::Error(facts.problem);
  if (!facts.ordered.empty() && !l.in_order) throw runtime::Error(facts.ordered);
  if (!l.active && needs_values(facts))
    throw runtime::Error(
        "the backward pass of kernel '" + name +
        "' needs values of its arrays, and when it ran none of them had a gradient, so that nobody has "
        "watched over them; set requires_grad before the launch");
  check_unchanged(l.named, name);
  for (const auto& version : l.held_versions)
    // A copy exists, so the array was written to. Its descriptor lies in memory,
    // where the copy's address can't be put in.
    if (version->data() != version->array().data())
      throw runtime::Error("the backward pass of kernel '" + name +
                           "' needs an array as it was that lies in a struct in memory, and a later operation has "
                           "written to it; write to another array");
  if (l.place.device && l.place.device->capture() && !l.log.settled())
    throw runtime::Error("the backward pass of kernel '" + name +
                         "' must know how much its launch wrote down, which can't be read while a graph is captured; "
                         "record the launch before wp.capture_begin, or call backward when the graph has run");
  if (facts.log.empty()) return;
  try {
    finish_log(l.log);
  } catch (const runtime::Error& e) {
    note_log(l);  // it could not be run again: the next launch gets what this one wanted
    throw runtime::Error("kernel '" + name + "': " + e.what());
  }
}

/// Gives a block the ids of objects as they were when the launch ran, with the values that their arrays had then. Returns
/// those that were made for it.
std::vector<std::shared_ptr<geometry::Object>> use_objects(const TapedLaunch& l, char* bytes) {
  std::vector<std::shared_ptr<geometry::Object>> made;
  for (const TapedLaunch::Handle& handle : l.handles) {
    std::shared_ptr<geometry::Object> then = handle.pin->kept() ? handle.pin->kept() : handle.object;
    std::vector<runtime::Array> arrays;
    bool copied = false;
    for (std::size_t k = 0; k < handle.values.size(); ++k) {
      const runtime::Version& version = *handle.values[k];
      runtime::Array values = version.array();
      if (version.data() != values.data()) {  // throws if they are lost
        values = version.values(version.array());
        const runtime::Array& now = *l.held[handle.first + k];
        if (now.has_grad() && now.data() == version.array().data()) values.set_grad(now.grad());
        copied = true;
      }
      arrays.push_back(std::move(values));
    }
    if (copied) made.push_back(then = then->with_arrays(arrays));
    const std::uint64_t id = then->id();
    std::memcpy(bytes + handle.offset, &id, sizeof id);
  }
  return made;
}

/// The array to which gradients of numbers in structs are added.
void make_numbers(TapedLaunch& l) {
  const TapeFacts& facts = *l.facts;
  if (l.numbers.is_valid() || facts.numbers.empty()) return;
  const autodiff::NumberLeaf& last = facts.numbers.back();
  // Leaves are in order, so that the last one's end is the end of all.
  const std::size_t count = last.first + (last.type->is_scalar() ? 1 : last.type->component_count());
  l.numbers = runtime::Array::zeros(types::f64(), {std::int64_t(count)}, false, l.place.device);
}

/// Gives it to a block; one without elements where nobody asks.
void use_numbers(TapedLaunch& l, char* bytes, const Probe* probe) {
  const TapeFacts& facts = *l.facts;
  if (!facts.takes_numbers) return;
  auto* desc =
      reinterpret_cast<ArrayDesc*>(bytes + taped_layout(l.signature->layout, facts, true).params.back().offset);
  // Null: the adjoint then adds nothing (where_gradient).
  *desc = ArrayDesc{};
  if (probe || facts.numbers.empty()) return;
  make_numbers(l);
  *desc = l.numbers.desc();
}

}  // namespace

void zero_numbers(TapedLaunch& l) {
  if (!l.active) return;
  make_numbers(l);  // in a graph, too, it is zeroed before each run
  if (l.numbers.is_valid()) l.numbers.fill_zero();
}

LaunchForm adjoint_form(const TapedLaunch& l, const char* block) {
  LaunchForm form = l.form;
  form.adjoint = true;
  form.taped = !l.facts->log.empty() || !l.facts->ordered.empty() || !l.facts->numbers.empty();
  form.meet = gradients_may_meet(l.signature->layout, block);
  return form;
}

void reverse(TapedLaunch& l, const Probe* probe) {
  const TapeFacts& facts = *l.facts;
  // A copy: the recorded block stays as it ran, for the next backward pass.
  std::vector<std::uint64_t> block = l.block;
  char* bytes = reinterpret_cast<char*>(block.data());
  for (const TapedLaunch::Handle& handle : l.handles) handle.object->refresh_gradients();
  std::vector<runtime::Array> memory = l.memory;
  if (!use_gradients(l, bytes, probe, memory)) return;
  if (!l.backward) {
    // A warning is said once: the place tells kernels of the same name apart.
    const SourceLoc& at = l.kernel->decl().def->name_loc;
    return l.kernel->warn("Running the tape backwards may produce incorrect gradients because recorded kernel '" +
                          l.kernel->name() + "' (" + (at.file ? at.file->name() : "") + ":" + std::to_string(at.line) +
                          (l.kernel->module_disables_backward()
                               ? ") is defined in a module with the option 'enable_backward=False' set."
                               : ") is configured with the option 'enable_backward=False'."));
  }
  check_reversible(l);
  for (std::size_t k = 0; k < facts.leaves.size(); ++k)
    // The values of then: the memory itself where nobody has written since, else the copy. Throws if they are lost.
    if (const auto& version = l.leaves[k].version) desc_at(bytes, facts.leaves[k]).data = version->data();
  const std::vector<std::shared_ptr<geometry::Object>> stand_ins = use_objects(l, bytes);
  use_numbers(l, bytes, probe);
  // Gradients are arrays like others, and some tape may have recorded work on
  // them. A probe writes to scratch memory alone.
  if (runtime::writes_are_watched() && !probe) {
    const std::string by = "the backward pass of kernel '" + l.kernel->name() + "'";
    for (const autodiff::ArrayLeaf& leaf : facts.leaves)
      if (const ArrayDesc& desc = desc_at(bytes, leaf); desc.grad)
        runtime::announce_write(runtime::grad_range(desc, leaf.type->element()->size()), nullptr, by);
  }
  const LaunchForm form = adjoint_form(l, bytes);
  const KernelVariant& variant = l.kernel->form_for(*l.signature, l.dims(), bytes, form, l.place.device);
  if (l.numbers.is_valid()) memory.push_back(l.numbers);
  runtime::CommandList* list = l.place.device ? nullptr : runtime::recording();
  // In a graph the adjoint runs when the graph does: copies, gradients and logs must live as long as it.
  if (list || (l.place.device && l.place.device->capture())) {
    for (const TapedLaunch::Leaf& leaf : l.leaves) {
      if (leaf.version) list ? list->keep(leaf.version) : l.place.device->keep_for_capture(leaf.version);
    }
    if (l.logged)
      for (const runtime::Array& one : l.log.arrays()) memory.push_back(one);
  }
  l.kernel->start({l.kernel, *l.signature, variant, bytes, l.dims(), l.place, true, memory, l.owner});
}

}  // namespace weft::driver
