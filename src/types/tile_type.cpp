// The table of tile types, beside that of types.
#include "types/tile_type.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "support/check.h"

namespace weft {
namespace {

struct Table {
  std::shared_mutex lock;
  std::unordered_map<const Type*, std::unique_ptr<const TileType>> known;
};

Table& table() {
  static auto* the = new Table;  // types live as long as the process
  return *the;
}

std::vector<std::int64_t> packed_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Strides of dimensions of extent 1 mean nothing.
bool lies_packed(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  const std::vector<std::int64_t> packed = packed_strides(shape);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != packed[d]) return false;
  return true;
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "(";
  for (std::size_t d = 0; d < shape.size(); ++d) out += (d ? ", " : "") + std::to_string(shape[d]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

const TileType* tile_type(const Type* type) {
  if (!type->is_struct()) return nullptr;
  Table& t = table();
  std::shared_lock lock(t.lock);
  const auto found = t.known.find(type);
  return found == t.known.end() ? nullptr : found->second.get();
}

const TileType& TileType::packed() const { return contiguous ? *this : types::tile(element, shape); }

namespace types {

const TileType& tile(const Type* element, std::span<const std::int64_t> shape) {
  return tile(element, shape, packed_strides(shape));
}

const TileType& tile(const Type* element, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  WEFT_CHECK(!shape.empty() && shape.size() <= std::size_t(kMaxRank) && shape.size() == strides.size());
  TileType made;
  made.element = element;
  made.shape.assign(shape.begin(), shape.end());
  made.contiguous = lies_packed(shape, strides);
  made.strides = made.contiguous ? packed_strides(shape) : std::vector<std::int64_t>(strides.begin(), strides.end());
  std::string name = "tile(" + element->user_name();
  for (std::int64_t n : shape) {
    made.count *= n;
    name += ", " + std::to_string(n);
  }
  name += ")";
  if (!made.contiguous) name += " by " + shape_text(made.strides);
  const Field fields[] = {{"data", array(element, 1), 0}, {"offset", i32(), 0}};
  made.type = structure(name, fields);
  Table& t = table();
  std::unique_lock lock(t.lock);
  auto& entry = t.known[made.type];
  if (!entry) entry = std::make_unique<const TileType>(std::move(made));
  return *entry;
}

}  // namespace types
}  // namespace weft
