// What the driver suites share: temporary folders, kernels ready to be built, and a check of what they compute.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "driver/kernel_binary.h"
#include "sema/file_scope.h"

namespace weft::agree {

/// A folder of its own, gone at the end.
struct TempFolder {
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string path;
};

runtime::CacheOptions cache_options(const std::string& folder);
/// The object and source entries in a cache folder.
std::vector<std::filesystem::path> entries(const std::string& folder);

/// The last kernel of a text, two float arrays wide, with a source key as Program gives it.
class ParsedKernel {
 public:
  explicit ParsedKernel(const std::string& text);
  driver::BuildRequest request() const;
  std::shared_ptr<const driver::KernelBinary> build(driver::BinaryStore& store,
                                                    driver::BuildReport* report = nullptr) const;

 private:
  std::shared_ptr<sema::FileScope> scope_;
  std::shared_ptr<const sema::FunctionDecl> kernel_;
  Hash128 hash_;
};

/// Runs a kernel that takes two float arrays and doubles the first into the second; says what is wrong, or nothing.
std::string run_doubling(const driver::KernelBinary& binary);

}  // namespace weft::agree
