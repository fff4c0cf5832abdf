// Runs the runtime's own hand-written PTX on the CPU, for the fake driver: the subset of instructions that those kernels
// use, with blocks, warps, barriers, shuffles and votes. Device memory is host memory; every access is checked.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::cuda::fake {

struct PtxKernel;

/// A module of PTX text.
class PtxModule {
 public:
  explicit PtxModule(const std::string& text);
  ~PtxModule();
  bool has(const std::string& kernel) const { return kernels_.count(kernel) != 0; }
  /// Runs a kernel over all its blocks; `readable(address, bytes)` judges accesses of global memory. Throws
  /// std::runtime_error for what a GPU would trap on or this machine does not know.
  void run(const std::string& kernel, unsigned blocks, unsigned threads, const std::vector<unsigned char>& arguments,
           const std::function<bool(std::size_t, std::size_t)>& readable) const;

 private:
  std::map<std::string, std::unique_ptr<PtxKernel>> kernels_;
};

}  // namespace weft::cuda::fake
