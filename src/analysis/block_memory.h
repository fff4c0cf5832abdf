// Memory that the threads of a block share: which of it an array may be, how long each piece lives, and where it lies. Pieces
// that never live at the same time share their place.
#pragma once
#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

class BlockMemory {
 public:
  static constexpr std::size_t kMost = 512;  // pieces that are told apart; those beyond count as one
  using Set = std::bitset<kMost>;

  explicit BlockMemory(const ir::Function& kernel);

  bool empty() const { return pieces_.empty(); }
  /// The pieces that a descriptor may be of.
  Set of(const ir::Value* array) const { return of(sets_, array); }
  /// The piece that an operation makes.
  std::size_t number_of(const ir::Op& local) const { return numbers_.at(&local); }
  /// What lies in the same place as one of these, these included.
  Set together(const Set& pieces) const;

  std::uint32_t offset_of(const ir::Op& local) const { return pieces_[number_of(local)].offset; }
  /// Bytes of all of it.
  std::uint32_t bytes() const { return bytes_; }
  /// The pieces that live at once where they are most, with their bytes.
  std::vector<std::pair<const ir::Op*, std::uint32_t>> at_most() const;

 private:
  struct Piece {
    const ir::Op* local;
    std::uint32_t size = 0, offset = 0;
    std::uint32_t first = 0, last = 0;  // positions in the text
  };
  void find(const ir::Region& region);
  bool pass_on(const ir::Region& region);
  using Sets = std::unordered_map<const ir::Value*, Set>;
  static Set of(const Sets& sets, const ir::Value* value);
  static bool join(Sets& sets, const ir::Value* value, const Set& pieces);
  void measure(const ir::Region& region, std::uint32_t& position);
  void place(std::uint32_t alignment);

  std::vector<Piece> pieces_;
  std::unordered_map<const ir::Op*, std::size_t> numbers_;
  Sets sets_;  // what a descriptor, or a struct with some, may be of
  Sets held_;  // what the descriptors that lie in a table may be of
  std::unordered_map<const ir::Op*, std::pair<std::uint32_t, std::uint32_t>> loops_;  // where they begin and end
  std::vector<Set> shares_;  // by piece: what lies in its place
  std::uint32_t bytes_ = 0;
};

}  // namespace weft::analysis
