// IR text in, values out: what the interpreter's tests share.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "interp/interpreter.h"
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
  EXPECT_EQ(ir::verify(*module), "") << text.substr(0, 2000);
  return module;
}

template <class T>
interp::Datum datum(const Type* type, const T& value) {
  interp::Datum d{type, std::vector<std::byte>(sizeof value)};
  std::memcpy(d.bytes.data(), &value, sizeof value);
  return d;
}
inline interp::Datum datum(float v) { return datum(types::f32(), v); }
inline interp::Datum datum(std::int32_t v) { return datum(types::i32(), v); }
inline interp::Datum datum(std::int64_t v) { return datum(types::i64(), v); }

template <class T>
T as(const interp::Datum& d) {
  T value{};
  EXPECT_EQ(d.bytes.size(), sizeof value);
  std::memcpy(&value, d.bytes.data(), std::min(sizeof value, d.bytes.size()));
  return value;
}

template <class T>
ArrayDesc describe(std::vector<T>& data, std::vector<std::int64_t> shape = {}) {
  ArrayDesc desc;
  desc.data = data.data();
  if (shape.empty()) shape = {std::int64_t(data.size())};
  desc.ndim = std::int32_t(shape.size());
  std::int64_t stride = sizeof(T);
  for (std::size_t k = shape.size(); k-- > 0;) {
    desc.shape[k] = shape[k];
    desc.strides[k] = stride;
    stride *= shape[k];
  }
  return desc;
}

/// Calls the module's last function.
inline std::vector<interp::Datum> call(const std::string& text, std::vector<interp::Datum> args,
                                       const interp::Limits& limits = {.max_steps = 1000000}) {
  auto module = parse_ir(text);
  if (module->functions.empty()) return {};
  return interp::call(*module->functions.back(), args, limits);
}

}  // namespace weft::testing
