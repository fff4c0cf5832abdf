// Programs, their kernels, and launching them.
#pragma once
#include <optional>

#include <weft/array.h>

namespace weft {

/// An argument of a launch: a number, an array, nullptr for "no array", or the bytes of a vector, matrix or struct.
class Argument {
 public:
  enum class Kind : std::uint8_t { boolean, integer, unsigned_integer, real, array, bytes };
  // NOLINTBEGIN(google-explicit-constructor): launches take plain values
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
  // NOLINTEND(google-explicit-constructor)
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
  bool verify_fp = false;  // prints values that are not finite; with debug: a store of one is an error
  bool fuse_fp = true;     // fused multiply-add where a product is used once by a sum
  bool fast_math = false;
  int opt_level = 2;
  int lanes = 0;  // SIMD lanes: 0 chosen, 1 none, up to 16
  int max_unroll = 16;
  bool cache = true;           // keep compiled objects on disk
  bool interpret = false;      // run by the reference interpreter instead of machine code
  bool backward = true;        // tapes go back over launches; else gradients stop there, and Program::messages says so
  bool deterministic = false;  // sums of floats and other atomic operations give the same bits in every run
  bool serial = false;         // threads one after the other, in increasing order, on the calling thread (one lane)
};

/// The extents of a launch, outermost first. Held in place: a launch allocates nothing. Keeps a few more than the four
/// that a launch takes, so that the error can show them.
class Dims {
 public:
  // NOLINTBEGIN(google-explicit-constructor): launches take plain lists
  Dims(std::initializer_list<std::int64_t> extents) : Dims(extents.begin(), extents.end()) {}
  Dims(std::span<const std::int64_t> extents) : Dims(extents.begin(), extents.end()) {}
  Dims(const std::vector<std::int64_t>& extents) : Dims(extents.begin(), extents.end()) {}
  template <class Iterator>
  Dims(Iterator begin, Iterator end) {
    for (; begin != end && size_ < kCapacity; ++begin) extents_[size_++] = *begin;
  }
  operator std::span<const std::int64_t>() const { return {extents_, size_}; }
  // NOLINTEND(google-explicit-constructor)
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kCapacity = 8;
  std::size_t size_ = 0;
  std::int64_t extents_[kCapacity];
};

/// Where and how a launch runs.
struct Place {
  std::optional<Device> device;  // none: where the arrays lie, the CPU if there are none
  Stream stream;                 // GPU; none: the device's current one
  int block_dim = 0;             // GPU: threads per block; 0: chosen
  std::int64_t max_blocks = 0;   // GPU: the most blocks; 0: no limit
};

/// A kernel of a program.
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

  /// Runs the kernel over a grid of 1 to 4 dimensions, where its arrays lie: on the CPU it is done when this returns, on a
  /// GPU queued on the current stream. Compiles on first use, per argument types.
  template <class... Args>
  void launch(const Dims& dims, Args&&... args) const {
    launch_at({}, dims, std::forward<Args>(args)...);
  }
  /// The same, told where and how.
  template <class... Args>
  void launch_at(const Place& place, const Dims& dims, Args&&... args) const {
    const Argument list[] = {Argument(std::forward<Args>(args))..., Argument(nullptr)};
    launch_with(dims, std::span<const Argument>(list, sizeof...(Args)), place);
  }
  void launch_with(const Dims& dims, std::span<const Argument> args, const Place& place = {}) const;

  struct Impl;
  const std::shared_ptr<Impl>& internal() const { return impl_; }
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
  void build(const Device& device = {}) const;
  /// Warnings and notes so far.
  std::vector<Message> messages() const;

  struct Impl;

 private:
  explicit Program(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
