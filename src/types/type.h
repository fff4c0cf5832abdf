// The types of the kernel language and of the IR. Types are interned for the life of the process: two equal types are
// the same pointer, from any thread. A Type is immutable and knows its C layout.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Scalar kinds, in the order of their names in ops and text ("i8", "u64", "bf16"…).
enum class ScalarKind : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };
inline constexpr int kScalarKinds = 13;

enum class TypeKind : std::uint8_t {
  scalar,
  vec,        // n scalars
  mat,        // rows × cols scalars, row-major
  quat,       // 4 scalars: x, y, z, w (w real)
  transform,  // 7 scalars: position (3), quaternion (4)
  structure,  // named fields, C layout
  array,      // descriptor of strided memory (ArrayDesc)
  tuple,      // several values; never in memory
  function,   // a function reference; compile-time only, never an IR value
  string,     // a literal; compile-time only, never an IR value
};

inline constexpr int kMaxRank = 4;

class Type;

/// A field of a struct type.
struct Field {
  std::string_view name;  // interned
  const Type* type = nullptr;
  std::uint32_t offset = 0;  // bytes from the struct's start
};

class Type {
 public:
  TypeKind kind() const { return kind_; }
  /// Scalars: the kind itself. Vectors, matrices, quaternions, transforms: that of their components.
  ScalarKind scalar_kind() const { return scalar_; }

  bool is_scalar() const { return kind_ == TypeKind::scalar; }
  bool is_bool() const { return is_scalar() && scalar_ == ScalarKind::boolean; }
  bool is_int() const { return is_scalar() && scalar_ >= ScalarKind::i8 && scalar_ <= ScalarKind::u64; }
  bool is_float() const { return is_scalar() && scalar_ >= ScalarKind::f16; }
  bool is_signed_int() const;
  bool is_vec() const { return kind_ == TypeKind::vec; }
  bool is_mat() const { return kind_ == TypeKind::mat; }
  bool is_quat() const { return kind_ == TypeKind::quat; }
  bool is_transform() const { return kind_ == TypeKind::transform; }
  bool is_struct() const { return kind_ == TypeKind::structure; }
  bool is_array() const { return kind_ == TypeKind::array; }
  /// A struct of an array and one index array per dimension (types::indexed_array); is_struct() holds as well.
  bool is_indexed_array() const { return indexed_; }
  bool is_tuple() const { return kind_ == TypeKind::tuple; }
  /// vec, mat, quat or transform: a fixed number of equal scalars.
  bool is_composite() const { return kind_ >= TypeKind::vec && kind_ <= TypeKind::transform; }
  /// Scalar or composite: what elementwise arithmetic is defined on.
  bool is_numeric() const { return is_scalar() || is_composite(); }

  /// Composites: the component type. Arrays, indexed or not: the element type.
  const Type* element() const { return element_; }
  /// Composites: number of scalars in all (vec n, mat r·c, quat 4, transform 7). Scalars: 1.
  std::uint32_t component_count() const { return rows_ * cols_; }
  /// vec: length; mat: rows; quat: 4; transform: 7.
  std::uint32_t rows() const { return rows_; }
  /// mat: columns; otherwise 1.
  std::uint32_t cols() const { return cols_; }
  /// Arrays, indexed or not: number of dimensions, 1 to 4.
  std::uint32_t rank() const { return rows_; }

  /// Structs: the fields in order. Tuples: elements as unnamed fields.
  std::span<const Field> fields() const { return fields_; }
  /// Structs: index of the named field, or -1.
  int field_index(std::string_view name) const;
  /// Structs and functions: the name; otherwise empty.
  const std::string& name() const { return name_; }

  /// C layout in bytes. Tuples, functions and strings have no memory form: 0.
  std::uint32_t size() const { return size_; }
  std::uint32_t align() const { return align_; }

