// How a GPU kernel's threads go over the grid: one element at a time, or several neighbouring ones with wide accesses;
// and which atomic sums each thread keeps to itself until its work is done.
#pragma once
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
  /// Additions to one fixed place whose results nobody wants. Threads add up their own first.
  std::vector<const ir::Op*> sums;
};

/// With an order, each element is worked on by itself, and nothing is put off.
GpuPlan plan_gpu_kernel(const ir::Function& kernel, ThreadOrder order);

/// Whether an atomic operation goes to the same place in all threads, for all that can be told from its operands.
bool goes_to_one_place(const ir::Op& atomic);

}  // namespace weft::codegen
