// The check of grids: header, tree, features, and every link of the tree.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "volume/grid.h"
#include "volume/grid_format.h"

namespace weft::volume {
namespace {

/// A stretch of the grid that has one use.
struct Stretch {
  std::uint64_t begin, end;
  const char* what;
};

constexpr std::uint64_t kMostVoxels = INT32_MAX;

class Check {
 public:
  explicit Check(const GridBytes& bytes) : in_(bytes) {}

  GridFacts run() {
    header();
    if (out_.layout) nodes();
    features();
    apart();
    if (out_.layout) links();
    return std::move(out_);
  }

 private:
  void header() {
    out_.bytes = stated_bytes(in_);
    if (out_.bytes != in_.size())
      in_.fail(grid::kBytes, "the grid says that it has " + std::to_string(out_.bytes) + " bytes, expected " +
                                 std::to_string(in_.size()));
    const auto type = in_.get<std::uint32_t>(grid::kType);
    if (type == 0 || type >= kGridTypes)
      in_.fail(grid::kType,
               std::to_string(type) + " is no type of grids, expected 1 to " + std::to_string(kGridTypes - 1));
    out_.type = GridType(type);
    out_.layout = grid_layout(out_.type);
    // Leaves of index grids were others before.
    version_ = in_.get<std::uint32_t>(grid::kVersion);
    if (is_index_grid(out_.type) && minor_of(version_) < 5) out_.layout = nullptr;
    out_.number = in_.get<std::uint32_t>(grid::kIndex);
    out_.count = in_.get<std::uint32_t>(grid::kCount);
    out_.name = name_at(grid::kName, "grid");
    for (std::size_t k = 0; k < 9; ++k) {
      out_.map.matrix[k] = in_.get<double>(grid::kMap + grid::kMatrixD + 8 * k);
      out_.map.inverse[k] = in_.get<double>(grid::kMap + grid::kInverseD + 8 * k);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      out_.map.translation[k] = in_.get<double>(grid::kMap + grid::kVectorD + 8 * k);
      out_.voxel_size[k] = in_.get<double>(grid::kVoxelSize + 8 * k);
    }
    out_.active_voxels = in_.get<std::uint64_t>(tree::kAt + tree::kVoxels);
    stretches_.push_back({0, grid::kHeaderBytes + tree::kBytes, "the header"});
  }

  /// A name of at most 255 bytes, with a zero behind it.
  std::string name_at(std::uint64_t at, const std::string& of) const {
    const auto name = in_.part(at, grid::kNameBytes, "a name");
    std::string out(reinterpret_cast<const char*>(name.data()), name.size());
    const std::size_t end = out.find('\0');
    if (end == std::string::npos)
      in_.fail(at, "the name of this " + of + " has no end, expected a zero among its " +
                       std::to_string(grid::kNameBytes) + " bytes");
    out.resize(end);
    return out;
  }

  /// Where a level of the tree begins; its nodes lie one behind the other.
  std::uint64_t level(int number, std::uint32_t count, std::uint64_t node_bytes, const char* what) {
    const std::uint64_t place = tree::kAt + tree::kOffsets + 8 * std::uint64_t(number);
    const auto offset = in_.get<std::uint64_t>(place);
    if (count == 0) return 0;
    if (offset > in_.size() - tree::kAt || (tree::kAt + offset) % kAlignment != 0)
      in_.fail(place, std::string(what) + " can't begin " + std::to_string(offset) +
                          " bytes behind the tree's header, expected a multiple of " + std::to_string(kAlignment) +
                          " below " + std::to_string(in_.size() - tree::kAt));
    const std::uint64_t at = tree::kAt + offset, left = in_.size() - at;
    if (count > left / node_bytes)
      in_.fail(place, std::to_string(count) + " " + what + " of " + std::to_string(node_bytes) +
                          " bytes don't fit into the " + std::to_string(left) + " that are left, expected " +
                          std::to_string(left / node_bytes) + " at most");
    stretches_.push_back({at, at + count * node_bytes, what});
    return at;
  }

