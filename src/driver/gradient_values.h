// The numbers of an array's gradient, read on the host.
#pragma once
#include <string>
#include <vector>

#include "runtime/array.h"

namespace weft::driver {

class GradientValues {
 public:
  /// Of an array that has a gradient. Throws while a graph is captured: the numbers come to be when it runs.
  explicit GradientValues(const runtime::Array& array);

  /// Numbers in each element; integers in structs are none.
  std::size_t components() const { return numbers_.size(); }
  std::size_t size() const { return std::size_t(values_.size()) * components(); }
  double value(std::size_t index) const;
  /// Whether the sign of a number, which may be a zero, is negative.
  bool negative(std::size_t index) const;
  /// Takes a number of the same gradient as it was at another time.
  void take(std::size_t index, const GradientValues& other);
  void set_all_negative_zero();
  /// Makes them the numbers of a gradient, or of memory of the same type and shape.
  void write_to(const runtime::Array& gradient) const { gradient.assign(values_); }

 private:
  struct Number {
    std::size_t offset;
    ScalarKind kind;
  };
  static void list_numbers(const Type* type, std::size_t offset, std::vector<Number>& out);
  char* at(std::size_t index) const;
  const Number& number(std::size_t index) const { return numbers_[index % numbers_.size()]; }

  runtime::Array values_;  // on the host, packed
  std::vector<Number> numbers_;
};

/// "(3, 4)", as Python shows it.
std::string shape_text(const runtime::Array& array);

}  // namespace weft::driver
