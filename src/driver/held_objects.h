// Ids among a launch's arguments: each is looked up before anything runs, so that a wrong, deleted or foreign one is an
// error that names the argument, and the object lives and keeps still as long as the launch needs it.
#pragma once
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "geometry/object.h"
#include "ir/ir.h"
#include "types/handle.h"

namespace weft::driver {

/// Where in the parameter block of a form an id lies, and what it must be of.
struct HandlePlace {
  std::uint32_t offset = 0;
  HandleKind kind = HandleKind::mesh;
  std::string name;      // of the argument
  bool winding = false;  // it should be of a mesh with moments for winding numbers
  bool written = false;  // the kernel writes to what it finds there
};

/// Those of a kernel's form, by its own parameters.
std::vector<HandlePlace> handle_places(const ir::Function& kernel);

/// What is wrong with an id that was looked up for an object of this kind; empty if nothing is.
std::string fault_of_id(HandleKind kind, std::uint64_t id, const geometry::FoundObject& found);

/// The objects whose ids lie in the block, each once; an id of 0 is nobody's. A null device is the CPU. Throws
/// ArgumentError for other numbers.
std::vector<std::shared_ptr<geometry::Object>> objects_in(std::span<const HandlePlace> places, const void* block,
                                                          const cuda::Device* device, const std::string& kernel);

/// What is to be said of objects whose ids lie in the block, each time that somebody asks for the first time: meshes that
/// are asked for winding numbers without being made for them.
std::vector<std::string> warnings_of(std::span<const HandlePlace> places, const void* block);

/// The memory of all arrays of objects whose ids may be among a block's numbers, whatever its kernel does with them.
std::vector<runtime::ByteRange> memory_of_objects(const ParamLayout& layout, const void* block);

/// Objects of a launch on the CPU while it runs: whoever changes them waits.
class HeldObjects {
 public:
  explicit HeldObjects(std::vector<std::shared_ptr<geometry::Object>> objects);

 private:
  std::vector<std::shared_ptr<geometry::Object>> objects_;
  std::vector<std::shared_lock<std::shared_mutex>> locks_;  // released before the objects
};

}  // namespace weft::driver
