// Signatures and variants of a kernel, and how one is run.
#include "driver/kernel.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "analysis/private_sums.h"
#include "analysis/sum_order.h"
#include "autodiff/adjoint.h"
#include "codegen/exact_sums.h"
#include "driver/full_versions.h"
#include "driver/gpu_launch.h"
#include "driver/pipeline.h"
#include "driver/race_check.h"
#include "driver/settled_launch.h"
#include "interp/interpreter.h"
#include "ir/tile_memory.h"
#include "runtime/array.h"
#include "runtime/errors.h"
#include "runtime/scheduler.h"
#include "runtime/stopping.h"
#include "runtime/sum_choice.h"
#include "support/hot.h"

namespace weft::driver {

Kernel::Kernel(std::shared_ptr<const sema::FunctionDecl> decl, CompileOptions options, Hash128 source_hash,
               bool interpret, std::string name)
    : name_(name.empty() ? std::string(decl->def->name) : std::move(name)),
      decl_(std::move(decl)),
      options_(std::move(options)),
      source_hash_(source_hash),
      interpret_(interpret) {}

Kernel::Kernel(std::string name, std::vector<std::string> params, std::function<std::unique_ptr<ir::Module>()> lowered,
               CompileOptions options)
    : name_(std::move(name)),
      given_params_(std::move(params)),
      lowered_(std::move(lowered)),
      options_(std::move(options)),
      interpret_(false),
      params_known_(true) {}

std::string_view Kernel::suffix() const { return options_.tangent ? autodiff::kTangentSuffix : autodiff::kSeedSuffix; }

const std::vector<sema::KernelParam>* Kernel::params(DiagnosticSink& sink) {
  {
    std::shared_lock lock(mutex_);
    if (params_known_) return &params_;
  }
  std::size_t errors = sink.error_count();
  auto read = sema::kernel_params(*decl_, sink);
  if (sink.error_count() != errors) return nullptr;
  for (int k = 0; k < options_.doublings(); ++k)
    for (std::size_t i = 0, own = read.size(); i < own; ++i) {
      sema::KernelParam twin;
      twin.name = read[i].name + std::string(suffix());
      twin.pattern = read[i].pattern;
      read.push_back(std::move(twin));
    }
  std::unique_lock lock(mutex_);
  if (!params_known_) params_ = std::move(read);
  params_known_ = true;
  return &params_;
}

std::string Kernel::param_name(std::size_t i) const {
  const std::size_t own = decl_ ? decl_->def->params.size() : given_params_.size();
  std::string name = decl_ ? std::string(decl_->def->params[i % own].name) : given_params_[i % own];
  for (std::size_t bits = i / own; bits > 0; bits >>= 1)
    if (bits & 1) name += suffix();
  return name;
}

KernelSignature& Kernel::signature(const std::vector<const Type*>& types) {
  {
    std::shared_lock lock(mutex_);
    for (const auto& s : signatures_)
      if (s->types == types) return *s;
  }
  std::unique_lock lock(mutex_);
  for (const auto& s : signatures_)
    if (s->types == types) return *s;
  auto fresh = std::make_unique<KernelSignature>();
  fresh->types = types;
  fresh->layout.asks_alignment = options_.gpu.block > 0;
  for (std::size_t i = 0; i < types.size(); ++i) fresh->layout.add(param_name(i), types[i]);
  signatures_.push_back(std::move(fresh));
  bool generic = false;
  for (const sema::KernelParam& p : params_) generic = generic || p.pattern.is_generic();
  if (params_known_ && !generic) plain_.store(signatures_.back().get(), std::memory_order_release);
  return *signatures_.back();
}

std::atomic<const KernelVariant*>& Kernel::slot(KernelSignature& signature, LaunchForm form,
                                                const cuda::Device* device) {
  FormTable* table = &signature.host;
  if (device || form.bucket_sums) {
    auto& known = device ? signature.cuda[device->ordinal()] : signature.bucketed;
    table = known.load(std::memory_order_acquire);
    if (!table) {
      std::unique_lock lock(mutex_);
      table = known.load(std::memory_order_relaxed);
      if (!table) {
        signature.tables.push_back(std::make_unique<FormTable>());
        table = signature.tables.back().get();
        known.store(table, std::memory_order_release);
      }
    }
  }
  return table->variants[form.index() % LaunchForm::kCount];
}

BuildRequest Kernel::request_for(const KernelSignature& signature, LaunchForm form) const {
  BuildRequest request;
  request.kernel = decl_.get();
  request.name = name_;
  request.lowered = lowered_;
  request.arg_types = signature.types;
  request.form = form;
  request.options = options_;
  return request;
}

BuildRequest Kernel::request_for(const KernelSignature& signature, LaunchForm form, const SourceKey& source,
                                 cuda::Device* device) const {
  form.strided |= device && form.large;                    // other forms compute with 32 bits there
  form.aligned &= device && !form.adjoint && !form.taped;  // gradients and logs lie where they like
  BuildRequest request = request_for(signature, form);
  request.device = device;
  request.source_hash = source.hash;
  request.source_complete = source.complete;
  return request;
}

namespace {

/// What a GPU's threads need for the same bits in every run: nothing, sums without an order, or turns.
analysis::SumOrder order_needed(const BuildRequest& request) {
  DiagnosticSink unheard;
  std::unique_ptr<ir::Module> module = front_end(request, unheard);
  if (!module) return analysis::SumOrder::free;  // the build will say what is wrong
  CompileOptions options = request.options;
  options.gpu.target = true;
  try {
    optimize(*module, options);
  } catch (const codegen::Error&) {
    return analysis::SumOrder::free;  // so it will
  }
  ir::Function& kernel = *module->functions.back();
  bool exact = true;
  for (const analysis::PrivateSum& sum : analysis::mark_private_sums(kernel))
    exact = exact && (!types::scalar(sum.scalar)->is_float() || codegen::exact_sum(sum.scalar).digits > 0);
  const analysis::SumOrder order = analysis::sum_order(kernel);
  return order == analysis::SumOrder::lone_sums && !exact ? analysis::SumOrder::all : order;
}

}  // namespace

const KernelVariant* Kernel::variant(KernelSignature& signature, LaunchForm form, const SourceKey& source,
                                     DiagnosticSink& sink, cuda::Device* device, Effort effort) {
  std::atomic<const KernelVariant*>& slot = this->slot(signature, form, device);
  if (const KernelVariant* ready = slot.load(std::memory_order_acquire)) return ready;
  if (const KernelVariant* first = device ? nullptr : find_first(signature, form)) {
    if (effort == Effort::first) return first;
    first->binary->full()->finish();
    return &adopt_full(signature, form, *first);
  }
  BuildRequest request = request_for(signature, form, source, device);
  request.effort = effort;
  auto fresh = std::make_unique<KernelVariant>();
  fresh->name = name_;
  if (options_.tangent)
    if (const TangentPlan& plan = tangent_plan(signature, form); plan.has_order()) fresh->plan = &plan;
  // Minima and maxima that settle need an order on the CPU only, where nobody runs them twice.
  request.form.in_order = (fresh->plan && (!device || !fresh->plan->ordered.empty())) ||
                          (form.taped && !tape_facts(signature, form).ordered.empty());
  if (options_.deterministic && device && !request.form.in_order) {
    const analysis::SumOrder order = order_needed(request);
    request.form.exact_sums = order == analysis::SumOrder::lone_sums;
    request.form.in_order = order == analysis::SumOrder::all;
  }
  fresh->in_order = request.form.in_order;
  // Kernel and adjoint choose lanes each for itself; where these are counted in the log, both take one.
  if (form.taped && !device && tape_facts(signature, form).together) request.options.lanes = 1;
  if (fresh->in_order)
    request.options.lanes = 1;  // lanes would run a statement for several threads before the next one
  fresh->param_bytes = form.taped ? taped_layout(signature.layout, tape_facts(signature, form), form.adjoint).size
                                  : signature.layout.size;
  if (interpret_ && !device) {
    fresh->module = front_end(request, sink);
    if (!fresh->module) return nullptr;
    optimize(*fresh->module, request.options);
    fresh->sites = describe_sites(*fresh->module);
    fresh->handles = handle_places(*fresh->module->functions.back());
  } else {
    fresh->binary = BinaryStore::shared().get(request, sink, &fresh->report);
    if (!fresh->binary) return nullptr;
    if (device && !options_.gpu.block) set_shares_memory(false);
    fresh->handles.assign(fresh->binary->handles().begin(), fresh->binary->handles().end());
  }
  fresh->adjoint = form.adjoint;
  if (form.adjoint) {
    const TapeFacts& facts = tape_facts(signature, form);
    fresh->ordered = facts.ordered;
    fresh->any_order = facts.any_order && !form.meet && !fresh->plan;
  }
  std::unique_lock lock(mutex_);
  if (const KernelVariant* ready = slot.load(std::memory_order_acquire)) return ready;
  const KernelVariant* made = fresh.get();
  signature.owned.push_back(std::move(fresh));
  if (made->binary && made->binary->full())
    signature.first.push_back({form.index(), made});
  else
    slot.store(made, std::memory_order_release);
  return made;
}

const KernelVariant& Kernel::take_code(KernelSignature& signature, LaunchForm form, cuda::Device& device,
                                       std::shared_ptr<const KernelBinary> binary, const BuildReport& report) {
  std::atomic<const KernelVariant*>& slot = this->slot(signature, form, &device);
  auto fresh = std::make_unique<KernelVariant>();
  fresh->name = name_;
  fresh->param_bytes = signature.layout.size;
  fresh->handles.assign(binary->handles().begin(), binary->handles().end());
  fresh->binary = std::move(binary);
  fresh->report = report;
  if (!options_.gpu.block) set_shares_memory(false);
  std::unique_lock lock(mutex_);
  if (const KernelVariant* ready = slot.load(std::memory_order_acquire)) return *ready;
  signature.owned.push_back(std::move(fresh));
  slot.store(signature.owned.back().get(), std::memory_order_release);
  return *signature.owned.back();
}

bool Kernel::find_shares_memory(KernelSignature& signature, std::size_t rank) {
  if (const auto known = shares_memory()) return *known;
  LaunchForm form;
  form.rank = std::uint8_t(rank);
  bool shares = false;
  run_unlocked([&](const runtime::LaunchOptions&) {
    DiagnosticSink unheard;  // whoever builds it hears of errors
    const std::unique_ptr<ir::Module> module = this->module(signature, form, unheard);
    shares = module && ir::find_tile_memory(*module);
  });
  set_shares_memory(shares);
  return shares;
}

void Kernel::build_ahead(KernelSignature& signature, LaunchForm form, const SourceKey& source, cuda::Device* device) {
  if ((interpret_ && !device) || signature.ready(form, device)) return;
  BuildRequest request = request_for(signature, form, source, device);
  request.ahead = true;
  request.effort = launch_effort();
  DiagnosticSink unheard;
  try {
    BinaryStore::shared().get(request, unheard);
  } catch (const NeedsBlock&) {  // a launch says how many threads make one
    set_shares_memory(true);
  }
}

const TapeFacts& Kernel::tape_facts(KernelSignature& signature, LaunchForm form) {
  form = form.plain();
  auto& slot = signature.tape[form.plain_index()];
  if (const TapeFacts* ready = slot.load(std::memory_order_acquire)) return *ready;
  const BuildRequest request = request_for(signature, form);
  auto fresh = std::make_unique<TapeFacts>();
  DiagnosticSink sink;
  if (std::unique_ptr<ir::Module> module = front_end(request, sink, /*gradients=*/true)) {
    *fresh = driver::tape_facts(*module, options_, sink);
  } else {  // a mistake in a gradient that the program wrote: which arrays there are, the launch itself says
    DiagnosticSink unheard;
    if ((module = front_end(request, unheard))) *fresh = driver::tape_facts(*module, options_, unheard);
  }
  if (sink.has_errors()) fresh->problem = sink.render_all();
  std::unique_lock lock(mutex_);
  if (const TapeFacts* ready = slot.load(std::memory_order_acquire)) return *ready;
  slot.store(fresh.get(), std::memory_order_release);
  signature.owned_facts.push_back(std::move(fresh));
  return *slot.load(std::memory_order_relaxed);
}

const TangentPlan& Kernel::tangent_plan(KernelSignature& signature, LaunchForm form) {
  form = form.plain();
  auto& slot = signature.plans[form.plain_index()];
  if (const TangentPlan* ready = slot.load(std::memory_order_acquire)) return *ready;
  auto fresh = std::make_unique<TangentPlan>(plan_tangent(request_for(signature, form)));
  std::unique_lock lock(mutex_);
  if (const TangentPlan* ready = slot.load(std::memory_order_acquire)) return *ready;
  slot.store(fresh.get(), std::memory_order_release);
  signature.owned_plans.push_back(std::move(fresh));
  return *slot.load(std::memory_order_relaxed);
}

LaunchForm tape_form(Kernel& kernel, KernelSignature& signature, const char* block, std::size_t rank) {
  LaunchForm form = form_of(signature.layout, block, rank, &signature.order);
  const std::vector<runtime::ByteRange> objects = memory_of_objects(signature.layout, block);
  if (objects.empty()) return form;
  LaunchForm apart = form;
  apart.objects_apart = true;
  const TapeFacts& facts = kernel.facts_for(signature, apart);
  if (facts.written_elsewhere) return form;
  for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
    if (!facts.written[k]) continue;
    const auto& desc = *reinterpret_cast<const ArrayDesc*>(block + facts.leaves[k].offset);
    const runtime::ByteRange range = runtime::data_range(desc, facts.leaves[k].type->element()->size());
    for (const runtime::ByteRange& one : objects)
      if (range.intersects(one)) return form;
  }
  return apart;
}

