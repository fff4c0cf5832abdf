// Constants of the front end to bytes of a parameter block.
#include "driver/default_argument.h"

#include <cstring>

#include "ir/ir.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

bool fits(const Type* type, const sema::Constant& value) {
  const std::uint32_t bits = scalar_bits(type->scalar_kind());
  if (value.negative) return type->is_signed_int() && value.magnitude <= std::uint64_t(1) << (bits - 1);
  const std::uint32_t value_bits = type->is_signed_int() ? bits - 1 : bits;
  return value_bits >= 64 || value.magnitude >> value_bits == 0;
}

}  // namespace

void write_default(std::string_view kernel, const sema::KernelParam& param, const Type* type, void* to) {
  const sema::Constant& value = param.default_value;
  switch (value.form) {
    case sema::Constant::Form::integer: {
      std::uint64_t bits = 0;
      if (type->is_float()) {
        const auto magnitude = double(value.magnitude);
        bits = ir::float_to_bits(type->scalar_kind(), value.negative ? -magnitude : magnitude);
      } else {
        if (!fits(type, value))
          throw runtime::ArgumentError("kernel '" + std::string(kernel) + "': the default value of '" + param.name +
                                       "' does not fit " + type->user_name() + "; change it or the annotation");
        const auto magnitude = std::int64_t(value.magnitude);
        bits = ir::int_to_bits(type->scalar_kind(), value.negative ? std::int64_t(0 - value.magnitude) : magnitude);
      }
      std::memcpy(to, &bits, type->size());
      return;
    }
    case sema::Constant::Form::real: {
      const std::uint64_t bits = ir::float_to_bits(type->scalar_kind(), value.real);
      std::memcpy(to, &bits, type->size());
      return;
    }
    case sema::Constant::Form::typed: {
      auto* at = static_cast<char*>(to);
      std::size_t next = 0;
      auto walk = [&](auto& self, const Type* t, std::size_t offset) -> void {
        if (t->is_scalar()) {
          if (next < value.bits.size()) std::memcpy(at + offset, &value.bits[next++], t->size());
        } else if (t->is_composite()) {
          for (std::uint32_t k = 0; k < t->component_count(); ++k)
            self(self, t->element(), offset + k * t->element()->size());
        } else if (t->is_struct()) {
          for (const Field& f : t->fields()) self(self, f.type, offset + f.offset);
        }
      };
      std::memset(to, 0, type->size());
      walk(walk, type, 0);
      return;
    }
    case sema::Constant::Form::text: return;  // the front end takes no text for a default
  }
}

}  // namespace weft::driver
