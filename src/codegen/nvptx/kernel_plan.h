// How a GPU kernel's threads go over the grid: one element at a time, or several neighbouring ones with wide accesses;
// and which atomic sums each thread keeps to itself until its work is done.
#pragma once
#include <unordered_set>
#include <vector>

#include "codegen/codegen.h"
#include "ir/ir.h"

namespace weft::codegen {

struct GpuPlan {
  /// Neighbouring elements that a thread works on in one step, where arrays are aligned to 16 bytes: 1, 2 or 4. Kernels
  /// that do little but stream memory gain a quarter of its bandwidth by it.
  int lanes = 1;
  /// With one lane: a second body for aligned arrays, whose vectors, quaternions and matrices move up to 16 bytes at a
  /// time.
  bool aligned = false;
  /// Steps that a thread of a large launch takes: several, where its beginning costs more than the rest of it hides.
  int steps = 1;
  /// That a thread may have at most; 0: as many as it likes.
  int registers = 0;
  /// Additions to fixed places whose results nobody wants, those to one place together. Threads add up their own first.
  std::vector<std::vector<const ir::Op*>> sums;
  /// Additions that go to one place in all threads of a warp, for all that can be told ahead: by indices that don't depend
  /// on the thread, or on outer dimensions alone. Threads may have parted, or a warp may hold two rows.
  std::unordered_set<const ir::Op*> meeting_adds;
  /// Additions to arrays that the kernel only adds to (analysis/private_sums.h): they may wait for each other.
  std::unordered_set<const ir::Op*> lone_adds;
};

/// With an order, each element is worked on by itself, and nothing is put off.
GpuPlan plan_gpu_kernel(const ir::Function& kernel, ThreadOrder order);

/// Additions to memory of the block by which all threads of a warp go to one element: they are summed there first. The GPU adds floats
/// to shared memory by comparing and swapping, thread after thread.
std::unordered_set<const ir::Op*> find_block_adds(const ir::Function& kernel);

/// Whether an atomic operation of a kernel goes to the same place in all threads.
bool goes_to_one_place(const ir::Op& atomic);

}  // namespace weft::codegen
