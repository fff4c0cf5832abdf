// Weft from C++: compile kernel text, make arrays, launch, read back. No Python, no LLVM and nothing of Weft's inside is
// needed to use this header.
//
//   weft::Program program = weft::Program::compile(R"(
//   import warp as wp
//   @wp.kernel
//   def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
//       i = wp.tid()
//       y[i] = a * x[i] + y[i]
//   )");
//   weft::Array x = weft::Array::from<float>({1, 2, 3}), y = weft::Array::zeros("float32", {3});
//   program.kernel("saxpy").launch({3}, 2.0, x, y);
//   std::span<const float> result = y.as<float>();
//
// Every object is a cheap handle; all of them may be used from any thread. Errors are exceptions derived from
// weft::Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft {

class Type;

/// Base of every error that Weft throws at its users.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A message of the compiler.
struct Message {
  enum class Kind : std::uint8_t { error, warning, note } kind;
  std::string code;  // "unknown_name"
  std::string file;
  std::uint32_t line, column;
  std::string text;
  std::string rendered;  // with source line, caret and notes
};

/// Source text that does not compile; what() holds all messages as a compiler prints them.
class CompileError : public Error {
 public:
  CompileError(const std::string& what, std::vector<Message> messages) : Error(what), messages_(std::move(messages)) {}
  const std::vector<Message>& messages() const { return messages_; }

 private:
  std::vector<Message> messages_;
};

/// An argument of the wrong type, rank or range; unknown names.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// Launch dimensions that cannot be run.
class LaunchError : public Error {
 public:
  using Error::Error;
};

/// A check that failed inside a kernel (debug mode: bounds, assert, division by zero).
class KernelError : public Error {
 public:
  KernelError(const std::string& what, std::string file, int line, std::vector<std::int64_t> thread)
      : Error(what), file_(std::move(file)), line_(line), thread_(std::move(thread)) {}
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::vector<std::int64_t>& thread() const { return thread_; }

 private:
  std::string file_;
  int line_;
  std::vector<std::int64_t> thread_;
};

/// A type of the kernel language, by the name users know: "float32", "vec3", "mat44d", "quat", "int8"….
class DataType {
 public:
  /// Throws ArgumentError for an unknown name.
  DataType(std::string_view name);
  DataType(const char* name) : DataType(std::string_view(name)) {}
  DataType(const std::string& name) : DataType(std::string_view(name)) {}
  explicit DataType(const Type* type) : type_(type) {}

  std::string name() const;
  std::size_t size() const;
  bool operator==(const DataType&) const = default;
  const Type* internal() const { return type_; }

  /// The scalar type that corresponds to a C++ type.
  template <class T>
  static DataType of() {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>)
      return DataType("float32");
    else if constexpr (std::is_same_v<U, double>)
      return DataType("float64");
    else if constexpr (std::is_same_v<U, bool>)
      return DataType("bool");
    else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>)
      return DataType(sizeof(U) == 1 ? "int8" : sizeof(U) == 2 ? "int16" : sizeof(U) == 4 ? "int32" : "int64");
    else if constexpr (std::is_integral_v<U>)
      return DataType(sizeof(U) == 1 ? "uint8" : sizeof(U) == 2 ? "uint16" : sizeof(U) == 4 ? "uint32" : "uint64");
    else
      static_assert(sizeof(U) == 0, "no scalar type of the kernel language corresponds to this C++ type");
  }

 private:
  const Type* type_;
};

/// A strided array in host memory, 1 to 4 dimensions. Copies share the memory.
class Array {
 public:
  using Shape = std::vector<std::int64_t>;

  /// No array: passes to kernels as None does.
  Array() = default;
  static Array zeros(DataType type, const Shape& shape);
  static Array empty(DataType type, const Shape& shape);
  /// Over memory of yours, contiguous, which must outlive the array and its copies.
  static Array wrap(DataType type, const Shape& shape, void* data);
  /// A copy of scalars, one-dimensional.
  template <class T>
  static Array from(std::span<const T> values) {
    Array a = empty(DataType::of<T>(), {std::int64_t(values.size())});
    a.write(values.data(), values.size_bytes());
    return a;
  }
  template <class T>
  static Array from(std::initializer_list<T> values) {
    return from(std::span<const T>(values.begin(), values.size()));
  }

