// Whether the threads of a block have the same number, and go the same way. Three answers: the same, by what is known of lanes
// (analysis/uniformity.h, with the block for a vector); apart, if a number is made of the thread's own number, of what arrays hold
// at its place or of what its atomic operation found, and of nothing that could make it the same again; else nobody can tell.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/block_threads.h"
#include "analysis/ranges.h"
#include "ir/ir.h"

namespace weft::analysis {

enum class Spread : std::uint8_t { same, apart, unknown };

class BlockWays {
 public:
  explicit BlockWays(const ir::Function& kernel);

  Spread of(const ir::Value* value);
  /// Of the way through an `if` or a loop, loops that threads share excepted, which are the library's.
  Spread of_branch(const ir::Op& op);
  /// What makes a value apart, and where, for an error: "by their number", "by what they read from x (line 7)".
  std::string reason(const ir::Value* value);
  /// The value by which threads part.
  const ir::Value* parts_by(const ir::Op& branch);
  const BlockThreads& threads() const { return threads_; }

 private:
  Spread find(const ir::Value* value);
  Spread of_result(const ir::Op& op, std::uint32_t index);
  Spread of_operands(const ir::Op& op);
  Spread of_if(const ir::Op& op, std::uint32_t index);
  Spread of_carried(const ir::Op& loop, std::uint32_t number, const ir::Value* inside);
  bool runs_by_blocks(const ir::Value* value) const;

  const ir::Function& kernel_;
  const BlockThreads threads_;
  const Ranges ranges_;
  std::vector<std::uint8_t> known_;  // by value: 0 not looked at, 1 under way, 2 + Spread
  int depth_ = 0;
};

}  // namespace weft::analysis
