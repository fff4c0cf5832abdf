// Tests on IR text: what goes in, what must come out. Names do not matter: both sides are compared in canonical form.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "ir/text.h"
#include "ir/verify.h"

namespace weft::testing {

inline std::unique_ptr<ir::Module> parse_ir(const std::string& text) {
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  if (!module) {
    ADD_FAILURE() << sink.render_all() << text.substr(0, 2000);
    return std::make_unique<ir::Module>();
  }
  std::string problems = ir::verify(*module);
  EXPECT_EQ(problems, "") << text;
  return module;
}

inline std::string canonical(const ir::Module& module) { return ir::print(module, {.names = false}); }

/// The pass turns `before` into `after`, and leaves it so when run again.
inline void expect_rewrite(const std::function<void(ir::Module&)>& pass, const std::string& before,
                           const std::string& after) {
  auto module = parse_ir(before);
  auto expected = parse_ir(after);
  pass(*module);
  EXPECT_EQ(ir::verify(*module), "");
  EXPECT_EQ(canonical(*module), canonical(*expected));
  pass(*module);
  EXPECT_EQ(canonical(*module), canonical(*expected)) << "when run again";
}

/// A kernel with the usual parameters around the given lines, for tests of expressions.
inline std::string in_kernel(const std::string& lines, const std::string& form = "form(no_overlap, rank 1)") {
  return "kernel @k(%x: array<f32,1>, %y: array<f32,1>, %n: array<i32,1>, %m: array<i32,2>, %a: f32, %b: f32, %i: i32, "
         "%j: i32, %c: bool) " +
         form + " {\n" + lines + "\nreturn\n}\n";
}

}  // namespace weft::testing
