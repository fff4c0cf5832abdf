// What a launch of the PTX machine did, for who looks for speed without a GPU: how often each kind of instruction ran, and how many passes
// the accesses of its warps would take: wavefronts of shared memory (threads that go to other words of the same bank wait for each
// other) and sectors of 32 bytes of global memory. Threads run one after the other here; the n-th time that threads of a warp
// come by an instruction counts as one access of the warp.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx_code.h"
#include "ptx_machine.h"

namespace weft::cuda::fake {

class PtxCounts {
 public:
  void note(const PtxThread& t, const PtxInstruction& i) {
    Seen& seen = seen_[&i];
    seen.statements = &t.frames[t.depth]->function->statements;
    if (seen.times.size() <= t.index) seen.times.resize(t.index + 1);
    ++seen.times[t.index];
  }
  void note_access(const PtxThread& t, const PtxInstruction& i, bool shared, std::uint64_t address, std::size_t bytes) {
    const auto seen = seen_.find(&i);
    if (seen == seen_.end()) return;
    Access& one = accesses_[{&i, t.index / 32, seen->second.times[t.index]}];
    one.shared = shared;
    one.places.push_back({t.index % 32, address, std::uint32_t(bytes)});
  }
  /// Forgets which times were whose: another block begins.
  void end_block();
  /// A line of JSON: the kernel, blocks, threads of one, bytes of shared memory that the launch asked for; and by kind of instruction how
  /// often threads ran it, how often warps, and the passes of its accesses.
  std::string line(const std::string& kernel, const PtxLaunch& launch) const;

 private:
  struct Seen {
    const std::vector<PtxFunction::Statement>* statements = nullptr;
    std::vector<std::uint64_t> times;  // by thread
  };
  struct Key {
    const PtxInstruction* instruction;
    std::size_t warp;
    std::uint64_t time;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.instruction) ^ (key.warp * 0x9E3779B97F4A7C15u) ^
             (key.time * 0xC2B2AE3D27D4EB4Fu);
    }
  };
  struct Place {
    std::uint32_t lane;
    std::uint64_t address;
    std::uint32_t bytes;
  };
  struct Access {
    bool shared = false;
    std::vector<Place> places;
  };
  static std::uint64_t passes(const Access& access);

  std::unordered_map<const PtxInstruction*, Seen> seen_;
  std::unordered_map<Key, Access, Hash> accesses_;
  struct Total {
    std::uint64_t times = 0, warps = 0, passes = 0;
  };
  std::map<std::string, Total> totals_;  // by kind
};

}  // namespace weft::cuda::fake
