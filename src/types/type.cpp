// Interning of types and their C layout.
#include "types/type.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "support/check.h"
#include "types/library_struct.h"

namespace weft {
namespace {

struct ScalarRow {
  std::string_view text, user, suffix;
  std::uint32_t bytes;
};
constexpr std::array<ScalarRow, kScalarKinds> kScalars = {{
    {"bool", "bool", "", 1},
    {"i8", "int8", "b", 1},
    {"u8", "uint8", "ub", 1},
    {"i16", "int16", "s", 2},
    {"u16", "uint16", "us", 2},
    {"i32", "int32", "i", 4},
    {"u32", "uint32", "ui", 4},
    {"i64", "int64", "l", 8},
    {"u64", "uint64", "ul", 8},
    {"f16", "float16", "h", 2},
    {"bf16", "bfloat16", "bf", 2},
    {"f32", "float32", "f", 4},
    {"f64", "float64", "d", 8},
}};

std::uint32_t align_up(std::uint32_t value, std::uint32_t align) { return (value + align - 1) / align * align; }

}  // namespace

/// Owns every type of the process. Keys are the canonical texts, so equal types meet in one entry.
class TypeTable {
 public:
  static TypeTable& get() {
    static TypeTable* table = new TypeTable;  // never destroyed: types outlive static destructors
    return *table;
  }

  template <class Fill>
  const Type* intern(const std::string& key, Fill fill) {
    {
      std::shared_lock lock(mutex_);
      if (auto it = by_key_.find(key); it != by_key_.end()) return it->second.get();
    }
    std::unique_lock lock(mutex_);
    auto [it, fresh] = by_key_.try_emplace(key);
    if (fresh) {
      it->second.reset(new Type);
      fill(*it->second, *this);
    }
    return it->second.get();
  }

  const Type* scalar(ScalarKind kind) const { return scalars_[std::size_t(kind)]; }

  /// Called with the lock held.
  std::string_view intern_name(std::string_view name) { return names_.emplace_back(name); }

  static void fill_composite(Type& t, TypeKind kind, const Type* scalar, std::uint32_t rows, std::uint32_t cols,
                             std::string text) {
    t.kind_ = kind;
    t.scalar_ = scalar->scalar_kind();
    t.element_ = scalar;
    t.rows_ = rows;
    t.cols_ = cols;
    t.size_ = rows * cols * scalar->size();
    t.align_ = scalar->align();
    t.text_ = std::move(text);
  }

  static void fill_aggregate(Type& t, TypeKind kind, std::string_view name, std::span<const Field> fields,
                             std::string text, TypeTable& table) {
    t.kind_ = kind;
    t.name_ = name;
    t.text_ = std::move(text);
    std::uint32_t offset = 0;
    for (const Field& field : fields) {
      offset = align_up(offset, field.type->align());
      t.fields_.push_back({table.intern_name(field.name), field.type, offset});
      offset += field.type->size();
      t.align_ = std::max(t.align_, field.type->align());
    }
    t.size_ = kind == TypeKind::tuple ? 0 : std::max(align_up(offset, t.align_), 1u);
    if (kind == TypeKind::structure) note_indexed(t, table);
  }

  /// Recognises the struct of an indexed array, whoever made it: the IR's text form writes it as any other struct. No
  /// program can give a struct of its own that name.
  static void note_indexed(Type& t, const TypeTable& table) {
    if (!t.name_.starts_with("indexedarray<") || t.fields_.empty() || !t.fields_[0].type->is_array()) return;
    const Type* data = t.fields_[0].type;
    if (t.name_ != indexed_name(data->element(), data->rank()) || t.fields_.size() != 1 + data->rank()) return;
    for (std::size_t k = 1; k < t.fields_.size(); ++k) {
      const Type* index = t.fields_[k].type;
      if (!index->is_array() || index->rank() != 1 || index->element() != table.scalar(ScalarKind::i32)) return;
    }
    t.indexed_ = true;
    t.element_ = data->element();
    t.rows_ = data->rank();
  }

  static std::string indexed_name(const Type* element, std::uint32_t rank) {
    return "indexedarray<" + element->text() + "," + std::to_string(rank) + ">";
  }

  static void fill_array(Type& t, const Type* element, std::uint32_t rank, std::string text) {
    t.kind_ = TypeKind::array;
    t.element_ = element;
    t.rows_ = rank;
    t.size_ = sizeof(ArrayDesc);
    t.align_ = alignof(ArrayDesc);
    t.text_ = std::move(text);
  }

