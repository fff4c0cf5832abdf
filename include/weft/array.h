// Types of the kernel language, and arrays of them on the CPU and on GPUs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <weft/device.h>
#include <weft/errors.h>

namespace weft {

class Type;

/// A type of the kernel language, by the name users know: "float32", "vec3", "mat44d", "quat", "int8"….
class DataType {
 public:
  /// Throws ArgumentError for an unknown name.
  // NOLINTBEGIN(google-explicit-constructor): a name stands for its type wherever one is asked for
  DataType(std::string_view name);
  DataType(const char* name) : DataType(std::string_view(name)) {}
  DataType(const std::string& name) : DataType(std::string_view(name)) {}
  // NOLINTEND(google-explicit-constructor)
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

/// A strided array of 1 to 4 dimensions in the memory of the CPU or of a GPU. Copies of the handle share the memory, and
/// the gradient: what one of them sets, all see.
class Array {
 public:
  using Shape = std::vector<std::int64_t>;

  /// No array: passes to kernels as None does.
  Array() = default;
  static Array zeros(DataType type, const Shape& shape, const Device& device = {});
  static Array empty(DataType type, const Shape& shape, const Device& device = {});
  /// In page-locked memory of the CPU: copies to and from a GPU run beside the CPU's work. Throws DeviceError without a GPU.
  static Array pinned(DataType type, const Shape& shape);
  /// Over memory of yours, contiguous, which must outlive the array and its copies.
  static Array wrap(DataType type, const Shape& shape, void* data, const Device& device = {});
  /// A copy of scalars, one-dimensional.
  template <class T>
  static Array from(std::span<const T> values, const Device& device = {}) {
    Array a = empty(DataType::of<T>(), {std::int64_t(values.size())}, device);
    a.write(values.data(), values.size_bytes());
    return a;
  }
  template <class T>
  static Array from(std::initializer_list<T> values, const Device& device = {}) {
    return from(std::span<const T>(values.begin(), values.size()), device);
  }
  template <class T>
  static Array from(const std::vector<T>& values, const Device& device = {}) {
    return from(std::span<const T>(values), device);
  }

  bool is_valid() const { return impl_ != nullptr; }
  DataType type() const;
  Shape shape() const;
  std::int64_t size() const;  // elements
  std::size_t bytes() const;  // of the elements
  Device device() const;
  /// The address of the first element, where the array lies.
  void* data() const;
  bool is_contiguous() const;
  /// The memory as scalars; the array must be contiguous and on the CPU, and T must divide its elements' size. Tapes don't
  /// hear of what is written through it: use assign and fill while one records.
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(contiguous_data(sizeof(T))), bytes() / sizeof(T)};
  }
  /// A copy of the elements as scalars, wherever the array lies and whatever its strides; waits for a GPU.
  template <class T>
  std::vector<T> read() const {
    const Array here = host_copy(sizeof(T));
    const std::span<const T> values = here.as<const T>();
    return std::vector<T>(values.begin(), values.end());
  }
  /// Views that share the memory: elements start … stop−1 of a dimension by step; one entry of a dimension.
  Array slice(int dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const;
  Array index(int dim, std::int64_t index) const;
  Array reshape(const Shape& shape) const;

  // Copies and fills; a tape that records knows their gradients. On GPUs they are queued on the current stream.
  /// Takes the elements of another array of the same type and shape, which may lie elsewhere.
  void assign(const Array& source) const;
  /// The same from scalars in memory, as many as the elements have.
  template <class T>
  void assign(std::span<const T> values) const {
    assign(host_view(values.data(), values.size(), DataType::of<T>()));
  }
  void fill_zero() const;
  /// Sets every scalar of every element.
  void fill(double value) const;
  /// A contiguous copy on the same device, or on another; without a gradient.
  Array copy() const;
  Array to(const Device& device) const;

  // Gradients: an array of the same shape, zero at first, that backward passes add to.
  bool requires_grad() const;
  void set_requires_grad(bool on) const;
  /// The gradient as an array that shares its memory; no array if there is none.
  Array grad() const;
  /// Another one, of the same type, shape, strides and place.
  void set_grad(const Array& gradient) const;
  void zero_grad() const;
  /// Whether a backward pass leaves the gradient of the array's last values, though operations have written to it. Without
  /// it, what they overwrote takes the gradient away.
  bool retains_grad() const;
  void set_retain_grad(bool on) const;

  struct Impl;
  const std::shared_ptr<Impl>& internal() const { return impl_; }
  explicit Array(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  void write(const void* data, std::size_t bytes);
  void* contiguous_data(std::size_t unit) const;
  Array host_copy(std::size_t unit) const;
  Array host_view(const void* values, std::size_t count, DataType scalar) const;

  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
