// Types as the C++ of native functions writes them. Structs are defined where they are first named; those of the library
// stand in namespace wp, and answer to the name with small letters as well (MeshQueryPoint: mesh_query_point_t).
#pragma once
#include <map>
#include <string>

#include "types/type.h"

namespace weft::sema {

class CppTypes {
 public:
  /// Empty if the type has no form in C++.
  std::string name(const Type* type);
  /// Definitions of the structs that were named so far.
  const std::string& definitions() const { return definitions_; }

 private:
  std::string structure(const Type* type);

  std::map<const Type*, std::string> structures_;
  std::string definitions_;
};

}  // namespace weft::sema