  void nodes() {
    const GridLayout& layout = *out_.layout;
    const auto count = [&](std::uint64_t k) { return in_.get<std::uint32_t>(tree::kAt + tree::kCounts + 4 * k); };
    out_.leaves = count(0), out_.lowers = count(1), out_.uppers = count(2);
    if (out_.leaves > kMostVoxels / node::kVoxels)
      in_.fail(tree::kAt + tree::kCounts, std::to_string(out_.leaves) +
                                              " leaves are more than indices of 32 bits reach, expected " +
                                              std::to_string(kMostVoxels / node::kVoxels) + " at most");
    out_.first_leaf = level(0, out_.leaves, layout.leaf_bytes, "leaves");
    out_.first_lower = level(1, out_.lowers, layout.lower_bytes, "lower nodes");
    out_.first_upper = level(2, out_.uppers, layout.upper_bytes, "upper nodes");
    out_.root = level(3, 1, layout.root_bytes, "the root");
    out_.tiles = in_.get<std::uint32_t>(out_.root + node::kRootTiles);
    const std::uint64_t table = out_.root + layout.root_bytes;
    if (out_.tiles > (in_.size() - table) / layout.tile_bytes)
      in_.fail(out_.root + node::kRootTiles, "the root's table of " + std::to_string(out_.tiles) +
                                                 " tiles is longer than the grid, expected " +
                                                 std::to_string((in_.size() - table) / layout.tile_bytes) + " at most");
    stretches_.push_back({table, table + std::uint64_t(out_.tiles) * layout.tile_bytes, "the root's table"});
  }

  void features() {
    const auto count = in_.get<std::uint32_t>(grid::kFeatureCount);
    if (count == 0) return;
    const auto at = in_.get<std::uint64_t>(grid::kFeatures);
    if (at > in_.size() || at % 8 != 0 || count > (in_.size() - at) / grid::kFeatureBytes)
      in_.fail(grid::kFeatures, "the descriptions of " + std::to_string(count) + " features, " + std::to_string(at) +
                                    " bytes from the beginning, don't lie in the grid, expected them within its " +
                                    std::to_string(in_.size()) + " bytes");
    stretches_.push_back({at, at + count * grid::kFeatureBytes, "the descriptions of features"});
    for (std::uint64_t k = 0; k < count; ++k) feature(at + k * grid::kFeatureBytes);
  }

  void feature(std::uint64_t at) {
    GridFeature one;
    const auto offset = in_.get<std::uint64_t>(at + grid::kFeatureOffset);
    one.at = at + offset;
    one.values = in_.get<std::uint64_t>(at + grid::kFeatureValues);
    one.type = GridType(in_.get<std::uint32_t>(at + grid::kFeatureType));
    one.semantic = in_.get<std::uint32_t>(at + grid::kFeatureSemantic);
    one.name = name_at(at + grid::kFeatureName, "feature");
    if (const Type* value = grid_value_type(one.type))
      one.value_bytes = std::uint32_t(value->size());
    else if (minor_of(version_) >= 5)  // flags stood there before
      one.value_bytes = in_.get<std::uint32_t>(at + grid::kFeatureValueBytes);
    if (one.at > in_.size() || (one.value_bytes && one.values > (in_.size() - one.at) / one.value_bytes))
      in_.fail(at, "the feature '" + one.name + "', " + std::to_string(one.values) + " values of " +
                       std::to_string(one.value_bytes) + " bytes, does not lie in the grid, expected it within its " +
                       std::to_string(in_.size()) + " bytes");
    stretches_.push_back({one.at, one.at + one.values * one.value_bytes, "a feature"});
    out_.features.push_back(std::move(one));
  }

