// What calling a function does to memory and to the outside, as far as its caller can tell. Computed once per function
// and remembered: a tree of functions that call the next one twice costs one walk each. Summaries stay valid (if
// pessimistic) while passes only remove effects; make a new table after a pass that adds some.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

struct FunctionEffects {
  bool outside = false;        // prints, asserts, checks: must happen exactly as often as written
  bool asks_running = false;   // reads the stop flag
  bool reads_unknown = false;  // reads memory whose origin is not a parameter
  bool writes_unknown = false;
  bool leaks = false;            // may keep a descriptor: stores one, or turns one into an address
  bool reads_elsewhere = false;  // reads unknown memory that is not the gradient of an array
  std::vector<bool> reads;       // per parameter: reads memory that it (or an array in it) describes
  std::vector<bool> writes;

  /// Dropping an unused call changes nothing.
  bool removable() const;
  /// Calls with equal arguments give equal results and can move.
  bool pure() const;
};

class Effects {
 public:
  /// What follows a barrier sees what other threads wrote, wherever it lies; or that is not asked.
  enum class Barriers : std::uint8_t { show_all, show_nothing };
  explicit Effects(Barriers barriers = Barriers::show_all);
  ~Effects();
  /// The summary of `function`; makes those of its callees first, without recursion.
  const FunctionEffects& of(const ir::Function& function);

 private:
  FunctionEffects summarize(const ir::Function& function);
  Barriers barriers_;
  std::unordered_map<const ir::Function*, std::unique_ptr<FunctionEffects>> known_;
};

/// True if the operation can be merged with an equal one and moved: no memory, nothing outside, no regions.
bool is_movable(const ir::Op& op, Effects& effects);

}  // namespace weft::analysis
