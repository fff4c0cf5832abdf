// Packing arguments into a kernel's parameter block from C++. Every value is checked against the kernel's layout; an
// error names the kernel and the parameter, what is expected, what was given, and the cure. A block can be launched any
// number of times; it keeps the arrays it refers to alive.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/array.h"
#include "runtime/errors.h"
#include "types/type.h"

namespace weft::runtime {

class ParamBlock {
 public:
  /// The layout must outlive the block.
  ParamBlock(std::string kernel_name, const ParamLayout& layout);

  // `path` is a parameter's name, or leads into structs by field names: "args.param3".

  /// A scalar of the host: converted to the parameter's scalar type. Integers must fit; a float does not go into an
  /// integer; integers go into floats.
  void set(std::string_view path, bool value) { set_bool(find(path), value); }
  template <std::integral T>
  void set(std::string_view path, T value) {
    if constexpr (std::is_signed_v<T>)
      set_signed(find(path), std::int64_t(value));
    else
      set_unsigned(find(path), std::uint64_t(value));
  }
  void set(std::string_view path, double value) { set_float(find(path), value); }
  /// An array; an invalid Array is the null array.
  void set(std::string_view path, const Array& array) { set_array(find(path), array); }
  /// Any value by its bytes in C layout; `type` must be the parameter's type.
  void set(std::string_view path, const Type* type, const void* bytes) { set_bytes(find(path), type, bytes); }
  /// "No array": null data, zero extents.
  void set_null(std::string_view path) { set_array(find(path), Array()); }

  /// The same by position among the kernel's parameters.
  void set(std::size_t index, bool value) { set_bool(find(index), value); }
  template <std::integral T>
  void set(std::size_t index, T value) {
    if constexpr (std::is_signed_v<T>)
      set_signed(find(index), std::int64_t(value));
    else
      set_unsigned(find(index), std::uint64_t(value));
  }
  void set(std::size_t index, double value) { set_float(find(index), value); }
  void set(std::size_t index, const Array& array) { set_array(find(index), array); }
  void set(std::size_t index, const Type* type, const void* bytes) { set_bytes(find(index), type, bytes); }
  void set_null(std::size_t index) { set_array(find(index), Array()); }

  /// Throws ArgumentError naming every parameter (or struct field) that has not been set.
  void check_complete() const;

  const void* data() const { return storage_.data(); }
  const ParamLayout& layout() const { return *layout_; }
  const std::string& kernel_name() const { return kernel_; }

 private:
  /// A place in the block: a parameter or a field in one.
  struct Slot {
    std::string path;
    const Type* type = nullptr;
    std::uint32_t offset = 0;
  };
  struct Held {
    std::uint32_t offset = 0;
    Array array;
  };

  Slot find(std::string_view path) const;
  Slot find(std::size_t index) const;
  void set_bool(const Slot& slot, bool value);
  void set_signed(const Slot& slot, std::int64_t value);
  void set_unsigned(const Slot& slot, std::uint64_t value);
  void set_integer(const Slot& slot, bool negative, std::uint64_t bits);
  void set_float(const Slot& slot, double value);
  void set_array(const Slot& slot, const Array& array);
  void set_bytes(const Slot& slot, const Type* type, const void* bytes);
  void write(const Slot& slot, const void* bytes);
  void find_missing(const Type* type, std::uint32_t offset, const std::string& path,
                    std::vector<std::string>& missing) const;
  [[noreturn]] void fail(const Slot& slot, const std::string& given, const std::string& cure) const;
  char* bytes() { return reinterpret_cast<char*>(storage_.data()); }

  std::string kernel_;
  const ParamLayout* layout_;
  std::vector<std::uint64_t> storage_;  // no type is aligned to more than 8 bytes
  std::vector<bool> written_;           // by byte of the block
  std::vector<Held> held_;
};

/// Says what a host value is in the words of a message: "array2d(dtype=vec3f)", "null array".
std::string describe(const Array& array);

}  // namespace weft::runtime
