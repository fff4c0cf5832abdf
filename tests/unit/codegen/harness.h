// Runs kernels given as IR text through emit and load_object, over any lane count and chunking, on plain host memory.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "ir/ir.h"

namespace weft::codegen::test {

/// A parsed module; the kernel is its last function.
struct Program {
  explicit Program(const std::string& text);
  const ir::Function& kernel() const { return *module->functions.back(); }
  std::unique_ptr<ir::Module> module;
};

/// A parameter block under construction.
class Block {
 public:
  explicit Block(const Program& program) : layout_(param_layout(program.kernel())), bytes_(layout_.size + 8) {}

  template <class T>
  Block& scalar(T value) {
    std::memcpy(slot(sizeof value), &value, sizeof value);
    return *this;
  }
  /// Contiguous, or with given strides in bytes.
  template <class T>
  Block& array(std::vector<T>& data, std::vector<std::int64_t> shape = {}, std::vector<std::int64_t> strides = {},
               std::size_t first = 0) {
    ArrayDesc desc;
    desc.data = data.data() + first;
    if (shape.empty()) shape = {std::int64_t(data.size())};
    desc.ndim = std::int32_t(shape.size());
    std::int64_t stride = layout_.params[next_].type->element()->size();
    if (!strides.empty() && strides.back() != stride) strided_ = true;
    for (std::size_t d = shape.size(); d-- > 0;) {
      desc.shape[d] = shape[d];
      desc.strides[d] = strides.empty() ? stride : strides[d];
      stride *= shape[d];
    }
    return scalar(desc);
  }
  Block& null_array() { return scalar(ArrayDesc{}); }
  const void* data() const { return bytes_.data(); }
  /// Whether the innermost elements of an array lie apart.
  bool strided() const { return strided_; }

 private:
  char* slot(std::size_t size) {
    const ParamLayout::Param& param = layout_.params.at(next_++);
    EXPECT_EQ(param.type->size(), size) << param.name;
    return bytes_.data() + param.offset;
  }
  ParamLayout layout_;
  std::vector<char> bytes_;
  std::size_t next_ = 0;
  bool strided_ = false;
};

struct RunOptions {
  int lanes = 1;
  int opt_level = 2;
  std::int64_t chunk = 0;  // threads per call of the chunk function; 0: all at once
  TargetSpec target = host_target();
  bool free_masks = false;  // bodies as for processors with AVX-512
  bool strided = false;     // code that takes any spacing of elements, also where the arrays don't ask for it
};

/// Runs the kernel over the grid; gives the error record (state 0: no failed check).
struct Failure {
  int state = 0;
  int site = 0;
  std::int64_t linear = 0, index = 0, extent = 0;
};
Failure run(const Program& program, const Block& block, std::vector<std::int64_t> dims, const RunOptions& options = {});

/// The lane counts to compare with one lane.
std::vector<int> lane_counts();
/// The host, and the weaker machines it can stand for (x86: the baseline and AVX2; aarch64: Armv8.0): other instructions,
/// same results.
std::vector<TargetSpec> runnable_targets();

}  // namespace weft::codegen::test
