// Finds races for shared memory: two threads of a block at the same bytes with no barrier between, of which one writes,
// and not both by atomics. Barriers of a warp order what its own threads do. Threads run one after the other here, so
// what is kept is the order that the program asks for, not the one that happened.
//
// Threads that all write the same bits, as `t[0] = 7.0` makes them do, are no race, and each of them may read what it
// wrote; for others it is one to read it.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ptx_code.h"

namespace weft::cuda::fake {

class PtxRaces {
 public:
  enum class Access : std::uint8_t { read, write, atomic };

  /// `grain`: the width of the narrowest access, bytes.
  PtxRaces(std::size_t bytes, std::uint32_t grain, std::size_t threads)
      : grain_(grain), cells_((bytes + grain - 1) / grain), warps_((threads + 31) / 32, 1) {}

  /// `same`: a store leaves the bits that were there.
  void note(const PtxThread& t, const PtxInstruction& i, std::size_t offset, std::size_t bytes, Access access,
            bool same) {
    const Mark mark{time_, warps_[t.index / 32], t.index, &i, &t.frames[t.depth]->function->statements};
    for (std::size_t k = offset / grain_; k < (offset + bytes + grain_ - 1) / grain_; ++k)
      note_cell(cells_[k], k, mark, access, same);
  }
  void block_barrier() {
    ++time_;
    repeated_.clear();
  }
  void warp_barrier(std::size_t warp) { ++warps_[warp]; }

 private:
  /// An access: when, by whom, by which instruction.
  struct Mark {
    std::uint32_t time = 0, warp_time = 0, thread = 0;
    const PtxInstruction* instruction = nullptr;
    const std::vector<PtxFunction::Statement>* statements = nullptr;
  };
  /// Accesses of a kind since the last barrier. Of each warp two threads are enough, and two warps: whoever comes then is
  /// another one than one of them.
  struct Marks {
    Mark of[4];
  };
  struct Cell {
    Mark written;
    Marks read, added;
  };

  /// Whether a barrier stands between an access and a later one.
  static bool ordered(const Mark& before, const Mark& now) {
    if (before.time != now.time || before.thread == now.thread) return true;
    return before.thread / 32 == now.thread / 32 && before.warp_time != now.warp_time;
  }
  static void keep(Marks& marks, const Mark& now);
  void note_cell(Cell& cell, std::size_t k, const Mark& now, Access access, bool same) {
    if (!ordered(cell.written, now)) meet_write(cell, k, now, access == Access::write && same);
    if (access != Access::read) check(cell.read, k, now, same);
    if (access != Access::atomic) check(cell.added, k, now, false);
    if (access == Access::write)
      cell.written = now;
    else
      keep(access == Access::read ? cell.read : cell.added, now);
  }
  void meet_write(const Cell& cell, std::size_t k, const Mark& now, bool same) {
    if (same) {
      repeated_.insert({k, cell.written.thread});
      repeated_.insert({k, now.thread});
    } else if (!repeated_.count({k, now.thread})) {
      fail(k, cell.written, now);
    }
  }
  void check(const Marks& marks, std::size_t k, const Mark& now, bool same) const {
    for (const Mark& one : marks.of)
      if (!ordered(one, now) && !(same && repeated_.count({k, one.thread}))) fail(k, one, now);
  }
  [[noreturn]] void fail(std::size_t k, const Mark& before, const Mark& now) const;

  std::uint32_t grain_;
  std::vector<Cell> cells_;
  std::uint32_t time_ = 1;            // one more behind each barrier of the block
  std::vector<std::uint32_t> warps_;  // and of each warp
  std::set<std::pair<std::size_t, std::uint32_t>>
      repeated_;  // cells and threads that wrote what others did, since then
};

}  // namespace weft::cuda::fake
