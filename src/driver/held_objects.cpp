// Looking up the objects of a launch, with messages for what is none.
#include "driver/held_objects.h"

#include <algorithm>
#include <cstring>

#include "analysis/handles.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

using geometry::FoundObject;
using geometry::Object;

std::string with_article(HandleKind kind) { return "a " + std::string(handle_user_name(kind)); }

[[noreturn]] void refuse(const HandlePlace& place, std::uint64_t id, const FoundObject& found,
                         const cuda::Device* device, const std::string& kernel) {
  const std::string start = "kernel '" + kernel + "', argument '" + place.name + "': ";
  const std::string here = device ? device->name() : "cpu";
  if (const std::string fault = fault_of_id(place.kind, id, found); !fault.empty())
    throw runtime::ArgumentError(start + fault);
  throw runtime::ArgumentError(start + "the " + std::string(handle_user_name(place.kind)) + " lies on " +
                               found.object->place() + ", the launch is on " + here +
                               ": make one from arrays on that device");
}

}  // namespace

std::string fault_of_id(HandleKind kind, std::uint64_t id, const FoundObject& found) {
  if (!found.object)
    return std::to_string(id) + " is the id of no " + std::string(handle_user_name(kind)) +
           (found.dead ? ": the object that had it was deleted (keep a reference to it while kernels use its id)"
                       : ": pass the object, or its .id");
  if (found.kind != kind) return "this is the id of " + with_article(found.kind) + ", not of " + with_article(kind);
  return "";
}

std::vector<HandlePlace> handle_places(const ir::Function& kernel) {
  std::vector<HandlePlace> places;
  const std::vector<analysis::HandleArgument> arguments = analysis::handle_arguments(kernel);
  if (arguments.empty()) return places;
  ParamLayout layout;
  for (const ir::Value* param : kernel.params()) layout.add(std::string(param->name), param->type);
  for (const analysis::HandleArgument& a : arguments)
    places.push_back({layout.params[a.param].offset + a.offset, a.kind, a.name, a.winding, a.written});
  for (HandlePlace& place : places)  // a texture is a struct, of which programs need not know
    if (place.kind == HandleKind::texture && place.name.ends_with(".id")) place.name.resize(place.name.size() - 3);
  return places;
}

std::vector<std::shared_ptr<Object>> objects_in(std::span<const HandlePlace> places, const void* block,
                                                const cuda::Device* device, const std::string& kernel) {
  std::vector<std::shared_ptr<Object>> objects;
  for (const HandlePlace& place : places) {
    std::uint64_t id = 0;
    std::memcpy(&id, static_cast<const char*>(block) + place.offset, sizeof id);
    if (id == 0) continue;
    FoundObject found = geometry::find_object(id);
    if (!found.object || found.kind != place.kind || found.object->device() != device)
      refuse(place, id, found, device, kernel);
    if (std::find(objects.begin(), objects.end(), found.object) == objects.end())
      objects.push_back(std::move(found.object));
  }
  return objects;
}

std::vector<std::string> warnings_of(std::span<const HandlePlace> places, const void* block) {
  std::vector<std::string> warnings;
  for (const HandlePlace& place : places) {
    if (!place.winding) continue;
    std::uint64_t id = 0;
    std::memcpy(&id, static_cast<const char*>(block) + place.offset, sizeof id);
    const std::shared_ptr<Object> object = id ? geometry::find_object(id).object : nullptr;
    if (object && object->first_without_winding())
      warnings.push_back("a query asks the Mesh with id " + std::to_string(id) +
                         " for winding numbers, which it was not made for: the side is found by rays instead (make it "
                         "with support_winding_number=True)");
  }
  return warnings;
}

namespace {

void add_memory(const Type* type, const char* at, std::vector<runtime::ByteRange>& out) {
  if (type->is_struct())
    for (const Field& field : type->fields()) add_memory(field.type, at + field.offset, out);
  if (type != types::u64()) return;
  std::uint64_t id = 0;
  std::memcpy(&id, at, sizeof id);
  if (id == 0) return;
  if (const std::shared_ptr<Object> object = geometry::find_object(id).object)
    for (const runtime::Array* array : object->arrays())
      if (array->is_valid()) out.push_back(array->range());
}

}  // namespace

std::vector<runtime::ByteRange> memory_of_objects(const ParamLayout& layout, const void* block) {
  std::vector<runtime::ByteRange> out;
  for (const ParamLayout::Param& param : layout.params)
    add_memory(param.type, static_cast<const char*>(block) + param.offset, out);
  return out;
}

HeldObjects::HeldObjects(std::vector<std::shared_ptr<Object>> objects) : objects_(std::move(objects)) {
  // One order for all launches.
  std::sort(objects_.begin(), objects_.end());
  for (const std::shared_ptr<Object>& object : objects_)
    if (!object->device()) locks_.emplace_back(object->in_use());
}

}  // namespace weft::driver
