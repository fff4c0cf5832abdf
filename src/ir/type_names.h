// Types as the text form writes them: structs by a name that is unique in the text, with their declarations collected
// on the way. Two structs that share a name are told apart by a suffix (%Name, %Name.1).
#pragma once
#include <string>
#include <unordered_map>

#include "types/type.h"

namespace weft::ir {

class TypeNames {
 public:
  /// The type's text; structs met for the first time get a name and a declaration.
  std::string text(const Type* type);
  /// "struct %P { x: vec<f32,3>, mass: f32 }" lines, inner structs first.
  const std::string& declarations() const { return declarations_; }

 private:
  const std::string& struct_name(const Type* type);

  std::unordered_map<const Type*, std::string> names_;
  std::unordered_map<std::string, int> next_suffix_;  // by name as written
  std::string declarations_;
};

}  // namespace weft::ir