std::string Kernel::find_race(KernelSignature& signature, LaunchForm form, const void* block,
                              const LaunchRequest& request) {
  form = form.plain();
  const TapeFacts& facts = tape_facts(signature, form);
  std::unique_ptr<ir::Module>& slot = signature.watched[form.plain_index()];
  std::unique_lock lock(mutex_);
  const ir::Module* module = slot.get();
  lock.unlock();
  if (!module) {
    DiagnosticSink sink;
    std::unique_ptr<ir::Module> made = front_end(request_for(signature, form), sink);
    if (!made) return sink.render_all();
    optimize(*made, options_);
    lock.lock();
    if (!slot) slot = std::move(made);
    module = slot.get();
    lock.unlock();
  }
  return driver::find_race(*module, signature.layout, facts.leaves, block, request.dims, request.options);
}

namespace {

using SumClock = std::chrono::steady_clock;

int workers_of(const runtime::LaunchOptions& options) {
  const int all = runtime::thread_count();
  return options.serial ? 1 : options.max_threads > 0 ? std::min(options.max_threads, all) : all;
}

/// A launch that was given the form with atomic operations or buckets, on its way: form_for chooses it, run_as_asked times it.
struct ChosenWay {
  runtime::SumCase launch;
  runtime::SumWay way = runtime::SumWay::alone;
};
thread_local std::optional<ChosenWay> chosen_way;

/// Tells how long a launch by a way took.
class SumTimer {
 public:
  SumTimer(const runtime::SumCase& launch, runtime::SumWay way) : launch_(launch), way_(way) {}
  ~SumTimer() {
    runtime::tell_sum_time(launch_, way_, std::chrono::duration<double>(SumClock::now() - start_).count());
  }
  SumTimer(const SumTimer&) = delete;
  SumTimer& operator=(const SumTimer&) = delete;

