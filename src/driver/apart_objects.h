// Library functions that are compiled apart from kernels (codegen::functions_to_compile_apart): each once for all kernels that
// call it, found in this process, on disk, or compiled on a thread of its own while the kernel is.
#pragma once
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "codegen/codegen.h"
#include "driver/options.h"
#include "runtime/cache.h"

namespace weft::driver {

/// Thread-safe.
class ApartObjects {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  /// The objects for one kernel, on their way. The module has to live as long.
  class Needed {
   public:
    Needed() = default;
    Needed(Needed&&) = default;
    Needed& operator=(Needed&&) = default;
    ~Needed();
    /// How the kernel refers to them.
    const codegen::FunctionsApart& symbols() const { return symbols_; }
    /// Waits for them; throws what compiling one threw.
    std::vector<Bytes> objects() const;

   private:
    friend class ApartObjects;
    codegen::FunctionsApart symbols_;
    std::vector<std::shared_future<Bytes>> coming_;
    std::vector<std::thread> threads_;
  };

  /// Begins to find or make what a kernel needs. `level`: LLVM's for what is not there yet; lower than that of the
  /// options for a kernel that begins with a first version. `disk` may be null.
  Needed start(const ir::Module& module, const ir::Function& kernel, const codegen::TargetSpec& target,
               const CompileOptions& options, const codegen::EmitOptions& emit_options, int level,
               std::shared_ptr<runtime::Cache> disk);

 private:
  /// The object under a key if it was made or is on its way, or lies on disk.
  std::optional<std::shared_future<Bytes>> find(const Hash128& key, runtime::Cache* disk);

  std::mutex mutex_;
  std::unordered_map<Hash128, std::shared_future<Bytes>> known_;
};

/// Appends objects, each at a multiple of 64 bytes, as linkers want them; gives the size of each.
std::vector<std::uint64_t> join_objects(std::string& bytes, std::span<const ApartObjects::Bytes> others);
/// The same bytes by their sizes. Throws codegen::Error where there are fewer.
std::vector<std::span<const char>> cut_objects(std::span<const char> bytes, std::span<const std::uint64_t> sizes);

}  // namespace weft::driver
