// All compiled forms of one kernel: per argument types a signature with its parameter layout, per form of the launch
// (launch_form.h) a variant with machine code (or, for the interpreter, optimised IR). Variants are built
// on first use and shared by all threads. C++ programs and the Python binding both launch through this.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "driver/held_objects.h"
#include "driver/kernel_binary.h"
#include "driver/launch_form.h"
#include "driver/taping.h"
#include "runtime/launch.h"
#include "sema/sema.h"

namespace weft::driver {

class Kernel;

/// One form of a kernel, ready to run.
struct KernelVariant {
  std::string name;                            // the kernel's: code that two share has one of theirs
  std::shared_ptr<const KernelBinary> binary;  // machine code
  std::unique_ptr<ir::Module> module;          // interpreter
  std::vector<runtime::CheckSite> sites;       // interpreter
  BuildReport report;                          // machine code: where it came from
  std::uint32_t param_bytes = 0;               // of the parameter block
  std::string ordered;                         // an adjoint: TapeFacts::ordered
  bool any_order = false;                      // an adjoint: its threads need not run in the opposite order
  bool adjoint = false;                        // it is one
  const TangentPlan* plan = nullptr;           // a tangent that has an order, or the adjoint of one
  bool in_order = false;                       // threads run one after another, an adjoint's from the last
  std::vector<HandlePlace> handles;            // ids among the arguments

  /// The same with other code.
  std::unique_ptr<KernelVariant> with(std::shared_ptr<const KernelBinary> code, const BuildReport& made) const;
};

/// A form on the CPU that runs by a first version (docs/design/tiers.md).
struct FirstForm {
  std::size_t index;  // LaunchForm::index
  const KernelVariant* variant;
};

inline constexpr std::size_t kMaxCudaDevices = 64;  // of a process

/// The forms of a signature on one device, by LaunchForm::index: set once, read without a lock.
struct FormTable {
  std::atomic<const KernelVariant*> variants[LaunchForm::kCount] = {};
};

/// A kernel for one list of argument types.
struct KernelSignature {
  std::vector<const Type*> types;
  ParamLayout layout;
  mutable ArrayOrder order;
  FormTable host;
  std::atomic<FormTable*> cuda[kMaxCudaDevices] = {};  // by ordinal; made on first use
  std::atomic<FormTable*> bucketed = nullptr;      // CPU: forms with bucket_sums; made on first use, for few have any
  std::vector<std::unique_ptr<FormTable>> tables;  // own what these point to
  std::vector<std::unique_ptr<const KernelVariant>> owned;
  /// Not in `host` as long as they run by a first version, so that only their launches look for the full one. Guarded by
  /// the kernel's lock.
  std::vector<FirstForm> first;
  /// By LaunchForm::plain_index: set once, read without a lock.
  std::atomic<const TapeFacts*> tape[LaunchForm::kPlainCount] = {};
  std::vector<std::unique_ptr<const TapeFacts>> owned_facts;
  std::unique_ptr<ir::Module> watched[LaunchForm::kPlainCount];         // for find_race, by the same
  std::atomic<const TangentPlan*> plans[LaunchForm::kPlainCount] = {};  // of a tangent, by the same
  std::vector<std::unique_ptr<const TangentPlan>> owned_plans;
  std::atomic<double> log_words{0};  // that a thread of a launch on a GPU wrote down, at most on average