 private:
  const runtime::SumCase launch_;
  const runtime::SumWay way_;
  const SumClock::time_point start_ = SumClock::now();
};

/// Notes how long launches by a first version take.
class FirstVersionTimer {
 public:
  explicit FirstVersionTimer(FullVersion& full) : full_(full) {}
  ~FirstVersionTimer() { full_.note_launch(std::chrono::duration<double>(SumClock::now() - start_).count()); }
  FirstVersionTimer(const FirstVersionTimer&) = delete;
  FirstVersionTimer& operator=(const FirstVersionTimer&) = delete;

 private:
  FullVersion& full_;
  const SumClock::time_point start_ = SumClock::now();
};

/// Whether copies for all workers take no more memory than a launch may.
bool copies_fit(const KernelVariant& variant, const void* block, int workers) {
  constexpr std::uint64_t kMost = std::uint64_t(1) << 30;
  const std::uint64_t bytes = runtime::bytes_of_sums(block, variant.binary->sums());
  return bytes <= kMost / std::uint64_t(std::max(workers - 1, 1));
}

/// Runs a form with plain additions.
void run_with_sums(const Kernel* kernel, const KernelVariant& variant, const void* block,
                   const LaunchRequest& request) {
  const KernelBinary& binary = *variant.binary;
  const int workers = workers_of(request.options);
  const std::int64_t total = runtime::launch_size(binary.code(), request.dims);
  const bool pay = runtime::copies_pay(binary.code(), block, binary.sums(), request.dims, request.options);
  // What a first version takes says nothing of the full one.
  const bool first = binary.full() != nullptr;
  const bool several = workers > 1 && runtime::plan_launch(binary.code(), total, workers, request.options).chunks > 1;
  const runtime::SumCase launch{kernel, variant.adjoint, total, workers};
  const bool copies = several && (pay || copies_fit(variant, block, workers));
  runtime::SumWay way = runtime::SumWay::alone;
  if (several && first)
    way = pay ? runtime::SumWay::copies : runtime::SumWay::alone;
  else if (several)
    way = runtime::choose_sum_way(launch, {copies, false, pay});
  std::optional<SumTimer> timer;
  if (several && !first) timer.emplace(launch, way);
  if (way == runtime::SumWay::copies) {
    runtime::launch_with_sums(binary.code(), block, variant.param_bytes, binary.sums(), request.dims, request.options);
    return;
  }
  runtime::LaunchOptions one = request.options;
  one.max_threads = 1;  // plain additions: one worker at a time
  runtime::launch(binary.code(), block, request.dims, one);
}

}  // namespace

