// Which arguments of a kernel are ids of objects: numbers that reach a `handle`, by themselves or as a field of a struct,
// through calls too. Ids that come out of memory or out of arithmetic are not among them.
#pragma once
#include <string>
#include <vector>

#include "ir/ir.h"
#include "types/handle.h"

namespace weft::analysis {

struct HandleArgument {
  std::uint32_t param = 0;   // which parameter
  std::uint32_t offset = 0;  // bytes from its start
  HandleKind kind = HandleKind::mesh;
  std::string name;      // "mesh", or "scene.mesh" for a field
  bool winding = false;  // some query wants winding numbers
  bool written = false;  // the kernel writes to what it finds there
  bool operator==(const HandleArgument&) const = default;
};

/// Those of a kernel, each once for each kind, by place.
std::vector<HandleArgument> handle_arguments(const ir::Function& kernel);
/// Whether every id that a function itself uses is among its parameters; what it calls does not count.
bool all_ids_are_arguments(const ir::Function& function);
/// The kinds of objects that a function, or what it calls, reaches by other ids than its parameters: a bit for each.
std::uint32_t kinds_elsewhere(const ir::Function& function);
constexpr std::uint32_t kind_bit(HandleKind kind) { return 1u << unsigned(kind); }

}  // namespace weft::analysis
