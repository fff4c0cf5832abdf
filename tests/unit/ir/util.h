// What the IR's tests share: parsing that must succeed or fail, and short ways to types.
#pragma once
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace weft::ir {

inline std::unique_ptr<Module> parsed(const std::string& text) {
  DiagnosticSink sink;
  auto module = parse_module(std::make_shared<SourceFile>("test.ir", text), sink);
  EXPECT_TRUE(module != nullptr) << sink.render_all() << text;
  return module;
}

/// The diagnostics of a text that must not parse.
inline std::string parse_error(const std::string& text) {
  DiagnosticSink sink;
  auto module = parse_module(std::make_shared<SourceFile>("test.ir", text), sink);
  EXPECT_TRUE(module == nullptr) << text;
  EXPECT_TRUE(sink.has_errors()) << text;
  return sink.render_all();
}

/// A kernel with one of each kind of parameter and these lines as its body.
inline std::string kernel_text(const std::string& lines) {
  return "struct %P { x: vec<f32,3>, mass: f32, n: i32 }\n"
         "struct %Q { p: %P, a: array<f32,1> }\n"
         "func @two(%a: f32, %b: i32) -> (f32, i32) {\n  return %a, %b\n}\n"
         "func @none() {\n  return\n}\n"
         "kernel @k(%f: f32, %g: f32, %d: f64, %h: f16, %i: i32, %j: i32, %l: i64, %u: u32, %ul: u64, %b: bool, "
         "%v: vec<f32,3>, %w: vec<i32,3>, %m: mat<f32,2,3>, %q: quat<f32>, %t: transform<f32>, %p: %P, %s: %Q, "
         "%a: array<f32,1>, %a2: array<i32,2>, %ap: array<%P,1>, %av: array<vec<f32,3>,1>, %am: array<mat<f32,2,2>,1>, "
         "%tu: tuple<f32,i32>) form(rank 1) {\n" +
         lines + "\n  return\n}\n";
}

inline const Type* f16() { return types::scalar(ScalarKind::f16); }
inline const Type* vec3() { return types::vec(types::f32(), 3); }

}  // namespace weft::ir
