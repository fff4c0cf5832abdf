// Argument packing: finding the place, checking the value, writing its bytes.
#include "runtime/params.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "runtime/half.h"
#include "support/check.h"

namespace weft::runtime {
namespace {

struct IntegerRange {
  std::int64_t low;
  std::uint64_t high;
};

IntegerRange range_of(const Type* type) {
  const std::uint32_t bits = scalar_bits(type->scalar_kind());
  if (type->is_signed_int()) {
    const std::uint64_t high = (std::uint64_t(1) << (bits - 1)) - 1;
    return {-std::int64_t(high) - 1, high};
  }
  return {0, bits == 64 ? UINT64_MAX : (std::uint64_t(1) << bits) - 1};
}

std::string float_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// "array" reads "an array…", "float32" reads "a float32".
std::string with_article(const std::string& name) {
  const bool vowel = !name.empty() && std::string_view("aeio").find(name[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + name;
}

}  // namespace

std::string describe(const Array& array) { return array.is_valid() ? array.type()->user_name() : "null array"; }

ParamBlock::ParamBlock(std::string kernel_name, const ParamLayout& layout)
    : kernel_(std::move(kernel_name)), layout_(&layout), storage_((layout.size + 7) / 8, 0), written_(layout.size) {
  WEFT_CHECK(layout.align <= alignof(std::uint64_t));
}

ParamBlock::Slot ParamBlock::find(std::size_t index) const {
  if (index >= layout_->params.size())
    throw ArgumentError("kernel '" + kernel_ + "' has " + std::to_string(layout_->params.size()) +
                        " parameters, there is no parameter " + std::to_string(index) +
                        " (the first one is parameter 0)");
  const ParamLayout::Param& param = layout_->params[index];
  return {param.name, param.type, param.offset};
}

ParamBlock::Slot ParamBlock::find(std::string_view path) const {
  const auto names = [](const auto& list) {
    std::string text;
    for (const auto& entry : list) text += (text.empty() ? "'" : ", '") + std::string(entry.name) + "'";
    return text.empty() ? std::string("it has none") : "it has " + text;
  };
  std::size_t dot = path.find('.');
  const std::string_view head = path.substr(0, dot);
  const auto param = std::find_if(layout_->params.begin(), layout_->params.end(),
                                  [&](const ParamLayout::Param& p) { return p.name == head; });
  if (param == layout_->params.end())
    throw ArgumentError("kernel '" + kernel_ + "' has no parameter '" + std::string(head) +
                        "': " + names(layout_->params));
  Slot slot{std::string(path), param->type, param->offset};
  while (dot != std::string_view::npos) {
    const std::string_view before = path.substr(0, dot);
    const std::size_t next = path.find('.', dot + 1);
    const std::string_view name = path.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1);
    if (!slot.type->is_struct())
      throw ArgumentError("kernel '" + kernel_ + "': '" + std::string(before) + "' is " +
                          with_article(slot.type->user_name()) + " and has no field '" + std::string(name) +
                          "': only structs have fields");
    const int field = slot.type->field_index(name);
    if (field < 0)
      throw ArgumentError("kernel '" + kernel_ + "': struct " + slot.type->user_name() + " of '" + std::string(before) +
                          "' has no field '" + std::string(name) + "': " + names(slot.type->fields()));
    slot.offset += slot.type->fields()[std::size_t(field)].offset;
    slot.type = slot.type->fields()[std::size_t(field)].type;
    dot = next;
  }
  return slot;
}

void ParamBlock::fail(const Slot& slot, const std::string& given, const std::string& cure) const {
  throw ArgumentError("kernel '" + kernel_ + "': parameter '" + slot.path + "' expects " +
                      with_article(slot.type->user_name()) + ", got " + given + (cure.empty() ? "" : ": " + cure));
}

void ParamBlock::write(const Slot& slot, const void* source) {
  const std::uint32_t size = slot.type->size();
  std::memcpy(bytes() + slot.offset, source, size);
  std::fill_n(written_.begin() + slot.offset, size, true);
  std::erase_if(held_, [&](const Held& h) { return h.offset >= slot.offset && h.offset < slot.offset + size; });
}

void ParamBlock::set_bool(const Slot& slot, bool value) {
  if (!slot.type->is_bool())
    fail(slot, std::string("the bool ") + (value ? "true" : "false"), slot.type->is_scalar() ? "convert it first" : "");
  const std::uint8_t byte = value;
  write(slot, &byte);
}

void ParamBlock::set_signed(const Slot& slot, std::int64_t value) {
  set_integer(slot, value < 0, std::uint64_t(value));
}

void ParamBlock::set_unsigned(const Slot& slot, std::uint64_t value) { set_integer(slot, false, value); }

void ParamBlock::set_integer(const Slot& slot, bool negative, std::uint64_t bits) {
  const std::string given = "the integer " + (negative ? std::to_string(std::int64_t(bits)) : std::to_string(bits));
  if (slot.type->is_bool()) {
    if (negative || bits > 1) fail(slot, given, "pass true or false");
    return set_bool(slot, bits != 0);
  }
  if (slot.type->is_float()) {
    if (slot.type->scalar_kind() != ScalarKind::f32)
      return set_float(slot, negative ? double(std::int64_t(bits)) : double(bits));
    const float value = negative ? float(std::int64_t(bits)) : float(bits);
    return write(slot, &value);
  }
  if (!slot.type->is_int()) fail(slot, given, slot.type->is_array() ? "pass an array" : "");
  const IntegerRange range = range_of(slot.type);
  if (negative ? std::int64_t(bits) < range.low : bits > range.high)
    fail(slot, given, "it must lie in " + std::to_string(range.low) + " to " + std::to_string(range.high));
  static_assert(std::endian::native == std::endian::little, "the low bytes of an integer come first");
  write(slot, &bits);
}

void ParamBlock::set_float(const Slot& slot, double value) {
  if (!slot.type->is_float())
    fail(slot, "the float " + float_text(value),
         slot.type->is_int() || slot.type->is_bool() ? "convert it to an integer first" : "");
  switch (slot.type->scalar_kind()) {
    case ScalarKind::f16: {
      const std::uint16_t half = f16_from_double(value);
      return write(slot, &half);
    }
    case ScalarKind::bf16: {
      const std::uint16_t half = bf16_from_double(value);
      return write(slot, &half);
    }
    case ScalarKind::f32: {
      const float single = float(value);
      return write(slot, &single);
    }
    default: return write(slot, &value);
  }
}

void ParamBlock::set_array(const Slot& slot, const Array& array) {
  if (slot.type->is_indexed_array()) {  // seen through no index array
    for (const Field& field : slot.type->fields())
      set_array({slot.path + "." + std::string(field.name), field.type, slot.offset + field.offset},
                field.offset == 0 ? array : Array());
    return;
  }
  if (!slot.type->is_array())
    fail(slot, describe(array) == "null array" ? "a null array" : with_article(describe(array)),
         "this parameter is not an array");
  const auto rank = std::int32_t(slot.type->rank());
  if (!array.is_valid()) {
    ArrayDesc null;
    null.ndim = rank;
    return write(slot, &null);
  }
  if (array.element() != slot.type->element() || array.rank() != rank) {
    std::string cure;
    if (array.element() != slot.type->element()) {
      cure = "make the array with element type " + slot.type->element()->user_name();
      if (array.rank() != rank) cure += " and ";
    }
    if (array.rank() != rank)
      cure += std::string(cure.empty() ? "pass an array of " : "of ") + std::to_string(rank) +
              (rank == 1 ? " dimension" : " dimensions") + ", e.g. by reshaping it";
    fail(slot, with_article(describe(array)), cure);
  }
  write(slot, &array.desc());
  held_.push_back({slot.offset, array});
}

void ParamBlock::set_bytes(const Slot& slot, const Type* type, const void* source) {
  if (type != slot.type)
    fail(slot, with_article(type->user_name()),
         slot.type->is_struct() && type->is_struct() && slot.type->name() == type->name()
             ? "the two structs of this name have different fields"
             : "pass a value of exactly that type");
  write(slot, source);
}

void ParamBlock::find_missing(const Type* type, std::uint32_t offset, const std::string& path,
                              std::vector<std::string>& missing) const {
  if (type->is_struct()) {
    for (const Field& field : type->fields())
      find_missing(field.type, offset + field.offset, path + "." + std::string(field.name), missing);
  } else if (type->size() > 0 && !written_[offset]) {
    missing.push_back("'" + path + "' (" + type->user_name() + ")");
  }
}

void ParamBlock::check_complete() const {
  std::vector<std::string> missing;
  for (const ParamLayout::Param& param : layout_->params) {
    std::vector<std::string> inside;
    find_missing(param.type, param.offset, param.name, inside);
    // A struct of which nothing was set is one missing parameter, not as many as it has fields.
    const bool untouched = std::none_of(written_.begin() + param.offset,
                                        written_.begin() + param.offset + param.type->size(), [](bool w) { return w; });
    if (!inside.empty() && untouched) inside = {"'" + param.name + "' (" + param.type->user_name() + ")"};
    missing.insert(missing.end(), inside.begin(), inside.end());
  }
  if (missing.empty()) return;
  std::string text = "kernel '" + kernel_ + "': ";
  for (std::size_t i = 0; i < missing.size(); ++i)
    text += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + missing[i];
  throw ArgumentError(text + (missing.size() == 1 ? " has" : " have") +
                      " not been set: every parameter needs a value before a launch");
}

}  // namespace weft::runtime
