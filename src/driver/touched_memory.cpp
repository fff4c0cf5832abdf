// From a kernel's parameters to the descriptors in its block.
#include "driver/touched_memory.h"

#include "analysis/param_memory.h"
#include "codegen/codegen.h"

namespace weft::driver {
using analysis::ParamMemory;

TouchedMemory touched_memory(const ir::Module& module) {
  const ParamMemory known = analysis::param_memory(module);
  TouchedMemory out;
  out.all = known.all;
  out.prints = known.prints;
  if (!known.all) return out;
  const ParamLayout layout = codegen::param_layout(*module.functions.back());
  std::size_t k = 0;  // the parameter that the array is, or is a part of
  for (const ParamLayout::Array& array : layout.arrays) {
    while (k + 1 < layout.params.size() && layout.params[k + 1].offset <= array.offset) ++k;
    if (known.uses[k]) out.arrays.push_back({array.offset, array.element_size, known.uses[k]});
  }
  return out;
}

std::optional<cuda::Touched> TouchedMemory::of(const char* block, std::uint64_t print_buffer) const {
  if (!all) return std::nullopt;
  cuda::Touched out;
  if (prints) out.written.push_back({std::uintptr_t(print_buffer), std::uintptr_t(print_buffer) + 1});
  auto add = [&](const runtime::ByteRange& range, int uses) {
    if (range.lo == range.hi) return;
    if (uses & ParamMemory::kReads) out.read.push_back(range);
    if (uses & ParamMemory::kWrites) out.written.push_back(range);
  };
  for (const TouchedArray& array : arrays) {
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(block + array.offset);
    add(runtime::data_range(desc, array.element_size), array.uses);
    add(runtime::grad_range(desc, array.element_size), array.uses / ParamMemory::kGradient);
  }
  return out;
}

}  // namespace weft::driver
