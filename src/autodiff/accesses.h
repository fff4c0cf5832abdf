// Which of a kernel's array parameters, fields of struct parameters included, it reads and writes: what a tape must know
// of a launch. Asked of an adjoint, "reads" is what its reverse needs of the arrays' values; gradients don't count.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ir/ir.h"

namespace weft::autodiff {

/// The arrays of a parameter block.
struct ArrayLeaf {
  std::size_t param = 0;
  std::uint32_t offset = 0;  // of the descriptor in the block
  const Type* type = nullptr;
};
/// In the order of parameters and fields; the first `params` parameters.
std::vector<ArrayLeaf> array_leaves(const ir::Function& kernel, std::size_t params);

struct Accesses {
  std::vector<bool> read, written;  // by leaf
  std::vector<bool> replaced;       // written by more than additions
  /// Through descriptors that came out of memory, or whose origin is not plain to see.
  bool read_elsewhere = false, written_elsewhere = false;
  bool read_objects = false;  // through descriptors in fixed memory: arrays of objects (analysis/handles.h)
};
Accesses accesses(const ir::Function& kernel, std::size_t params);
/// The leaves that such operations on arrays go to, ascending; false: some go elsewhere.
bool leaves_of(const ir::Function& kernel, std::span<const ir::Op* const> operations, std::vector<std::size_t>& out);

}  // namespace weft::autodiff