bool Kernel::wants_other_sums(const KernelVariant& variant, const void* block, const LaunchRequest& request,
                              LaunchForm& form) const {
  chosen_way.reset();
  if (options_.deterministic || !variant.binary || variant.binary->sums().empty()) return false;
  if (variant.binary->full()) return false;  // the full version will be asked
  // An atomic addition costs about as much as so many plain ones. With fewer workers it pays where additions are a small
  // part of a kernel; only long launches are worth the code for finding that out.
  constexpr int kManyWorkers = 4;
  constexpr double kLong = 500e-6;
  const int workers = workers_of(request.options);
  if (workers < 2) return false;
  const runtime::KernelCode& code = variant.binary->code();
  const std::int64_t total = runtime::launch_size(code, request.dims);
  if (runtime::plan_launch(code, total, workers, request.options).chunks < workers) return false;
  const runtime::SumCase launch{this, variant.adjoint, total, workers};
  const bool pay = runtime::copies_pay(code, block, variant.binary->sums(), request.dims, request.options);
  const bool copies = pay || copies_fit(variant, block, workers);
  const double from = workers < kManyWorkers ? kLong : 0;
  const bool any_size = runtime::forced_sum_way() == runtime::SumWay::buckets;
  const bool buckets =
      !variant.binary->streams().empty() && runtime::buckets_suit(block, variant.binary->sums(), any_size);
  const runtime::SumWay way = runtime::choose_sum_way(launch, {copies, true, pay, from, buckets, kLong});
  if (way != runtime::SumWay::atomics && way != runtime::SumWay::buckets) return false;
  form.atomic_sums = way == runtime::SumWay::atomics;
  form.bucket_sums = way == runtime::SumWay::buckets;
  chosen_way = ChosenWay{launch, way};
  return true;
}