  static void fill_opaque(Type& t, TypeKind kind, std::string_view name, std::string text) {
    t.kind_ = kind;
    t.name_ = name;
    t.text_ = std::move(text);
  }

 private:
  TypeTable() {
    for (int k = 0; k < kScalarKinds; ++k) {
      const ScalarRow& row = kScalars[std::size_t(k)];
      auto& slot = by_key_[std::string(row.text)];
      slot.reset(new Type);
      slot->kind_ = TypeKind::scalar;
      slot->scalar_ = ScalarKind(k);
      slot->size_ = slot->align_ = row.bytes;
      slot->text_ = row.text;
      scalars_[std::size_t(k)] = slot.get();
    }
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Type>> by_key_;
  std::deque<std::string> names_;
  std::array<const Type*, kScalarKinds> scalars_{};
};

bool Type::is_signed_int() const {
  return is_scalar() && (scalar_ == ScalarKind::i8 || scalar_ == ScalarKind::i16 || scalar_ == ScalarKind::i32 ||
                         scalar_ == ScalarKind::i64);
}

int Type::field_index(std::string_view name) const {
  for (std::size_t i = 0; i < fields_.size(); ++i)
    if (fields_[i].name == name) return int(i);
  return -1;
}

std::string Type::user_name() const {
  std::string suffix(kScalars[std::size_t(scalar_)].suffix);
  std::string scalar(kScalars[std::size_t(scalar_)].user);
  switch (kind_) {
    case TypeKind::scalar: return scalar;
    case TypeKind::vec:
      if (rows_ >= 2 && rows_ <= 4 && !suffix.empty()) return "vec" + std::to_string(rows_) + suffix;
      return "vector(length=" + std::to_string(rows_) + ", dtype=" + scalar + ")";
    case TypeKind::mat:
      if (rows_ == cols_ && rows_ >= 2 && rows_ <= 4 && !suffix.empty())
        return "mat" + std::to_string(rows_) + std::to_string(cols_) + suffix;
      return "matrix(shape=(" + std::to_string(rows_) + ", " + std::to_string(cols_) + "), dtype=" + scalar + ")";
    case TypeKind::quat: return "quat" + suffix;
    case TypeKind::transform: return "transform" + suffix;
    case TypeKind::structure:
      if (is_library_struct(this)) return name_.substr(kLibraryPrefix.size());
      if (!indexed_) return name_;
      [[fallthrough]];
    case TypeKind::array: {
      std::string rank = rows_ == 1 ? "" : std::to_string(rows_) + "d";
      return (indexed_ ? "indexedarray" : "array") + rank + "(dtype=" + element_->user_name() + ")";
    }
    case TypeKind::tuple: {
      std::string out = "tuple(";
      for (std::size_t i = 0; i < fields_.size(); ++i) out += (i ? ", " : "") + fields_[i].type->user_name();
      return out + ")";
    }
    case TypeKind::function: return "function " + name_;
    case TypeKind::string: return "str";
  }
  return {};
}

namespace types {

const Type* scalar(ScalarKind kind) { return TypeTable::get().scalar(kind); }
const Type* boolean() { return scalar(ScalarKind::boolean); }
const Type* i32() { return scalar(ScalarKind::i32); }
const Type* i64() { return scalar(ScalarKind::i64); }
const Type* u32() { return scalar(ScalarKind::u32); }
const Type* u64() { return scalar(ScalarKind::u64); }
const Type* f32() { return scalar(ScalarKind::f32); }
const Type* f64() { return scalar(ScalarKind::f64); }

namespace {
const Type* composite(TypeKind kind, const char* word, const Type* s, std::uint32_t rows, std::uint32_t cols,
                      const std::string& dims) {
  WEFT_CHECK(s && s->is_scalar() && rows >= 1 && cols >= 1);
  std::string text = std::string(word) + "<" + s->text() + dims + ">";
  return TypeTable::get().intern(text,
                                 [&](Type& t, TypeTable&) { TypeTable::fill_composite(t, kind, s, rows, cols, text); });
}
}  // namespace

const Type* vec(const Type* s, std::uint32_t n) {
  return composite(TypeKind::vec, "vec", s, n, 1, "," + std::to_string(n));
}
const Type* mat(const Type* s, std::uint32_t r, std::uint32_t c) {
  return composite(TypeKind::mat, "mat", s, r, c, "," + std::to_string(r) + "," + std::to_string(c));
}
const Type* quat(const Type* s) { return composite(TypeKind::quat, "quat", s, 4, 1, ""); }
const Type* transform(const Type* s) { return composite(TypeKind::transform, "transform", s, 7, 1, ""); }

const Type* structure(std::string_view name, std::span<const Field> fields) {
  std::string key = "%" + std::string(name) + "{";
  for (const Field& f : fields) key += std::string(f.name) + ":" + f.type->text() + ";";
  key += "}";
  return TypeTable::get().intern(key, [&](Type& t, TypeTable& table) {
    TypeTable::fill_aggregate(t, TypeKind::structure, name, fields, key, table);
  });
}

const Type* array(const Type* element, std::uint32_t rank) {
  WEFT_CHECK(element && rank >= 1 && rank <= std::uint32_t(kMaxRank));
  std::string text = "array<" + element->text() + "," + std::to_string(rank) + ">";
  return TypeTable::get().intern(text, [&](Type& t, TypeTable&) { TypeTable::fill_array(t, element, rank, text); });
}

const Type* indexed_array(const Type* element, std::uint32_t rank) {
  static constexpr std::string_view names[] = {"index0", "index1", "index2", "index3"};
  std::vector<Field> fields = {{"data", array(element, rank), 0}};
  for (std::uint32_t k = 0; k < rank; ++k) fields.push_back({names[k], array(i32(), 1), 0});
  const Type* type = structure(TypeTable::indexed_name(element, rank), fields);
  WEFT_CHECK(type->is_indexed_array());
  return type;
}

const Type* tuple(std::span<const Type* const> elements) {
  std::string text = "tuple<";
  std::vector<Field> fields;
  for (const Type* e : elements) {
    text += (fields.empty() ? "" : ",") + e->text();
    fields.push_back({"", e, 0});
  }
  text += ">";
  return TypeTable::get().intern(
      text, [&](Type& t, TypeTable& table) { TypeTable::fill_aggregate(t, TypeKind::tuple, "", fields, text, table); });
}

const Type* function(std::string_view key) {
  std::string text = "function<" + std::string(key) + ">";
  return TypeTable::get().intern(
      text, [&](Type& t, TypeTable&) { TypeTable::fill_opaque(t, TypeKind::function, key, text); });
}

const Type* string() {
  return TypeTable::get().intern(
      "string", [](Type& t, TypeTable&) { TypeTable::fill_opaque(t, TypeKind::string, "", "string"); });
}

}  // namespace types

std::string_view scalar_text(ScalarKind kind) { return kScalars[std::size_t(kind)].text; }
std::string_view scalar_user_name(ScalarKind kind) { return kScalars[std::size_t(kind)].user; }
std::uint32_t scalar_bits(ScalarKind kind) { return kScalars[std::size_t(kind)].bytes * 8; }

const Type* scalar_from_text(std::string_view text) {
  for (int k = 0; k < kScalarKinds; ++k)
    if (kScalars[std::size_t(k)].text == text) return types::scalar(ScalarKind(k));
  return nullptr;
}

const Type* scalar_from_user_name(std::string_view name) {
  if (name == "int") return types::i32();
  if (name == "float") return types::f32();
  for (int k = 0; k < kScalarKinds; ++k)
    if (kScalars[std::size_t(k)].user == name) return types::scalar(ScalarKind(k));
  return nullptr;
}

namespace {

void list_arrays(const Type* type, std::uint32_t offset, std::vector<ParamLayout::Array>& out) {
  if (type->is_array()) out.push_back({offset, type->element()->size(), std::uint32_t(type->rank())});
  if (type->is_struct())
    for (const Field& f : type->fields()) list_arrays(f.type, offset + f.offset, out);
}

}  // namespace

void ParamLayout::add(std::string name, const Type* type) {
  const std::uint32_t offset = align_up(size, type->align());
  params.push_back({type, offset, std::move(name)});
  list_arrays(type, offset, arrays);
  size = offset + type->size();
  align = std::max(align, type->align());
}

bool has_floats(const Type* type) {
  if (type->is_numeric()) return type->scalar_kind() >= ScalarKind::f16;
  if (type->is_struct() || type->is_tuple())
    return std::any_of(type->fields().begin(), type->fields().end(), [](const Field& f) { return has_floats(f.type); });
  return false;
}

}  // namespace weft
