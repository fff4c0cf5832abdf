// Recorded launches: the block and the grid are copied once, each run goes straight to the launcher.
#include "driver/launch_command.h"

#include <algorithm>
#include <cstring>

#include "support/check.h"

namespace weft::driver {
namespace {

class Launch final : public runtime::Command {
 public:
  Launch(const Kernel& kernel, const KernelVariant& variant, const void* block, std::span<const std::int64_t> dims,
         bool adjoint, std::shared_ptr<const void> owner)
      : kernel_(kernel),
        variant_(variant),
        block_((variant.param_bytes + 7) / 8 + 1),
        rank_(dims.size()),
        adjoint_(adjoint),
        owner_(std::move(owner)),
        objects_(objects_in(variant.handles, block, nullptr, kernel.name())) {
    std::memcpy(block_.data(), block, variant.param_bytes);
    std::copy_n(dims.begin(), dims.size(), dims_);
  }

  void run(const runtime::LaunchOptions& options) const override {
    LaunchRequest request{{dims_, rank_}, options};
    request.options.descending = adjoint_ && options.serial;
    kernel_.run(variant_, block_.data(), request);
  }
  std::string text() const override {
    std::string out = (adjoint_ ? "adjoint of " : "") + kernel_.name() + " (";
    for (std::size_t d = 0; d < rank_; ++d) out += (d ? ", " : "") + std::to_string(dims_[d]);
    return out + (rank_ == 1 ? ",)" : ")");
  }

 private:
  const Kernel& kernel_;
  const KernelVariant& variant_;
  std::vector<std::uint64_t> block_;
  std::int64_t dims_[kMaxRank] = {};
  std::size_t rank_;
  bool adjoint_;
  std::shared_ptr<const void> owner_;
  std::vector<std::shared_ptr<geometry::Object>> objects_;  // whose ids are in the block
};

void touch(runtime::CommandList& list, const Type* type, const char* at) {
  if (type->is_struct() || type->is_indexed_array()) {
    for (const Field& f : type->fields()) touch(list, f.type, at + f.offset);
  } else if (type->is_array()) {
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(at);
    list.touch(runtime::data_range(desc, type->element()->size()));
    list.touch(runtime::grad_range(desc, type->element()->size()));
  }
}

}  // namespace

std::unique_ptr<const runtime::Command> launch_command(const Kernel& kernel, const KernelVariant& variant,
                                                       const void* block, std::span<const std::int64_t> dims,
                                                       bool adjoint, std::shared_ptr<const void> owner) {
  WEFT_CHECK(!variant.binary || !variant.binary->gpu());
  runtime::KernelCode code;
  code.name = kernel.name();
  code.tid_dims_read = variant.binary ? variant.binary->code().tid_dims_read : 0;
  runtime::launch_size(code, dims);
  return std::make_unique<Launch>(kernel, variant, block, dims, adjoint, std::move(owner));
}

void touch_arrays(runtime::CommandList& list, const ParamLayout& layout, const void* block) {
  for (const ParamLayout::Param& p : layout.params) touch(list, p.type, static_cast<const char*>(block) + p.offset);
}

}  // namespace weft::driver
