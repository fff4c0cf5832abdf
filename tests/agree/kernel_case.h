// A kernel with everything that a run of it needs: its text, its arguments and its grid. Memory is described, not held:
// each run starts from a fresh copy of the same bytes, so that executors can be compared on what they leave behind.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/params.h"
#include "sema/file_scope.h"
#include "sema/sema.h"

namespace weft::agree {

/// What an array holds before the kernel runs. All are deterministic.
enum class Fill : std::uint8_t {
  zeros,
  counting,  // 1, 2, 3, …
  small,     // numbers around zero, integers and fractions, negative ones too
  edges,     // what arithmetic is afraid of: 0, −0, MIN, MAX, ±inf, NaN, denormals, numbers around the integer limits
  bits,      // any bits
};

/// Memory that arrays of a case look into: `count` elements, then guard bytes that nobody may touch.
struct Buffer {
  static constexpr std::size_t kGuard = 128;
  const Type* element = nullptr;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
  bool compared = true;
};

/// The text does not compile, or an argument does not fit: a mistake in the test.
class CaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Case {
 public:
  using Shape = std::vector<std::int64_t>;

  /// `kernel` names the kernel to run; empty: the last one in the text. "import warp as wp" is put in front of the text
  /// on its first line, so that lines keep their numbers. Throws CaseError when the text can't be parsed.
  explicit Case(std::string text, Shape dims, std::string kernel = {});

  // Arguments, in the order of the parameters. `type` is a name as users write it, or the name of a struct in the text.

  /// An array of its own.
  Case& array(const std::string& type, const Shape& shape, Fill fill = Fill::small);
  Case& array(const Type* type, const Shape& shape, Fill fill = Fill::small);
  /// A one-dimensional array of these scalars.
  template <class T>
  Case& data(const std::string& type_name, std::initializer_list<T> values) {
    return data(type_name, values.begin(), values.size() * sizeof(T), {std::int64_t(values.size())});
  }
  Case& data(const std::string& type, const void* bytes, std::size_t size, const Shape& shape);
  /// Memory that is no argument by itself; views look into it. Buffers are numbered as they are made, those of arrays
  /// and values included.
  Case& buffer(const std::string& type, std::int64_t count, Fill fill = Fill::small);
  /// A view into a buffer: shape, strides in bytes, offset in bytes.
  Case& view(std::size_t buffer, const Shape& shape, const Shape& strides, std::int64_t offset = 0);
  /// The null array.
  Case& no_array();
  Case& boolean(bool value);
  Case& integer(std::int64_t value);
  Case& real(double value);
  /// A vector, matrix or struct from its scalars, which `fill` makes.
  Case& value(const std::string& type, Fill fill = Fill::small);
  /// The next argument goes to this place inside a struct parameter ("args.x") instead of to the next parameter.
  Case& at(std::string path);

  /// What happens in parallel runs is not compared: atomics whose results are used, prints.
  Case& serial_only();
  /// The lane counts other than one are not compared either: order among the threads of a group shows.
  Case& one_lane_only();
  /// Elements of the buffer are not compared.
  Case& ignore(std::size_t buffer);

  const Type* type(const std::string& name) const;
  const std::string& text() const { return text_; }
  const Shape& dims() const { return dims_; }
  bool is_serial_only() const { return serial_only_; }
  bool is_one_lane_only() const { return one_lane_only_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }

  const sema::FunctionDecl& kernel() const { return *kernel_; }
  /// The types of the kernel's parameters: as annotated, or taken from the arguments.
  std::vector<const Type*> param_types() const;
  /// Whether two arrays look into one buffer.
  bool overlaps() const;
  /// Whether the innermost elements of an array lie apart.
  bool strided() const;
  /// A parameter block over a copy of the buffers.
  void bind(runtime::ParamBlock& block, std::vector<Buffer>& memory) const;

 private:
  struct Arg {
    enum class Kind : std::uint8_t { boolean, integer, real, array, null, value } kind = Kind::null;
    std::string path;  // empty: the next parameter
    std::int64_t i = 0;
    double d = 0;
    std::size_t buffer = 0;  // array, value
    Shape shape, strides;
    std::int64_t offset = 0;
  };
  Case& add(Arg arg);
  std::size_t add_buffer(const Type* element, std::int64_t count, Fill fill);

  std::string text_;
  Shape dims_;
  std::shared_ptr<sema::FileScope> scope_;
  std::shared_ptr<const sema::FunctionDecl> kernel_;
  std::vector<sema::KernelParam> params_;
  std::vector<Buffer> buffers_;
  std::vector<Arg> args_;
  std::string next_path_;
  bool serial_only_ = false, one_lane_only_ = false;
};

/// Fills memory of a type; `seed` makes buffers differ.
void fill_values(const Type* type, std::byte* bytes, std::int64_t count, Fill fill, std::uint64_t seed);

}  // namespace weft::agree
