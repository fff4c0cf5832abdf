// A block of the PTX machine: its threads, its shared memory, and who may go on.
#pragma once
#include <vector>

#include "ptx_code.h"
#include "ptx_counts.h"
#include "ptx_races.h"

namespace weft::cuda::fake {

class PtxBlock {
 public:
  PtxBlock(const PtxProgram& program, const PtxFunction& kernel, const PtxLaunch& launch);

  /// Runs block number `id` from its start. The object serves all blocks of a launch.
  void run(unsigned id);
  std::size_t steps() const { return steps_; }

  const PtxLaunch& launch() const { return launch_; }
  unsigned id() const { return id_; }
  std::vector<unsigned char>& shared() { return shared_; }
  PtxRaces* races() { return launch_.watch_races ? &races_ : nullptr; }
  PtxCounts* counts() { return launch_.count ? &counts_ : nullptr; }
  /// Whether memory belongs to the program's variables.
  bool is_variable(Word address, std::size_t bytes) const;

  /// Starts a frame for a function on top of a thread's others.
  void enter(PtxThread& t, const PtxFunction& function);
  /// What a special register holds.
  Word special(const PtxThread& t, char kind) const;

 private:
  void advance(PtxThread& t);
  bool meet_in_warp(std::size_t first);
  bool meet_in_group(std::size_t first);
  bool meet_in_block();
  bool meet_active(std::size_t first);
  void together(const PtxInstruction& i, std::size_t first, std::uint32_t lanes);
  void go_on(PtxThread& t);
  [[noreturn]] void fail_waiting() const;
  const PtxInstruction& at(const PtxThread& t) const { return t.code[t.pc]; }
  std::uint32_t present(std::size_t first) const;

  const PtxProgram& program_;
  const PtxFunction& kernel_;
  const PtxLaunch& launch_;
  unsigned id_ = 0;
  std::size_t steps_ = 0;
  std::vector<unsigned char> shared_;
  std::vector<PtxThread> threads_;
  PtxRaces races_;
  PtxCounts counts_;
};

}  // namespace weft::cuda::fake
