// Packing without strings, allocation or bookkeeping.
#include "driver/pack_plain.h"

#include <bit>
#include <cstring>

#include "driver/program_impl.h"

namespace weft::driver {
namespace {

/// The low bytes of an integer argument, if the parameter's type holds its value.
bool pack_integer(const Type* type, const Argument& arg, char* to) {
  static_assert(std::endian::native == std::endian::little, "the low bytes of an integer come first");
  const std::uint32_t bits = scalar_bits(type->scalar_kind());
  const bool negative = arg.kind() == Argument::Kind::integer && arg.integer() < 0;
  const auto magnitude = std::uint64_t(arg.integer());
  if (negative) {
    if (!type->is_signed_int() || arg.integer() < -(std::int64_t(1) << (bits - 2)) * 2) return false;
  } else {
    const std::uint32_t value_bits = type->is_signed_int() ? bits - 1 : bits;
    if (value_bits < 64 && magnitude >> value_bits) return false;
  }
  std::memcpy(to, &magnitude, bits / 8);
  return true;
}

bool pack_one(const Type* type, const Argument& arg, char* to) {
  switch (arg.kind()) {
    case Argument::Kind::array: {
      if (!arg.array().is_valid()) return false;
      const runtime::Array& array = arg.array().internal()->array;
      if (!type->is_array() || type->element() != array.element() || int(type->rank()) != array.rank()) return false;
      std::memcpy(to, &array.desc(), sizeof(ArrayDesc));
      return true;
    }
    case Argument::Kind::real: {
      if (!type->is_float()) return false;
      if (type->scalar_kind() == ScalarKind::f64) {
        const double value = arg.real();
        std::memcpy(to, &value, sizeof value);
        return true;
      }
      if (type->scalar_kind() != ScalarKind::f32) return false;
      const auto value = float(arg.real());
      std::memcpy(to, &value, sizeof value);
      return true;
    }
    case Argument::Kind::integer:
    case Argument::Kind::unsigned_integer: return type->is_int() && pack_integer(type, arg, to);
    case Argument::Kind::boolean: {
      if (!type->is_bool()) return false;
      *to = char(arg.integer() != 0);
      return true;
    }
    case Argument::Kind::bytes: {
      if (arg.type() != type) return false;
      std::memcpy(to, arg.bytes(), type->size());
      return true;
    }
  }
  return false;
}

}  // namespace

bool pack_plain(const ParamLayout& layout, std::span<const Argument> args, void* block) {
  if (args.size() != layout.params.size()) return false;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (!pack_one(layout.params[i].type, args[i], static_cast<char*>(block) + layout.params[i].offset)) return false;
  return true;
}

}  // namespace weft::driver