  /// A write to one part must not change another one: voxels are written, links are not.
  void apart() {
    std::erase_if(stretches_, [](const Stretch& one) { return one.begin == one.end; });
    std::sort(stretches_.begin(), stretches_.end(),
              [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    for (std::size_t k = 1; k < stretches_.size(); ++k)
      if (stretches_[k].begin < stretches_[k - 1].end)
        in_.fail(stretches_[k].begin, std::string(stretches_[k].what) + " begins inside of " + stretches_[k - 1].what +
                                          ", expected it at byte " + std::to_string(stretches_[k - 1].end) +
                                          " or behind");
  }

  /// The nodes of one level, each of which is to be reached once.
  struct Level {
    std::uint64_t first, node_bytes;
    std::uint32_t count;
    const char* what;
    std::vector<bool> reached;
    std::uint32_t seen = 0;
  };

  /// Follows a link that stands at `place` and counts from `base`.
  std::uint64_t follow(Level& to, std::uint64_t place, std::uint64_t base) {
    const std::uint64_t at = base + in_.get<std::uint64_t>(place);
    const std::uint64_t offset = at - to.first;
    if (at < to.first || offset % to.node_bytes != 0 || offset / to.node_bytes >= to.count)
      in_.fail(place, std::string("this link does not lead to one of the ") + to.what + ", expected one of " +
                          std::to_string(to.count) + " from byte " + std::to_string(to.first) + " on, each of " +
                          std::to_string(to.node_bytes) + " bytes");
    const std::size_t number = std::size_t(offset / to.node_bytes);
    if (to.reached[number])
      in_.fail(place, std::string("this link leads to one of the ") + to.what +
                          " that another one leads to, expected one link to each");
    to.reached[number] = true;
    ++to.seen;
    return at;
  }

  void all_reached(const Level& level) const {
    if (level.seen != level.count)
      in_.fail(level.first, std::to_string(level.count - level.seen) + " of the " + level.what +
                                " are reached by no link, expected one to each");
  }

  /// Calls visit(slot, place of its entry) for each child of a node, and looks at the indices of all other entries.
  template <class Visit>
  void children(std::uint64_t node, std::uint64_t mask, std::uint64_t table, std::uint32_t slots, const Visit& visit) {
    for (std::uint32_t word = 0; word < slots / 64; ++word) {
      const auto bits = in_.get<std::uint64_t>(node + mask + std::uint64_t(8) * word);
      for (std::uint64_t rest = bits; rest; rest &= rest - 1) {
        const std::uint32_t slot = word * 64 + std::uint32_t(std::countr_zero(rest));
        visit(slot, node + table + std::uint64_t(slot) * out_.layout->table_stride);
      }
      if (!is_index_grid(out_.type)) continue;
      for (std::uint64_t rest = ~bits; rest; rest &= rest - 1)
        note_index(node + table + (std::uint64_t(word) * 64 + std::uint64_t(std::countr_zero(rest))) * 8, 1);
    }
  }

  /// An index (0: of the background) and that many in all from it on.
  void note_index(std::uint64_t place, std::uint64_t count) {
    const auto first = in_.get<std::uint64_t>(place);
    if (first > kMostVoxels || first + count > kMostVoxels)
      in_.fail(place, "the index " + std::to_string(first) + " is larger than 32 bits hold, expected " +
                          std::to_string(kMostVoxels) + " at most");
    if (first) last_index_ = std::max(last_index_, first + count - 1);
  }

  void links() {
    const GridLayout& layout = *out_.layout;
    Level uppers{out_.first_upper, layout.upper_bytes, out_.uppers, "upper nodes", std::vector<bool>(out_.uppers)};
    Level lowers{out_.first_lower, layout.lower_bytes, out_.lowers, "lower nodes", std::vector<bool>(out_.lowers)};
    Level leaves{out_.first_leaf, layout.leaf_bytes, out_.leaves, "leaves", std::vector<bool>(out_.leaves)};
    std::unordered_set<std::uint64_t> keys;
    for (std::uint64_t t = 0; t < out_.tiles; ++t) {
      const std::uint64_t tile = out_.root + layout.root_bytes + t * layout.tile_bytes;
      const auto key = in_.get<std::uint64_t>(tile + node::kTileKey);
      if (key >> 63 || !keys.insert(key).second)
        in_.fail(
            tile,
            "two tiles of the root have one key, or it is none, expected three numbers of 21 bits that no other has");
      if (in_.get<std::uint64_t>(tile + node::kTileChild) == 0) {
        if (is_index_grid(out_.type)) note_index(tile + layout.tile_value, 1);
        continue;
      }
      const std::uint64_t upper = follow(uppers, tile + node::kTileChild, out_.root);
      const std::int32_t corner[3] = {std::int32_t(std::uint32_t(key >> 42) << 12),
                                      std::int32_t(std::uint32_t(key >> 21) << 12),
                                      std::int32_t(std::uint32_t(key) << 12)};
      children(upper, node::kUpperChildMask, layout.upper_table, node::kUpperSlots,
               [&](std::uint32_t slot, std::uint64_t entry) {
                 const std::uint64_t lower = follow(lowers, entry, upper);
                 const std::int32_t at[3] = {corner[0] + std::int32_t(slot >> 10) * 128,
                                             corner[1] + std::int32_t(slot >> 5 & 31) * 128,
                                             corner[2] + std::int32_t(slot & 31) * 128};
                 children(lower, node::kLowerChildMask, layout.lower_table, node::kLowerSlots,
                          [&](std::uint32_t inner, std::uint64_t place) {
                            leaf(follow(leaves, place, lower),
                                 {at[0] + std::int32_t(inner >> 8) * 8, at[1] + std::int32_t(inner >> 4 & 15) * 8,
                                  at[2] + std::int32_t(inner & 15) * 8});
                          });
               });
    }
    all_reached(uppers), all_reached(lowers), all_reached(leaves);
    out_.voxels = std::uint64_t(out_.leaves) * node::kVoxels;
    if (!is_index_grid(out_.type)) return;
    out_.voxels = last_index_;
    const auto stated = in_.get<std::uint64_t>(grid::kIndexedValues);
    if (stated && last_index_ >= stated)
      in_.fail(grid::kIndexedValues, "the grid counts " + std::to_string(stated) + " indices, but has an index " +
                                         std::to_string(last_index_) + ", expected a larger count");
  }

  void leaf(std::uint64_t at, const std::array<std::int32_t, 3>& corner) {
    for (std::uint64_t k = 0; k < 3; ++k)
      if ((in_.get<std::int32_t>(at + node::kLeafBox + 4 * k) & ~7) != corner[std::size_t(k)])
        in_.fail(at + node::kLeafBox + 4 * k,
                 "the leaf's box is not where the links lead that reach it, expected a box in the tile at " +
                     std::to_string(corner[0]) + ", " + std::to_string(corner[1]) + ", " + std::to_string(corner[2]));
    if (!is_index_grid(out_.type)) return;
    if (in_.get<std::uint64_t>(at + node::kLeafFirst) == 0)
      in_.fail(at + node::kLeafFirst, "the leaf's first index is 0, which is the background's, expected 1 or more");
    if (!is_on_index_grid(out_.type)) return note_index(at + node::kLeafFirst, node::kVoxels);
    const auto prefix = in_.get<std::uint64_t>(at + node::kLeafPrefix);
    std::uint64_t sum = 0;
    for (std::uint64_t word = 0; word < 8; ++word) {
      if (word && (prefix >> (9 * (word - 1)) & 511) != sum)
        in_.fail(at + node::kLeafPrefix, "the leaf's counts of active voxels are not those of its mask, expected " +
                                             std::to_string(sum) + " before word " + std::to_string(word));
      sum += std::uint64_t(std::popcount(in_.get<std::uint64_t>(at + node::kLeafMask + 8 * word)));
    }
    if (sum) note_index(at + node::kLeafFirst, sum);
  }

  const GridBytes& in_;
  GridFacts out_;
  std::uint32_t version_ = 0;
  std::uint64_t last_index_ = 0;
  std::vector<Stretch> stretches_;
};

}  // namespace

std::uint64_t stated_bytes(const GridBytes& bytes) {
  bytes.part(0, grid::kHeaderBytes + tree::kBytes, "the header of a grid");
  const auto magic = bytes.get<std::uint64_t>(0);
  if (magic != kMagicOld && magic != kMagicGrid) bytes.fail(0, "expected the magic number of a NanoVDB grid");
  const auto version = bytes.get<std::uint32_t>(grid::kVersion);
  if (major_of(version) != kMajorVersion)
    bytes.fail(grid::kVersion, "a grid of NanoVDB " + std::to_string(major_of(version)) + "." +
                                   std::to_string(minor_of(version)) + ", expected version 32");
  return bytes.get<std::uint64_t>(grid::kBytes);
}

GridFacts check_grid(const GridBytes& bytes) {
  try {
    return Check(bytes).run();
  } catch (const FormatError& error) {
    throw FormatError(std::string("Invalid NanoVDB grid structure: ") + error.what());
  }
}

std::vector<std::int32_t> tile_corners(std::span<const std::byte> grid, const GridFacts& facts) {
  std::vector<std::int32_t> out(std::size_t(facts.leaves) * 3);
  for (std::size_t n = 0; n < facts.leaves; ++n)
    for (std::size_t k = 0; k < 3; ++k) {
      std::int32_t at;
      std::memcpy(&at, grid.data() + facts.first_leaf + n * facts.layout->leaf_bytes + node::kLeafBox + 4 * k, 4);
      out[n * 3 + k] = at & ~7;
    }
  return out;
}

std::vector<std::int32_t> voxel_places(std::span<const std::byte> grid, const GridFacts& facts) {
  const std::vector<std::int32_t> corners = tile_corners(grid, facts);
  std::vector<std::int32_t> out(std::size_t(facts.voxels) * 3);
  const auto put = [&](std::size_t row, std::size_t leaf, std::uint32_t voxel) {
    out[row * 3] = corners[leaf * 3] + std::int32_t(voxel >> 6);
    out[row * 3 + 1] = corners[leaf * 3 + 1] + std::int32_t(voxel >> 3 & 7);
    out[row * 3 + 2] = corners[leaf * 3 + 2] + std::int32_t(voxel & 7);
  };
  for (std::size_t n = 0; n < facts.leaves; ++n) {
    const std::byte* leaf = grid.data() + facts.first_leaf + n * facts.layout->leaf_bytes;
    std::uint64_t first = n * node::kVoxels + 1;
    if (is_index_grid(facts.type)) std::memcpy(&first, leaf + node::kLeafFirst, 8);
    if (!is_on_index_grid(facts.type)) {
      for (std::uint32_t voxel = 0; voxel < node::kVoxels; ++voxel) put(std::size_t(first - 1 + voxel), n, voxel);
      continue;
    }
    for (std::uint32_t word = 0; word < 8; ++word) {
      std::uint64_t bits;
      std::memcpy(&bits, leaf + node::kLeafMask + std::size_t(8) * word, 8);
      for (; bits; bits &= bits - 1)
        put(std::size_t(first++ - 1), n, word * 64 + std::uint32_t(std::countr_zero(bits)));
    }
  }
  return out;
}

}  // namespace weft::volume