  /// What tapes know of such a launch if somebody has asked already. No lock.
  const TapeFacts* known_facts(LaunchForm form) const {
    return tape[form.plain_index()].load(std::memory_order_acquire);
  }
  /// The form for such a launch if it was built already; a null device is the CPU. No lock.
  const KernelVariant* ready(LaunchForm form, const cuda::Device* device = nullptr) const {
    const FormTable* table = &host;
    if (device) table = cuda[device->ordinal()].load(std::memory_order_acquire);
    if (form.bucket_sums) table = bucketed.load(std::memory_order_acquire);
    return table ? table->variants[form.index() % LaunchForm::kCount].load(std::memory_order_acquire) : nullptr;
  }
};

/// What a launch on a GPU can be told.
struct GpuLaunchOptions {
  const cuda::Stream* stream = nullptr;  // null: the device's current one
  int block_dim = 0;                     // threads per block; 0: 256, or what the kernel's registers allow
  std::int64_t max_blocks = 0;           // 0: no limit; threads loop over what is left
};

struct LaunchRequest {
  std::span<const std::int64_t> dims;
  runtime::LaunchOptions options;
  GpuLaunchOptions gpu = {};
};

/// Where and how a launch runs; a null device is the CPU.
struct LaunchPlace {
  cuda::Device* device = nullptr;
  GpuLaunchOptions gpu = {};
};

/// A launch whose form is known, and what it works on.
struct LaunchWork {
  std::shared_ptr<Kernel> kernel;
  KernelSignature& signature;
  const KernelVariant& variant;
  const char* block;
  std::span<const std::int64_t> dims;
  const LaunchPlace& place;
  bool adjoint;                               // it is one of an adjoint
  const std::vector<runtime::Array>& memory;  // that the block points to: graphs keep it
  std::shared_ptr<void> owner;                // of what else it points to; the language knows what it is
};

/// The form of a launch that tapes, or adjoints, are asked for: form_of, and whether objects lie apart.
LaunchForm tape_form(Kernel& kernel, KernelSignature& signature, const char* block, std::size_t rank);

/// Whether the threads of such a launch run one after another, in their order or in the opposite one.
bool in_thread_order(const KernelVariant& variant, const LaunchRequest& request);

/// BuildRequest's source_hash and source_complete.
struct SourceKey {
  Hash128 hash;
  std::function<bool()> complete;
};

/// A kernel under one set of options, and all its compiled forms. Languages derive their own from it: they say how it is
/// compiled for a launch, what runs meanwhile, and who hears of it (the last group of functions).
class Kernel {
 public:
  /// `name`: by which messages know it; empty: the function's.
  Kernel(std::shared_ptr<const sema::FunctionDecl> decl, CompileOptions options, Hash128 source_hash, bool interpret,
         std::string name = {});
  /// A kernel that came as IR (kernel_from_ir.h): the names of its parameters, and what makes it as it is lowered.
  Kernel(std::string name, std::vector<std::string> params, std::function<std::unique_ptr<ir::Module>()> lowered,
         CompileOptions options);
  virtual ~Kernel() = default;

