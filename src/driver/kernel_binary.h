// A kernel compiled for one form, ready to launch on the CPU or on a GPU, and how it is found: in this process by content
// key, in the cache on disk by source key and content key, or by compiling it.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sum_order.h"
#include "cuda/module.h"
#include "driver/held_objects.h"
#include "driver/launch_form.h"
#include "driver/options.h"
#include "driver/taping.h"
#include "driver/touched_memory.h"
#include "runtime/cache.h"
#include "runtime/launch.h"
#include "runtime/private_sums.h"
#include "runtime/sum_buckets.h"
#include "sema/sema.h"

namespace weft::driver {

class FullVersion;

/// Machine code in this process and all that a launch needs to know of it. Shared by all kernels with the same content.
class KernelBinary {
 public:
  const runtime::KernelCode& code() const { return code_; }
  const std::string& name() const { return name_; }
  /// The code on a GPU, where code() has no entry; null for the CPU.
  const cuda::KernelCode* gpu() const { return gpu_.get(); }
  /// GPU: steps that threads of large launches take; see codegen::Emitted.
  int steps() const { return steps_; }
  /// GPU: kernels whose threads share memory: of how many a block is made; 0: of any number.
  int block() const { return block_; }
  /// CPU: arrays that the kernel only adds to, without atomic operations (runtime/private_sums.h).
  std::span<const runtime::SumSlot> sums() const { return sums_; }
  /// CPU: the additions to them, if these can be written down (runtime/sum_buckets.h); `by_buckets`: this code does so.
  std::span<const runtime::SumStream> streams() const { return streams_; }
  bool by_buckets() const { return by_buckets_; }
  /// Ids among the arguments.
  std::span<const HandlePlace> handles() const { return handles_; }
  /// Whether it may touch memory that is not among its arguments: arrays made of addresses, objects whose ids lie in memory.
  bool uses_addresses() const { return uses_addresses_; }
  /// What it touches.
  const TouchedMemory& memory() const { return memory_; }
  /// CPU: whether its results depend on the order of threads.
  analysis::SumOrder sum_order() const { return sum_order_; }
  /// Of a first version: the way to the full one; else null.
  const std::shared_ptr<FullVersion>& full() const { return full_; }

 private:
  friend class BinaryStore;
  std::string name_;
  std::vector<runtime::CheckSite> sites_;
  std::shared_ptr<codegen::LoadedCode> loaded_;
  std::unique_ptr<cuda::KernelCode> gpu_;
  int steps_ = 1;
  int block_ = 0;
  bool uses_addresses_ = false;
  TouchedMemory memory_;
  analysis::SumOrder sum_order_ = analysis::SumOrder::free;
  std::vector<runtime::SumSlot> sums_;
  std::vector<runtime::SumStream> streams_;
  bool by_buckets_ = false;
  std::vector<HandlePlace> handles_;
  std::shared_ptr<FullVersion> full_;
  runtime::KernelCode code_;
  std::atomic<float> seen_ns_{0};  // KernelCode::seen_ns
};

/// Thrown when code for a GPU is asked for of a kernel whose threads share memory, without saying how many make a block.
struct NeedsBlock : std::exception {
  const char* what() const noexcept override { return "the threads of a block share memory: how many are there?"; }
};

/// What a build is worth.
enum class Effort : std::uint8_t {
  full,   // the code that stays
  first,  // for a launch that waits: large kernels may begin with a version that compiles quickly (docs/design/tiers.md)
};

/// What a build did; for reports, tests and benchmarks.
struct BuildReport {
  enum class Source : std::uint8_t { process, disk, compiled };
  Source source = Source::compiled;
  bool source_key_hit = false;  // no front end ran
  double seconds_front = 0, seconds_passes = 0, seconds_emit = 0, seconds_llvm_opt = 0, seconds_codegen = 0,
         seconds_load = 0;
  double seconds_assembler = 0;  // GPU: part of seconds_codegen
  std::size_t ir_ops = 0;        // after optimisation
  int lanes = 0;
  bool first = false;  // a first version
};

/// Under which keys a kernel is found; known of one that is built once more.
struct KnownKeys {
  Hash128 content;
  std::optional<Hash128> source, group;
};

/// A kernel to build: where it comes from and for what.
struct BuildRequest {
  const sema::FunctionDecl* kernel = nullptr;
  std::string name;                    // as the program calls it, for reports; empty: as its code does
  std::string place;                   // of its text, for reports, where `kernel` is not known any more
  std::vector<const Type*> arg_types;  // one per parameter
  LaunchForm form;
  CompileOptions options;
  cuda::Device* device = nullptr;  // null: the CPU
  Effort effort = Effort::full;
  bool background = false;  // the end of the process need not wait for it
  bool ahead = false;       // nobody has asked for it yet: BinaryStore holds it until somebody does
  Hash128 source_hash;  // of everything the kernel's meaning depends on, with its name and place; zero: no source key
  /// Makes the IR in place of the front end, for kernels that were saved as IR; then `kernel` and `arg_types` are not used.
  std::function<std::unique_ptr<ir::Module>()> make_module;
  /// Makes the kernel as it is lowered, without derivatives, in place of the text: of kernels that came as IR; then `kernel`
  /// is not used.
  std::function<std::unique_ptr<ir::Module>()> lowered;
  /// Asked when the front end has run: whether source_hash covers all that it looked at. Empty: it does.
  std::function<bool()> source_complete;
  std::optional<KnownKeys> known;  // where make_module makes it once more
};

/// Lowers and sets the form; null with errors in the sink.
/// `gradients`: functions keep their custom gradients though the form asks for no derivative.
std::unique_ptr<ir::Module> front_end(const BuildRequest& request, DiagnosticSink& sink, bool gradients = false);
/// The kernel itself, in the form that was asked for but not differentiated; null with errors in the sink. From this every
/// form can be made (with `gradients`).
std::unique_ptr<ir::Module> lower(const BuildRequest& request, DiagnosticSink& sink, bool gradients);
/// The plan for launches of a request for a tangent, or for the adjoint of one.
TangentPlan plan_tangent(const BuildRequest& request);
/// The sites of a module's checks in the runtime's words.
std::vector<runtime::CheckSite> describe_sites(const ir::Module& module);
/// Which thread indices a kernel reads, as a bit mask.
std::uint32_t tid_dims_read(const ir::Module& module);
/// A rough cost of one thread in nanoseconds when `lanes` run at a time; decides how launches are cut.
float estimate_ns(const ir::Function& kernel, int lanes = 1);

/// All binaries of the process, and the cache on disk behind them. Thread-safe.
class BinaryStore {
 public:
  explicit BinaryStore(runtime::CacheOptions cache);
  ~BinaryStore();
  /// The store that programs use unless told otherwise: cache folder from the environment.
  static BinaryStore& shared();

  /// Finds or builds. Null with errors in the sink.
  std::shared_ptr<const KernelBinary> get(const BuildRequest& request, DiagnosticSink& sink,
                                          BuildReport* report = nullptr);
  /// The cache on disk in use now.
  std::shared_ptr<runtime::Cache> cache() const;
  /// Uses another folder from now on; empty: no caching. What was loaded stays loaded.
  void set_cache_folder(const std::string& folder);

 private:
  struct Impl;
  class Search;
  std::shared_ptr<Impl> impl_;  // full versions that are made later hold it, too
};

}  // namespace weft::driver