bool in_thread_order(const KernelVariant& variant, const LaunchRequest& request) {
  std::int64_t total = 1;
  for (std::int64_t extent : request.dims) total *= extent;
  if (total <= 1) return true;
  if (!variant.binary || variant.in_order) return true;
  return !variant.binary->gpu() && request.options.serial && variant.binary->code().lanes <= 1;
}

WEFT_HOT void Kernel::run(const KernelVariant& variant, const void* block, const LaunchRequest& request) const {
  if (!variant.handles.empty()) [[unlikely]]
    return run_with_objects(variant, block, request);
  run_ready(variant, block, request);
}

void Kernel::run_with_objects(const KernelVariant& variant, const void* block, const LaunchRequest& request) const {
  cuda::Device* device = variant.binary && variant.binary->gpu() ? &variant.binary->gpu()->device() : nullptr;
  std::vector<std::shared_ptr<geometry::Object>> objects = objects_in(variant.handles, block, device, name_);
  if (variant.adjoint || options_.tangent)
    for (const auto& object : objects) object->refresh_gradients();
  for (const std::string& warning : warnings_of(variant.handles, block)) warn(warning);
  if (device && device->capture())
    device->keep_for_capture(std::make_shared<std::vector<std::shared_ptr<geometry::Object>>>(objects));
  if (!variant.adjoint)
    for (const HandlePlace& place : variant.handles)
      if (place.written)
        for (const auto& object : objects_in({&place, 1}, block, device, name_)) object->before_write();
  const HeldObjects held(std::move(objects));
  run_ready(variant, block, request);
}