  bool is_valid() const { return impl_ != nullptr; }
  DataType type() const;
  Shape shape() const;
  std::int64_t size() const;  // elements
  std::size_t bytes() const;  // of the elements
  void* data() const;
  bool is_contiguous() const;
  /// The memory as scalars; the array must be contiguous and T must divide its size.
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(contiguous_data(sizeof(T))), bytes() / sizeof(T)};
  }
  /// Views that share the memory: elements start … stop−1 of a dimension by step; one entry of a dimension.
  Array slice(int dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const;
  Array index(int dim, std::int64_t index) const;
  Array reshape(const Shape& shape) const;

  struct Impl;
  const std::shared_ptr<Impl>& internal() const { return impl_; }
  explicit Array(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  void write(const void* data, std::size_t bytes);
  void* contiguous_data(std::size_t unit) const;

  std::shared_ptr<Impl> impl_;
};

/// An argument of a launch: a number, an array, nullptr for "no array", or the bytes of a vector, matrix or struct.
class Argument {
 public:
  enum class Kind : std::uint8_t { boolean, integer, unsigned_integer, real, array, bytes };
  Argument(bool v) : kind_(Kind::boolean) { number_.i = v; }
  template <class T>
    requires std::is_integral_v<T>
  Argument(T v) : kind_(std::is_signed_v<T> ? Kind::integer : Kind::unsigned_integer) {
    number_.i = std::int64_t(v);
  }
  Argument(double v) : kind_(Kind::real) { number_.d = v; }
  Argument(float v) : Argument(double(v)) {}
  Argument(Array a) : kind_(Kind::array), array_(std::move(a)) {}
  Argument(std::nullptr_t) : kind_(Kind::array) {}
  /// `value` must have the type's layout: weft::Argument("vec3", v). Read during the call only.
  Argument(DataType type, const void* bytes) : kind_(Kind::bytes), type_(type.internal()), bytes_(bytes) {}

  Kind kind() const { return kind_; }
  std::int64_t integer() const { return number_.i; }
  double real() const { return number_.d; }
  const Array& array() const { return array_; }
  const Type* type() const { return type_; }
  const void* bytes() const { return bytes_; }

 private:
  Kind kind_;
  union {
    std::int64_t i;
    double d;
  } number_{0};
  Array array_;
  const Type* type_ = nullptr;
  const void* bytes_ = nullptr;
};

struct Options {
  bool debug = false;      // check array bounds, divisions and asserts; KernelError names kernel, line and thread
  bool verify_fp = false;  // with debug: floats that are stored must be finite
  bool fuse_fp = true;     // fused multiply-add where a product is used once by a sum
  bool fast_math = false;
  int opt_level = 2;
  int lanes = 0;  // SIMD lanes: 0 chosen, 1 none, up to 16
  int max_unroll = 16;
  bool cache = true;       // keep compiled objects on disk
  bool interpret = false;  // run by the reference interpreter instead of machine code
  bool serial = false;     // threads one after the other, in increasing order, on the calling thread (one lane)
};

/// The extents of a launch, outermost first. Held in place: a launch allocates nothing. Keeps a few more than the four
/// that a launch takes, so that the error can show them.
class Dims {
 public:
  Dims(std::initializer_list<std::int64_t> extents) : Dims(extents.begin(), extents.end()) {}
  Dims(std::span<const std::int64_t> extents) : Dims(extents.begin(), extents.end()) {}
  Dims(const std::vector<std::int64_t>& extents) : Dims(extents.begin(), extents.end()) {}
  template <class Iterator>
  Dims(Iterator begin, Iterator end) {
    for (; begin != end && size_ < kCapacity; ++begin) extents_[size_++] = *begin;
  }
  operator std::span<const std::int64_t>() const { return {extents_, size_}; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kCapacity = 8;
  std::size_t size_ = 0;
  std::int64_t extents_[kCapacity];
};

class Kernel {
 public:
  using Dims = weft::Dims;

  const std::string& name() const;
  /// Names and annotated types of the parameters.
  struct Param {
    std::string name, type;
  };
  std::vector<Param> params() const;
  /// The types behind them; null for generic parameters.
  std::vector<const Type*> param_types() const;
  bool has_default(std::size_t index) const;

  /// Runs the kernel over a grid of 1 to 4 dimensions and waits for it. Compiles on first use, per argument types.
  template <class... Args>
  void launch(const Dims& dims, Args&&... args) const {
    const Argument list[] = {Argument(std::forward<Args>(args))..., Argument(nullptr)};
    launch_with(dims, std::span<const Argument>(list, sizeof...(Args)));
  }
  void launch_with(const Dims& dims, std::span<const Argument> args) const;

  struct Impl;
  explicit Kernel(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

/// A file or text with kernels.
class Program {
 public:
  /// Throws CompileError when the text can't be parsed. Kernels are typed and compiled when they are first used.
  static Program compile(std::string text, std::string name = "<text>", const Options& options = {});
  /// The same from a file.
  static Program load(const std::string& path, const Options& options = {});

  std::vector<std::string> kernel_names() const;
  /// Throws ArgumentError when there is none of that name.
  Kernel kernel(std::string_view name) const;
  /// A @wp.struct of the program as a type.
  DataType struct_type(std::string_view name) const;
  /// Compiles every kernel without generic parameters now, in parallel.
  void build() const;
  /// Warnings and notes so far.
  std::vector<Message> messages() const;

  struct Impl;

 private:
  explicit Program(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// Threads that a launch may use: 0 = all the machine gives, 1 = serial.
void set_thread_limit(int limit);
/// The version of the library, and the folder of its object cache (empty: none).
std::string version();
std::string cache_folder();

}  // namespace weft
