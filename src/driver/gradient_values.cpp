// A packed copy on the host; where each element has its numbers.
#include "driver/gradient_values.h"

#include <cstring>

#include "runtime/command_list.h"
#include "runtime/half.h"

namespace weft::driver {
namespace {

std::size_t bytes_of(ScalarKind kind) { return types::scalar(kind)->size(); }

}  // namespace

GradientValues::GradientValues(const runtime::Array& array) {
  const runtime::Array gradient = array.grad();
  if (runtime::awaits_recorded_work(gradient.range())) runtime::refuse_while_recording("read a gradient");
  const runtime::RecordingPaused now;
  values_ = runtime::Array::empty(gradient.element(), gradient.shape());
  values_.assign(gradient);
  list_numbers(gradient.element(), 0, numbers_);
}

void GradientValues::list_numbers(const Type* type, std::size_t offset, std::vector<Number>& out) {
  if (type->is_struct())
    for (const Field& f : type->fields()) list_numbers(f.type, offset + f.offset, out);
  if (!type->is_numeric() || type->scalar_kind() < ScalarKind::f16) return;
  const std::size_t count = type->is_scalar() ? 1 : type->component_count();
  for (std::size_t k = 0; k < count; ++k)
    out.push_back({offset + k * bytes_of(type->scalar_kind()), type->scalar_kind()});
}

char* GradientValues::at(std::size_t index) const {
  return static_cast<char*>(values_.data()) + index / components() * values_.element()->size() + number(index).offset;
}

double GradientValues::value(std::size_t index) const {
  auto read = [&](auto value) {
    std::memcpy(&value, at(index), sizeof value);
    return value;
  };
  switch (number(index).kind) {
    case ScalarKind::f16: return runtime::f16_to_float(read(std::uint16_t()));
    case ScalarKind::bf16: return runtime::bf16_to_float(read(std::uint16_t()));
    case ScalarKind::f32: return read(float());
    default: return read(double());
  }
}

bool GradientValues::negative(std::size_t index) const {
  return at(index)[bytes_of(number(index).kind) - 1] & 0x80;  // little-endian, as all targets are
}

void GradientValues::take(std::size_t index, const GradientValues& other) {
  std::memcpy(at(index), other.at(index), bytes_of(number(index).kind));
}

void GradientValues::set_all_negative_zero() {
  if (values_.bytes()) std::memset(values_.data(), 0, values_.bytes());
  for (std::size_t i = 0; i < size(); ++i) at(i)[bytes_of(number(i).kind) - 1] = char(0x80);
}

std::string shape_text(const runtime::Array& array) {
  std::string text = "(";
  for (int d = 0; d < array.rank(); ++d) text += (d ? ", " : "") + std::to_string(array.extent(d));
  return text + (array.rank() == 1 ? ",)" : ")");
}

}  // namespace weft::driver
