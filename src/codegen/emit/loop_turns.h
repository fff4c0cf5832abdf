// Which loops of CPU code count their turns, so that a launch can be stopped from inside of its kernels (emit/turns.cpp,
// docs/design/codegen.md). All of them do but short ones, of a constant count or one with a small bound, which are straight
// code in effect.
#pragma once
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "analysis/ranges.h"
#include "ir/ir.h"

namespace weft::codegen {

class LoopTurns {
 public:
  explicit LoopTurns(const ir::Module& module);

  enum class Way : std::uint8_t {
    none,  // not at all
    each,  // one by one
    bulk,  // a small `for`, whose count is known when it begins: all at once
  };
  Way of(const ir::Op& loop) const {
    auto it = ways_.find(&loop);
    return it == ways_.end() ? Way::none : it->second;
  }
  /// A loop of the function counts, or one of a function that it calls.
  bool counts(const ir::Function& function) const { return counting_.contains(&function); }

 private:
  struct Work {
    std::uint64_t turns = 0;  // of loops that don't count
    bool counts = false;
  };
  Work visit(const ir::Region& region);
  Work visit_loop(const ir::Op& loop);
  /// More turns a `for` can't have; by what is known of its bounds.
  std::uint64_t most_trips(const ir::Op& loop);

  std::unordered_map<const ir::Op*, Way> ways_;
  std::unordered_set<const ir::Function*> counting_;
  const ir::Function* function_ = nullptr;    // that is looked at
  std::unique_ptr<analysis::Ranges> ranges_;  // of it, made on demand
};

}  // namespace weft::codegen
