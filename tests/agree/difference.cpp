// Comparing what two runs left: prints, errors and memory, scalar by scalar as the types say.
#include <cmath>
#include <cstdio>

#include "executors.h"
#include "ir/ir.h"

namespace weft::agree {
namespace {

std::string scalar_text_of(ScalarKind kind, std::uint64_t bits) {
  char text[80];
  if (kind >= ScalarKind::f16)
    std::snprintf(text, sizeof text, "%.17g (0x%llx)", ir::bits_to_float(kind, bits),
                  static_cast<unsigned long long>(bits));
  else
    std::snprintf(text, sizeof text, "%lld (0x%llx)", static_cast<long long>(bits),
                  static_cast<unsigned long long>(bits));
  return text;
}

/// Where two values of a type differ, as ".field[k]: a, not b"; empty if they are equal.
std::string value_difference(const Type* type, const std::byte* a, const std::byte* b, bool signed_zeros) {
  if (type->is_struct()) {
    for (const Field& f : type->fields())
      if (std::string text = value_difference(f.type, a + f.offset, b + f.offset, signed_zeros); !text.empty())
        return "." + std::string(f.name) + text;
    return {};
  }
  if (type->is_array()) {  // the memory moves between runs; what it looks like must not
    ArrayDesc x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    const bool same = x.ndim == y.ndim && std::memcmp(x.shape, y.shape, sizeof x.shape) == 0 &&
                      std::memcmp(x.strides, y.strides, sizeof x.strides) == 0 && !x.data == !y.data;
    return same ? "" : ": another array";
  }
  const ScalarKind kind = type->scalar_kind();
  const std::size_t size = types::scalar(kind)->size();
  for (std::uint32_t k = 0; k < type->component_count(); ++k) {
    std::uint64_t x = 0, y = 0;
    std::memcpy(&x, a + k * size, size);
    std::memcpy(&y, b + k * size, size);
    if (x == y) continue;
    if (kind >= ScalarKind::f16 && std::isnan(ir::bits_to_float(kind, x)) && std::isnan(ir::bits_to_float(kind, y)))
      continue;
    if (!signed_zeros && kind >= ScalarKind::f16 && ir::bits_to_float(kind, x) == 0 && ir::bits_to_float(kind, y) == 0)
      continue;
    return "[" + std::to_string(k) + "]: " + scalar_text_of(kind, y) + ", not " + scalar_text_of(kind, x);
  }
  return {};
}

}  // namespace

std::string first_difference(const Case& kernel_case, const Outcome& expected, const Outcome& actual,
                             bool signed_zeros) {
  if (expected.error != actual.error) return "error '" + actual.error + "', not '" + expected.error + "'";
  if (!expected.error.empty()) return {};  // a launch that failed stops where it is
  if (expected.printed != actual.printed) return "printed\n" + actual.printed + "not\n" + expected.printed;
  for (std::size_t i = 0; i < expected.memory.size(); ++i) {
    const Buffer &x = expected.memory[i], &y = actual.memory[i];
    const std::size_t payload = std::size_t(x.count) * x.element->size();
    for (std::size_t k = payload; k < x.bytes.size(); ++k)
      if (x.bytes[k] != kernel_case.buffers()[i].bytes[k] || y.bytes[k] != kernel_case.buffers()[i].bytes[k])
        return "memory behind buffer " + std::to_string(i) + " was written, byte " + std::to_string(k - payload);
    if (!x.compared || std::memcmp(x.bytes.data(), y.bytes.data(), payload) == 0) continue;
    for (std::int64_t n = 0; n < x.count; ++n) {
      const std::size_t offset = std::size_t(n) * x.element->size();
      std::string text = value_difference(x.element, x.bytes.data() + offset, y.bytes.data() + offset, signed_zeros);
      if (!text.empty())
        return "buffer " + std::to_string(i) + " (" + x.element->user_name() + "), element " + std::to_string(n) + text;
    }
  }
  return {};
}

}  // namespace weft::agree
