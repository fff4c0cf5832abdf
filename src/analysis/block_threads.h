// How the threads of a block see a kernel with tiles: where they go together, and which elements of the block's memory are a
// thread's own.
#pragma once
#include <optional>

#include "analysis/uniformity.h"
#include "ir/ir.h"

namespace weft::analysis {

class BlockThreads {
 public:
  explicit BlockThreads(const ir::Function& kernel);
  BlockThreads(const BlockThreads&) = delete;
  BlockThreads& operator=(const BlockThreads&) = delete;

  bool uniform(const ir::Value* value) const { return shapes_.uniform(value); }
  const Uniformity& shapes() const { return shapes_; }

  /// Whether threads go through an `if` or a loop together and meet in its inside. Else it is a unit: barriers stand in front of
  /// it, and nobody inside needs what another thread writes there.
  bool together(const ir::Op& op) const;

  /// Whether a load, store or atomic goes to an element that is the thread's own: its number is the thread's plus a multiple of
  /// the block's size.
  bool is_own(const ir::Op& access) const;
  bool is_own_number(const ir::Value* index) const;

 private:
  /// Numbers modulo the block's size: so many times the thread's number, if the rest is a multiple.
  std::optional<int> thread_part(const ir::Value* value, int depth = 0) const;

  const ir::Function& kernel_;
  const LaneEntry entry_;
  const Uniformity shapes_;
};

}  // namespace weft::analysis