  /// The IR's text form: f32, vec<f32,3>, mat<f64,2,3>, quat<f32>, transform<f32>, array<f32,2>, struct name as %name,
  /// tuple<…>.
  const std::string& text() const { return text_; }
  /// The form users know: float32, vec3f, mat33f, vec_t(7, float32), quatf, transformf, array2d(dtype=vec3f), MyStruct.
  std::string user_name() const;

  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

 private:
  friend class TypeTable;
  Type() = default;

  TypeKind kind_ = TypeKind::scalar;
  ScalarKind scalar_ = ScalarKind::boolean;
  bool indexed_ = false;
  std::uint32_t rows_ = 1;
  std::uint32_t cols_ = 1;
  const Type* element_ = nullptr;
  std::vector<Field> fields_;
  std::string name_;
  std::string text_;
  std::uint32_t size_ = 0;
  std::uint32_t align_ = 1;
};

/// The types, interned. All functions are thread-safe and never return null.
namespace types {
const Type* scalar(ScalarKind kind);
const Type* boolean();
const Type* i32();
const Type* i64();
const Type* u32();
const Type* u64();
const Type* f32();
const Type* f64();
const Type* vec(const Type* scalar, std::uint32_t length);
const Type* mat(const Type* scalar, std::uint32_t rows, std::uint32_t cols);
const Type* quat(const Type* scalar);
const Type* transform(const Type* scalar);
/// Fields' offsets are computed; equal name and fields give the same type.
const Type* structure(std::string_view name, std::span<const Field> fields);
const Type* array(const Type* element, std::uint32_t rank);
/// An array seen through index arrays: a struct {data: array, index0 … : array<i32,1>}, one index array per dimension of
/// `data`; a null one leaves its dimension as it is.
const Type* indexed_array(const Type* element, std::uint32_t rank);
const Type* tuple(std::span<const Type* const> elements);
/// `key` identifies the function (mangled name); compile-time only.
const Type* function(std::string_view key);
const Type* string();
}  // namespace types

/// "i32", "bf16", "bool"… and back; nullptr when unknown.
std::string_view scalar_text(ScalarKind kind);
const Type* scalar_from_text(std::string_view text);
/// "int32", "bfloat16", "bool"… (the user's names) and back; also accepts "int", "float".
std::string_view scalar_user_name(ScalarKind kind);
const Type* scalar_from_user_name(std::string_view name);
/// Bits of a scalar: 8, 16, 32, 64 (bool: 8 in memory).
std::uint32_t scalar_bits(ScalarKind kind);

/// What a kernel sees of an array: passed in the parameter block, stored in structs, sliced, selected. Strides are in
/// bytes and may be zero or negative. `grad` is null when there is no gradient; it has the same shape and strides.
struct ArrayDesc {
  void* data = nullptr;
  void* grad = nullptr;
  std::int64_t shape[kMaxRank] = {0, 0, 0, 0};
  std::int64_t strides[kMaxRank] = {0, 0, 0, 0};
  std::int32_t ndim = 0;
  std::int32_t reserved = 0;
};
static_assert(sizeof(ArrayDesc) == 88 && alignof(ArrayDesc) == 8, "generated code knows this layout");

/// Whether values of the type hold floats outside of arrays: what a derivative can be taken of.
bool has_floats(const Type* type);

/// Where each parameter of a kernel lies in the parameter block: C layout in declaration order.
struct ParamLayout {
  struct Param {
    const Type* type = nullptr;
    std::uint32_t offset = 0;
    std::string name;
  };
  /// A descriptor in the block: an array, or one in a struct. Every launch looks at all of them.
  struct Array {
    std::uint32_t offset = 0, element_size = 0, rank = 0;
  };
  std::vector<Param> params;
  std::vector<Array> arrays;
  std::uint32_t size = 0;
  std::uint32_t align = 1;
  bool asks_alignment = false;  // there is code for arrays whose rows all begin at multiples of 16 bytes

  /// Appends a parameter at the next aligned offset.
  void add(std::string name, const Type* type);
};

}  // namespace weft