  const std::string& name() const { return name_; }
  const CompileOptions& options() const { return options_; }
  const sema::FunctionDecl& decl() const { return *decl_; }
  /// The signature of a kernel without generic parameters once it was asked for, else null. No lock.
  KernelSignature* plain_signature() const { return plain_.load(std::memory_order_acquire); }
  /// The parameters as annotated; read on first use. Errors go to the sink; then the result is null.
  const std::vector<sema::KernelParam>* params(DiagnosticSink& sink);
  /// The signature for these types, one per parameter, which must fit the annotations.
  KernelSignature& signature(const std::vector<const Type*>& types);
  /// Finds or builds a form; null with errors in the sink.
  const KernelVariant* variant(KernelSignature& signature, LaunchForm form, DiagnosticSink& sink,
                               cuda::Device* device = nullptr, Effort effort = Effort::full) {
    return variant(signature, form, {source_hash_, {}}, sink, device, effort);
  }
  /// The same for a host that hashes what its names mean at the time of building.
  const KernelVariant* variant(KernelSignature& signature, LaunchForm form, const SourceKey& source,
                               DiagnosticSink& sink, cuda::Device* device = nullptr, Effort effort = Effort::full);
  /// Makes a plain form on a device of code that was made for it elsewhere (driver/late_code.h), unless there is one by now.
  const KernelVariant& take_code(KernelSignature& signature, LaunchForm form, cuda::Device& device,
                                 std::shared_ptr<const KernelBinary> binary, const BuildReport& report);
  /// Compiles the form that a launch will probably ask for, and leaves it to the store until one does. Errors are kept
  /// for that launch.
  void build_ahead(KernelSignature& signature, LaunchForm form, const SourceKey& source, cuda::Device* device);
  /// The IR of a form, as the front end makes it; null with errors in the sink.
  std::unique_ptr<ir::Module> module(KernelSignature& signature, LaunchForm form, DiagnosticSink& sink) const {
    return front_end(request_for(signature, form), sink);
  }
  /// The IR from which all forms of a signature can be made, derivatives too; null with errors in the sink.
  std::unique_ptr<ir::Module> lowered(KernelSignature& signature, DiagnosticSink& sink) const {
    return lower(request_for(signature, {}), sink, /*gradients=*/true);
  }
  /// What a tape must know of the form for such a launch; found out on first use.
  const TapeFacts& tape_facts(KernelSignature& signature, LaunchForm form);
  /// The same, other threads of the language running meanwhile.
  const TapeFacts& facts_for(KernelSignature& signature, LaunchForm form);
  /// A tangent: what launches must know of the order of its threads; found out on first use.
  const TangentPlan& tangent_plan(KernelSignature& signature, LaunchForm form);
  /// Whether threads of such a launch meet in an element (driver/race_check.h); the block's arrays are used up.
  std::string find_race(KernelSignature& signature, LaunchForm form, const void* block, const LaunchRequest& request);
  /// Whether a launch should ask for the form with atomic_sums or bucket_sums instead of this one, which `form` then says: there are
  /// several workers, and copies of the arrays that they add to would cost more.
  bool wants_other_sums(const KernelVariant& variant, const void* block, const LaunchRequest& request,
                        LaunchForm& form) const;
  /// Runs a form on a finished parameter block; on a GPU it is queued. Objects whose ids are in the block are looked up and
  /// held. Throws the runtime's errors.
  void run(const KernelVariant& variant, const void* block, const LaunchRequest& request) const;
  /// The form for a launch, built if need be.
  const KernelVariant& form_for(KernelSignature& signature, std::span<const std::int64_t> dims, const char* block,
                                LaunchForm form, cuda::Device* device = nullptr);

  /// Whether the kernel's names may well stand for something else when its adjoint is wanted: tapes then build it at once.
  bool names_may_change() const { return names_may_change_; }
  void set_names_may_change(bool on) { names_may_change_ = on; }

  /// Whether threads of a block share memory in it (tiles): on GPUs such a kernel is one for each size of blocks. Nothing as
  /// long as nobody knows.
  std::optional<bool> shares_memory() const {
    const int known = shares_memory_.load(std::memory_order_relaxed);
    return known < 0 ? std::nullopt : std::optional(known > 0);
  }
  void set_shares_memory(bool on) { shares_memory_.store(on, std::memory_order_relaxed); }
  /// Finds out by looking at its IR.
  bool find_shares_memory(KernelSignature& signature, std::size_t rank);
  /// The same kernel for blocks of so many threads, which share memory; `rows`: blocks are the rows of the grid.
  std::shared_ptr<Kernel> with_block(int block, bool rows);
  /// Says which it is for one such size, where it can't be made from the kernel's text.
  void set_with_block(int block, bool rows, std::shared_ptr<Kernel> kernel);

  /// Whether it is its module's option, not its own, that keeps tapes from differentiating it.
  bool module_disables_backward() const { return module_disables_backward_; }
  void set_module_disables_backward(bool on) { module_disables_backward_ = on; }

  // What languages have their own ways for; these are those of a program that has no language.

  /// Builds a form for a launch. Throws what the language throws for text that does not compile.
  virtual const KernelVariant& build(KernelSignature& signature, LaunchForm form, cuda::Device* device,
                                     Effort effort = Effort::full);
  /// What builds for launches are worth.
  virtual Effort launch_effort() const { return Effort::full; }
  /// Hears that launches use the full version from now on.
  virtual void note_full_version(const KernelVariant&) const {}
  /// Runs a launch, queues it, or adds it to the graph that is captured.
  virtual void start(const LaunchWork& launch);
  /// How launches on the CPU run.
  virtual runtime::LaunchOptions cpu_options() const { return {}; }
  /// Does work that takes long; the language's other threads run meanwhile, and it may want to end the work.
  virtual void run_unlocked(const std::function<void(const runtime::LaunchOptions&)>& work) { work(cpu_options()); }
  virtual void warn(const std::string&) const {}

