// Kernel text in, modules, values and messages out: what the front end's tests share.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "interp/interpreter.h"
#include "ir/ir.h"
#include "sema/file_scope.h"
#include "sema/sema.h"
#include "support/diagnostic.h"

namespace weft::testing {

/// A file as far as its module level. "import warp as wp" is put before the text (line 1).
struct File {
  explicit File(const std::string& text);
  /// The module of a kernel, verified; null with errors in `sink`.
  std::unique_ptr<ir::Module> lower(std::string_view kernel = "k", std::vector<const Type*> types = {},
                                    sema::Options options = {});
  /// As above, and it must succeed.
  std::unique_ptr<ir::Module> must_lower(std::string_view kernel = "k", std::vector<const Type*> types = {},
                                         sema::Options options = {});
  std::optional<sema::Symbol> symbol(std::string_view name) { return scope->lookup(name); }

  DiagnosticSink sink;
  std::shared_ptr<sema::FileScope> scope;
};

/// The messages as "line:col code", in order.
std::string messages(const DiagnosticSink& sink);
/// "line:col code" of the errors of kernel `k` in this text.
std::string errors_of(const std::string& text);
/// A function of the module by name; fails the test and gives the last one if there is none.
const ir::Function& function(const ir::Module& module, std::string_view name);
/// Operations of a kind in a function, nested ones included.
std::size_t count(const ir::Function& function, ir::OpCode code);
/// All operations of a module.
std::size_t size_of(const ir::Module& module);
/// Function declaration from text, with its names looked up in `scope`.
std::shared_ptr<sema::FunctionDecl> declare(const std::string& text, std::shared_ptr<sema::Scope> scope);

template <class T>
interp::Datum datum(const Type* type, const T& value) {
  interp::Datum d{type, std::vector<std::byte>(sizeof value)};
  std::memcpy(d.bytes.data(), &value, sizeof value);
  return d;
}
inline interp::Datum datum(float v) { return datum(types::f32(), v); }
inline interp::Datum datum(double v) { return datum(types::f64(), v); }
inline interp::Datum datum(std::int32_t v) { return datum(types::i32(), v); }
inline interp::Datum datum(std::uint32_t v) { return datum(types::u32(), v); }

template <class T>
T as(const interp::Datum& d) {
  T value{};
  EXPECT_EQ(d.bytes.size(), sizeof value);
  std::memcpy(&value, d.bytes.data(), std::min(sizeof value, d.bytes.size()));
  return value;
}

/// Calls the function `f` of a text whose kernel `k` calls it too.
std::vector<interp::Datum> call(const std::string& text, std::vector<interp::Datum> args);

}  // namespace weft::testing
