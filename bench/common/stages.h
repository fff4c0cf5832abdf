// Source text taken through every stage of the compiler with a clock on each, and a way to do that in a fresh child
// process, so that first-use costs and peak memory belong to one case alone.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace weft::bench {

/// Seconds per stage and sizes of one compile. Plain data: it travels through a pipe.
struct StageTimes {
  double parse = 0;   // text to tree, and the module level read
  double lower = 0;   // tree to IR
  double passes = 0;  // IR to optimised IR
  double emit = 0;    // IR to LLVM IR
  double llvm_opt = 0;
  double llvm_codegen = 0;
  double load = 0;  // object to callable code
  std::size_t lines = 0, kernels = 0;
  std::size_t ops_lowered = 0, ops_optimised = 0, object_bytes = 0;
  std::size_t memory_own = 0, memory_llvm = 0;  // growth of the peak resident set: our stages, then LLVM's

  double own() const { return parse + lower + passes; }
  double llvm() const { return emit + llvm_opt + llvm_codegen; }
  double total() const { return own() + llvm() + load; }
};

/// Compiles every kernel of the text, one after the other. With `machine_code` false it stops at optimised IR. Aborts
/// with the messages when the text has errors.
StageTimes compile_stages(const std::string& text, bool machine_code, int lanes = 0);

/// Runs `work` in a forked child and returns what it returned.
StageTimes in_child(const std::function<StageTimes()>& work);

}  // namespace weft::bench
