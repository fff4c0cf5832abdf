// Kernels whose threads share memory (tiles) are one kernel for each size of blocks on GPUs, and on the CPU where its blocks have
// several threads: which one a launch runs.
#include "driver/kernel.h"
#include "runtime/errors.h"

namespace weft::driver {

std::shared_ptr<Kernel> Kernel::under(CompileOptions options) const {
  if (!decl_)
    throw runtime::LaunchError(
        "kernel '" + name_ +
        "' came as portable code, which was not made for blocks of so many threads; run the program on the CPU, or "
        "make it again with the block_dim that it is to run with");
  return std::make_shared<Kernel>(decl_, std::move(options), source_hash_, interpret_, name_);
}

std::shared_ptr<Kernel> Kernel::with_block(int block, bool rows) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Kernel>& made = with_blocks_[{block, rows}];
  if (!made) {
    CompileOptions options = options_;
    options.gpu.block = block;
    options.gpu.rows = rows;
    made = under(std::move(options));
    made->set_shares_memory(true);
    made->set_names_may_change(names_may_change());
    made->set_module_disables_backward(module_disables_backward());
  }
  return made;
}

void Kernel::set_with_block(int block, bool rows, std::shared_ptr<Kernel> kernel) {
  kernel->set_shares_memory(true);
  set_shares_memory(true);
  std::unique_lock lock(mutex_);
  with_blocks_[{block, rows}] = std::move(kernel);
}

std::shared_ptr<Kernel> kernel_for(const std::shared_ptr<Kernel>& kernel, LaunchPlace& place,
                                   std::span<const std::int64_t> dims) {
  if (kernel->options().gpu.block || dims.empty()) return kernel;
  if (!place.device)
    return place.gpu.block_dim > 1 ? kernel->with_block(place.gpu.block_dim, dims.back() == place.gpu.block_dim)
                                   : kernel;
  if (!kernel->shares_memory().value_or(false)) return kernel;
  const int block = place.gpu.block_dim > 0 ? place.gpu.block_dim : kUsualBlock;
  if (block > ir::kMaxBlock)
    throw runtime::LaunchError("kernel '" + kernel->name() + "': a block has 1 to " + std::to_string(ir::kMaxBlock) +
                               " threads, block_dim is " + std::to_string(block));
  place.gpu.block_dim = block;
  return kernel->with_block(block, dims.back() == block);
}

}  // namespace weft::driver