 protected:
  /// A kernel of the same kind under other options.
  virtual std::shared_ptr<Kernel> under(CompileOptions options) const;
  const std::shared_ptr<const sema::FunctionDecl>& shared_decl() const { return decl_; }
  Hash128 source_hash() const { return source_hash_; }
  bool interprets() const { return interpret_; }

 private:
  /// Of the names of parameters that stand behind the kernel's own (CompileOptions::doubles_params).
  std::string_view suffix() const;
  std::string param_name(std::size_t i) const;
  BuildRequest request_for(const KernelSignature& signature, LaunchForm form, const SourceKey& source,
                           cuda::Device* device) const;
  BuildRequest request_for(const KernelSignature& signature, LaunchForm form) const;
  void run_with_objects(const KernelVariant& variant, const void* block, const LaunchRequest& request) const;
  void run_ready(const KernelVariant& variant, const void* block, const LaunchRequest& request) const;
  void run_as_asked(const KernelVariant& variant, const void* block, const LaunchRequest& request) const;
  /// On the CPU, one thread after another; an adjoint's from the last.
  void run_in_order(const KernelVariant& variant, const void* block, const LaunchRequest& request) const;
  /// On the CPU, with the same sums in every run.
  void run_deterministic(const KernelVariant& variant, const void* block, const LaunchRequest& request) const;
  const KernelVariant* find_first(const KernelSignature& signature, LaunchForm form) const;
  /// For a launch: the first version of a form that was built already, or the full one if that is made by now; null if it was
  /// not built.
  const KernelVariant* begun_form(KernelSignature& signature, LaunchForm form);
  /// Has launches use the full version of a form.
  const KernelVariant& adopt_full(KernelSignature& signature, LaunchForm form, const KernelVariant& first);
  std::atomic<const KernelVariant*>& slot(KernelSignature& signature, LaunchForm form, const cuda::Device* device);

  std::string name_;
  std::shared_ptr<const sema::FunctionDecl> decl_;        // null: it came as IR
  std::vector<std::string> given_params_;                 // then: their names,
  std::function<std::unique_ptr<ir::Module>()> lowered_;  // and what makes it
  CompileOptions options_;
  Hash128 source_hash_;
  bool interpret_;
  std::atomic<int> shares_memory_{-1};
  std::atomic<bool> names_may_change_{false}, module_disables_backward_{false};
  mutable std::shared_mutex mutex_;  // guards the rest
  bool params_known_ = false;
  std::vector<sema::KernelParam> params_;
  std::vector<std::unique_ptr<KernelSignature>> signatures_;
  std::atomic<KernelSignature*> plain_{nullptr};
  std::map<std::pair<int, bool>, std::shared_ptr<Kernel>> with_blocks_;
};

inline constexpr int kUsualBlock = 256;  // threads of a block that share memory, where a launch does not say

/// The kernel that such a launch runs, and the size of its blocks in `place`: one whose threads share memory is another one
/// for each size of blocks.
std::shared_ptr<Kernel> kernel_for(const std::shared_ptr<Kernel>& kernel, LaunchPlace& place,
                                   std::span<const std::int64_t> dims);

/// The grid that a launch runs over. On CPUs it has no last dimensions of one thread: lanes are neighbours in the last one. Of
/// blocks that is the block.
inline std::span<const std::int64_t> grid_on(const cuda::Device* device, const Kernel& kernel,
                                             std::span<const std::int64_t> dims) {
  if (dims.size() < 2 || dims.size() > kMaxRank || dims.back() != 1 || device || kernel.options().gpu.block)
    return dims;
  while (dims.size() > 1 && dims.back() == 1) dims = dims.first(dims.size() - 1);
  return dims;
}

}  // namespace weft::driver
