// Objects whose ids a recorded launch found in memory. When somebody goes back nothing can stand in for them, as another
// object does where the id is an argument: they must be as they were.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "geometry/object.h"

namespace weft::driver {

struct TapedLaunch;

struct NamedObject {
  std::weak_ptr<geometry::Object> object;
  HandleKind kind = HandleKind::mesh;  // what the id stands for
  std::uint64_t id = 0;
  std::uint64_t changes = 0;  // Object::changes() when the launch ran
  std::string argument;       // where the id was found; empty: in an array that lies in a struct in memory
};

/// Those of a launch that has run and whose adjoint asks objects that it knows by no argument; empty for all others, and while
/// a graph is captured, which would have to be waited for. Reads what the launch was given: on a GPU it waits for it.
std::vector<NamedObject> objects_named_in_memory(const TapedLaunch& launch);

/// Throws if one of them was changed since, or is gone.
void check_unchanged(std::span<const NamedObject> objects, const std::string& kernel);

}  // namespace weft::driver
