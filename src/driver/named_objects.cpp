// Looks through all numbers of 64 bits that a launch was given: which of them are ids is what the registry says.
#include "driver/named_objects.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "analysis/handles.h"
#include "driver/array_copies.h"
#include "driver/taped_launch.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

using runtime::Array;

// Larger arrays are not looked through: they are hardly lists of objects, and each recorded launch would pay for it.
constexpr std::uint64_t kMaxBytes = 4 << 20;

bool holds_ids(const Type* type) {
  if (!type->is_struct()) return type->is_numeric() && type->scalar_kind() == ScalarKind::u64;
  return std::any_of(type->fields().begin(), type->fields().end(), [](const Field& f) { return holds_ids(f.type); });
}

class Names {
 public:
  Names(std::uint32_t kinds, const cuda::Device* device) : kinds_(kinds), device_(device) {}

  void add_array(const Array& array, const std::string& argument) {
    if (!array.is_valid() || array.bytes() == 0 || array.bytes() > kMaxBytes || !holds_ids(array.element())) return;
    Array here = array;
    if (!array.on_host() || !array.is_contiguous()) {
      here = Array::empty(array.element(), array.shape());
      here.assign(array);
    }
    const auto* at = static_cast<const char*>(here.data());
    for (std::int64_t i = 0; i < here.size(); ++i, at += here.element()->size()) add(here.element(), at, argument);
  }

  void add(const Type* type, const char* at, const std::string& argument) {
    if (type->is_struct())
      for (const Field& field : type->fields()) add(field.type, at + field.offset, argument);
    if (type->is_struct() || !holds_ids(type)) return;
    for (std::uint32_t k = 0; k < type->component_count(); ++k) {
      std::uint64_t id = 0;
      std::memcpy(&id, at + k * sizeof id, sizeof id);
      add_id(id, argument);
    }
  }

  std::vector<NamedObject> take() { return std::move(found_); }

 private:
  void add_id(std::uint64_t id, const std::string& argument) {
    if (id == 0 || id == last_) return;
    last_ = id;
    if (!seen_.insert(id).second) return;
    const geometry::FoundObject found = geometry::find_object(id);
    if (!found.object || found.object->device() != device_ || !asked(found.kind)) return;
    found_.push_back({found.object, found.kind, id, found.object->changes(), argument});
  }

  /// Whether the adjoint may ask an object by an id of this kind: kernels make the id of a mesh's tree from the mesh's.
  bool asked(HandleKind kind) const {
    const std::uint32_t tree = kind == HandleKind::mesh ? analysis::kind_bit(HandleKind::bvh) : 0;
    return (kinds_ & (analysis::kind_bit(kind) | tree)) != 0;
  }

  std::uint32_t kinds_;
  const cuda::Device* device_;
  std::uint64_t last_ = 0;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<NamedObject> found_;
};

/// The array of a descriptor in a launch's block.
Array array_at(const TapedLaunch& l, const autodiff::ArrayLeaf& leaf) {
  const auto& desc = *reinterpret_cast<const ArrayDesc*>(l.bytes() + leaf.offset);
  if (!desc.data) return {};
  Array::External memory;
  memory.data = desc.data;
  memory.strides = {desc.strides, std::size_t(desc.ndim)};
  memory.space = l.place.device;
  return Array::wrap(leaf.type->element(), {desc.shape, std::size_t(desc.ndim)}, std::move(memory));
}

std::string what_changes(HandleKind kind) {
  switch (kind) {
    case HandleKind::mesh: return "was refitted, built anew or given other points or velocities";
    case HandleKind::bvh: return "was refitted or built anew";
    case HandleKind::hash_grid: return "was built anew";
    case HandleKind::volume: return "was built anew or written to";
    case HandleKind::texture: break;
  }
  return "was given other texels";
}

}  // namespace

std::vector<NamedObject> objects_named_in_memory(const TapedLaunch& l) {
  const TapeFacts& facts = *l.facts;
  cuda::Device* device = l.place.device;
  if (!facts.named_kinds || !facts.problem.empty()) return {};
  if (device ? device->capture() != nullptr : runtime::recording() != nullptr) return {};
  if (device) StreamJoin(*device, l.place.gpu.stream).before_copies();
  Names names(facts.named_kinds, device);
  const std::vector<ParamLayout::Param>& params = l.signature->layout.params;
  for (std::size_t k = 0; k < facts.leaves.size(); ++k)
    if (facts.read[k]) names.add_array(array_at(l, facts.leaves[k]), params[facts.leaves[k].param].name);
  if (facts.read_elsewhere)
    for (std::size_t k = 0; k < l.held_in_structs; ++k) names.add_array(*l.held[k], "");
  // Arguments themselves, of which kernels may choose one. Those that are asked as they are have a stand-in (Handle).
  std::vector<char> block(l.bytes(), l.bytes() + l.signature->layout.size);
  for (const HandlePlace& place : facts.handles) std::memset(block.data() + place.offset, 0, sizeof(std::uint64_t));
  for (const ParamLayout::Param& param : params) names.add(param.type, block.data() + param.offset, param.name);
  return names.take();
}

void check_unchanged(std::span<const NamedObject> objects, const std::string& kernel) {
  for (const NamedObject& one : objects) {
    const std::shared_ptr<geometry::Object> object = one.object.lock();
    if (object && object->changes() == one.changes) continue;
    throw runtime::Error(
        "the backward pass of kernel '" + kernel + "' needs the " + std::string(handle_user_name(one.kind)) +
        " with id " + std::to_string(one.id) + " as it was, and it " +
        (object ? what_changes(one.kind) : "was deleted") + " since; the kernel found the id in " +
        (one.argument.empty() ? "memory" : "'" + one.argument + "'") +
        ", where nothing can stand in for it: pass the id as an argument of its own, or go back before "
        "the change");
  }
}

}  // namespace weft::driver