WEFT_HOT void Kernel::run_ready(const KernelVariant& variant, const void* block, const LaunchRequest& request) const {
  const bool on_gpu = variant.binary && variant.binary->gpu();
  if (on_gpu && variant.plan && !variant.in_order && !variant.adjoint) return launch_settled(variant, block, request);
  if (variant.in_order && !on_gpu) return run_in_order(variant, block, request);
  run_as_asked(variant, block, request);
}

void Kernel::run_in_order(const KernelVariant& variant, const void* block, const LaunchRequest& request) const {
  LaunchRequest one = request;
  one.options.serial = true;
  one.options.descending = variant.adjoint;
  run_as_asked(variant, block, one);
}

void Kernel::run_deterministic(const KernelVariant& variant, const void* block, const LaunchRequest& request) const {
  const KernelBinary& binary = *variant.binary;
  if (binary.sum_order() == analysis::SumOrder::lone_sums &&
      runtime::launch_in_parts(binary.code(), block, variant.param_bytes, binary.sums(), request.dims, request.options))
    return;
  runtime::LaunchOptions one = request.options;
  one.max_threads = 1;  // chunk after chunk, in their order
  one.steady = true;    // a kernel may add up what one call of it covers before it adds that to memory
  runtime::launch(binary.code(), block, request.dims, one);
}

WEFT_HOT void Kernel::run_as_asked(const KernelVariant& variant, const void* block,
                                   const LaunchRequest& request) const {
  if (!variant.ordered.empty() && !in_thread_order(variant, request)) throw runtime::Error(variant.ordered);
  if (variant.binary && variant.binary->gpu()) return launch_on_gpu(variant, block, request);
  if (variant.binary) {
    const std::span<const runtime::SumSlot> sums = variant.binary->sums();
    if (request.options.descending && variant.any_order) {  // whole chunks at a time
      LaunchRequest ascending = request;
      ascending.options.descending = false;
      return run_as_asked(variant, block, ascending);
    }
    std::optional<FirstVersionTimer> first;
    if (variant.binary->full()) [[unlikely]]
      first.emplace(*variant.binary->full());
    if (options_.deterministic && variant.binary->sum_order() != analysis::SumOrder::free && !request.options.serial)
      return run_deterministic(variant, block, request);
    const bool by_buckets = variant.binary->by_buckets();
    if (!sums.empty() && !by_buckets) return run_with_sums(this, variant, block, request);
    std::optional<SumTimer> timer;
    if (chosen_way) [[unlikely]] {
      if (chosen_way->launch.kernel == this) timer.emplace(chosen_way->launch, chosen_way->way);
      chosen_way.reset();
    }
    if (by_buckets) {
      runtime::launch_with_buckets(variant.binary->code(), block, variant.param_bytes, sums, variant.binary->streams(),
                                   request.dims, request.options);
      return;
    }
    runtime::launch(variant.binary->code(), block, request.dims, request.options);
    return;
  }
  const ir::Function& kernel = *variant.module->functions.back();
  runtime::KernelCode code;
  code.name = kernel.name;
  code.tid_dims_read = tid_dims_read(*variant.module);
  std::int64_t total = runtime::launch_size(code, request.dims);
  runtime::ErrorRecord record;
  runtime::LaunchContext context;
  context.rank = std::int32_t(request.dims.size());
  context.serial = 1;
  for (std::size_t d = 0; d < request.dims.size(); ++d) context.dims[d] = request.dims[d];
  context.error = &record;
  runtime::PrintBuffer buffer(1, request.options.print_sink);
  context.print = &buffer;
  const runtime::Questions questions(request.options, context);
  interp::Limits limits;
  limits.descending = request.options.descending || (variant.adjoint && !variant.ordered.empty());
  interp::run_kernel(*variant.module, kernel, block, context, 0, total, limits);
  buffer.flush();
  runtime::throw_if_failed(record, kernel.name, context.rank, variant.sites);
}

}  // namespace weft::driver
