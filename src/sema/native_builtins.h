// Builtins that the C++ of a native function calls: wp::mesh_query_point(…) and all others that the table has for numbers,
// vectors, matrices and structs. For each overload there is a function of the module that calls the builtin, a declaration
// in C++ that passes addresses to it, and a call in the native function's body, which keeps it in the module.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "sema/cpp_types.h"
#include "sema/lowering.h"

namespace weft::sema {

class NativeBuiltins {
 public:
  NativeBuiltins(ModuleLowering& module, CppTypes& types) : module_(module), types_(types) {}

  /// Looks for names of builtins that the prelude does not have; false after errors, which were reported.
  bool find(std::string_view snippet);
  /// What the snippet needs in front of it.
  const std::string& declarations() const { return text_; }
  /// The parameters of the entry: where builtins are called, those by which they know their thread come first.
  std::string parameters(const std::string& own) const;
  /// One call for each function, in the order of their numbers in C++. They never run: code generation finds by them what
  /// `weft_use_0`… are.
  void write_calls(ir::Builder& builder) const;

 private:
  bool add(const builtins::Row& row, bool only_rotations);
  bool add(const builtins::Row& row, const std::vector<const Type*>& args);
  void declare(const builtins::Row& row, const std::vector<const Type*>& args, const Instance& instance);

  ModuleLowering& module_;
  CppTypes& types_;
  std::string text_;
  std::vector<ir::Function*> functions_;
  std::set<std::string> signatures_;
};

}  // namespace weft::sema
