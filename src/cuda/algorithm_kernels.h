// Kernels of algorithms on whole arrays, written as PTX text: each is loaded when it is first used, and kept by its device.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/module.h"

namespace weft::cuda {

/// Those that a device has loaded, by name.
class AlgorithmKernels {
 public:
  explicit AlgorithmKernels(Device& device) : device_(device) {}
  /// The kernel of this name, which `text` gives as a module of PTX on first use. Throws DriverError.
  template <class Text>
  const KernelCode& get(const std::string& name, Text text) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<KernelCode>& slot = kernels_[name];
    if (!slot) slot = load(name, text());
    return *slot;
  }

 private:
  std::unique_ptr<KernelCode> load(const std::string& name, const std::string& ptx) {
    return std::make_unique<KernelCode>(device_, std::span(ptx.c_str(), ptx.size() + 1), name);
  }

  Device& device_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<KernelCode>> kernels_;
};

}  // namespace weft::cuda
