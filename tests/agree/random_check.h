// Judging random kernels: interpreter, one lane and all lanes, or a GPU, must leave the same bytes. A failure is shrunk and told
// with its seed, program and first difference.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include "random_kernel.h"

namespace weft::agree {

/// The first disagreement about a program in words; empty when there is none. `rejected`: it did not compile; `thrown`: it was an
/// exception, which a program with lines dropped may bring about for reasons of its own.
struct Verdict {
  std::string difference;
  bool rejected = false, thrown = false;
};
/// On the CPU, or (`on_gpu`) on a GPU alone.
Verdict judge(const RandomProgram& program, bool on_gpu = false);

/// Drops lines while the program still fails in the same manner.
RandomProgram shrink(RandomProgram program, bool on_gpu = false);

/// Checks the seeds first … first+count−1 on all cores (count 0: for ever). Each failure is handed to `report`, one at a
/// time, as text; stops after `max_failures`. Returns the number of programs checked.
std::uint64_t check_seeds(std::uint64_t first, std::uint64_t count, int max_failures,
                          const std::function<void(const std::string&)>& report, bool on_gpu = false);

}  // namespace weft::agree
