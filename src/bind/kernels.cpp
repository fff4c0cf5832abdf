// Kernels in Python: families with their options, forms built on demand, and how one is run.
#include <nanobind/stl/shared_ptr.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "bind/build_counts.h"
#include "bind/compile_session.h"
#include "bind/gil.h"
#include "bind/graph_journal.h"
#include "bind/hooks.h"
#include "bind/late_launch.h"
#include "codegen/background.h"
#include "driver/full_versions.h"
#include "driver/late_code.h"
#include "runtime/errors.h"
#include "runtime/late_work.h"
#include "runtime/sum_buckets.h"
#include "runtime/sum_choice.h"
#include "sema/scan.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

constexpr double kSeenLongNs = 20000;  // launches that took so long are to let other Python threads run the next time
constexpr int kLongInARow = 3;
constexpr double kReleaseGilNs = 5000;  // launches known to be shorter keep the GIL: taking it back can cost more

driver::CompileOptions options_from(nb::dict d) {
  driver::CompileOptions o;
  auto flag = [&](const char* name, bool& out) {
    if (d.contains(name)) out = nb::cast<bool>(d[name]);
  };
  auto number = [&](const char* name, int& out) {
    if (d.contains(name)) out = nb::cast<int>(d[name]);
  };
  flag("debug", o.debug);
  flag("verify_fp", o.verify_fp);
  flag("verify_tiles", o.verify_tiles);
  flag("fuse_fp", o.fuse_fp);
  flag("deterministic", o.deterministic);
  flag("fast_math", o.fast_math);
  flag("cache", o.use_cache);
  number("tangent", o.tangent);
  flag("seeds", o.seeds);
  number("opt_level", o.opt_level);
  number("lanes", o.lanes);
  number("max_unroll", o.max_unroll);
  flag("line_info", o.gpu.line_info);
  flag("keep_ptx", o.gpu.keep_ptx);
  number("ptx_arch", o.gpu.ptx_arch);
  number("max_threads", o.gpu.bounds.threads);
  number("min_blocks", o.gpu.bounds.blocks);
  number("max_cluster", o.gpu.bounds.cluster);
  number("max_registers", o.gpu.bounds.registers);
  if (d.contains("libdevice")) o.gpu.libdevice = nb::cast<std::string>(d["libdevice"]);
  return o;
}

/// Hands the warnings of a compile to Python, those of one kind together: it says one of each.
void emit_warnings(const DiagnosticSink& sink) {
  if (!hooks().warn.is_valid()) return;
  std::vector<std::pair<DiagCode, nb::list>> kinds;
  for (const Diagnostic& d : sink.all()) {
    if (d.severity() != Severity::warning) continue;
    auto kind = std::ranges::find(kinds, d.code, &std::pair<DiagCode, nb::list>::first);
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {d.code, nb::list()});
    kind->second.append(render(d));
  }
  for (const auto& [code, texts] : kinds) hooks().warn(*texts);
}

/// Tells who wants to know of builds.
void tell_build(const std::string& kernel, const driver::BuildReport& r, const char* how) {
  if (!tells_builds()) return;
  hooks().built(
      kernel, how,
      r.seconds_front + r.seconds_passes + r.seconds_emit + r.seconds_llvm_opt + r.seconds_codegen + r.seconds_load);
}

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

/// What a launch asks Python while it runs: whether a signal handler wants to end it. A launch that kept the GIL, for it
/// was to be short, gives it up at its first question.
class Interruption {
 public:
  explicit Interruption(bool has_gil, Holder holder = {}) : holder_(holder), has_gil_(has_gil) {}
  Interruption(const Interruption&) = delete;

  void take_part(runtime::LaunchOptions& options) {
    options.interrupted = [](void* self) noexcept { return static_cast<Interruption*>(self)->asked(); };
    options.interrupted_state = this;
  }
  /// Behind the launch: raises what a handler raised.
  void end() {
    late_release_.reset();
    if (error_) throw std::move(*error_);
  }

 private:
  bool asked() noexcept {
    if (has_gil_ && !late_release_) {
      if (signalled()) return true;
      try {
        if (holder_.hold) holder_.hold(holder_.state);
      } catch (...) {  // no memory to hold on to anything: other threads have to wait
        return false;
      }
      late_release_.emplace();
      return false;
    }
    if (!is_main_thread()) return false;
    GilAcquire gil;
    return signalled();
  }
  /// Serves signals, if this thread does. What a handler raises is kept apart, for kernels may print through Python before
  /// the launch ends.
  bool signalled() noexcept {
    if (PyErr_CheckSignals() == 0) return false;
    error_.emplace();
    return true;
  }

  const Holder holder_;
  const bool has_gil_;
  std::optional<nb::python_error> error_;
  std::optional<GilRelease> late_release_;  // the last to be made and the first to go
};

nb::list params_of(PythonKernel& kernel) {
  nb::list out;
  for (const sema::KernelParam& p : kernel.params()) {
    const bool exact = p.pattern.kind == builtins::Pattern::Kind::exact;
    out.append(nb::make_tuple(p.name, exact ? nb::cast(TypeHandle{p.pattern.type}) : nb::none(),
                              builtins::to_string(p.pattern), p.has_default));
  }
  return out;
}

const driver::KernelVariant& build(PythonKernel& kernel, const std::vector<TypeHandle>& types, std::size_t rank,
                                   int place) {
  std::vector<const Type*> list;
  for (const TypeHandle& t : types) list.push_back(t.type);
  const auto& params = kernel.params();
  if (list.empty())
    for (const sema::KernelParam& p : params) list.push_back(p.pattern.type);
  if (list.size() != params.size()) throw nb::value_error("one type per parameter is needed");
  if (rank < 1 || rank > std::size_t(kMaxRank)) throw nb::value_error("a kernel runs over 1 to 4 dimensions");
  cuda::Device* device = place < 0 ? nullptr : &cuda::System::shared().device(place);
  driver::LaunchForm form;
  form.rank = std::uint8_t(rank);
  const auto make = [&](PythonKernel& one) -> const driver::KernelVariant& {
    form.aligned = one.options().gpu.block > 0;  // as most launches of such kernels are
    driver::KernelSignature& signature = one.signature(list);
    const driver::KernelVariant* ready = signature.ready(form, device);
    return ready ? *ready : one.build(signature, form, device);
  };
  // One whose threads share memory is made for the blocks that launches have by themselves. Whether the last name of wp.tid() is
  // the thread's in its block launches say: if it can't be, there is one dimension more.
  const auto with_block = [&]() -> const driver::KernelVariant& {
    auto& one = static_cast<PythonKernel&>(*kernel.with_block(driver::kUsualBlock, true));
    form.rank = std::uint8_t(std::max<std::size_t>(rank, sema::scan(*kernel.decl().def).tid_names));
    if (form.rank == kMaxRank) return make(one);
    try {
      return make(one);
    } catch (const std::exception&) {
      ++form.rank;
    }
    return make(one);
  };
  if (device && kernel.shares_memory().value_or(false)) return with_block();
  try {
    return make(kernel);
  } catch (const driver::NeedsBlock&) {
    kernel.set_shares_memory(true);
  }
  return with_block();
}

/// What `ask` says of the code of a kernel without generic parameters on a GPU. Work that waits has nothing to do with it.
template <class Ask>
auto ask_gpu_code(PythonKernel& kernel, int place, const Ask& ask) {
  const auto rank = std::size_t(sema::scan(*kernel.decl().def).tid_names);
  const cuda::KernelCode& code = *build(kernel, {}, rank, place).binary->gpu();
  const runtime::LateWork::Apart apart;  // not before: a build may run the program's own code
  return ask(code);
}

/// The device of the last build: the next kernels will probably run there, too.
std::atomic<cuda::Device*> last_device{nullptr};
/// Whether the last launch there that needed new code did not wait for it.
std::atomic<bool> launches_wait{false};

void build_ahead(PythonKernel& kernel) {
  if (last_device && launches_wait) return;  // all cores have code to make that is wanted
  try {
    std::vector<const Type*> types;
    for (const sema::KernelParam& p : kernel.params()) {
      if (p.pattern.kind != builtins::Pattern::Kind::exact) return;
      types.push_back(p.pattern.type);
    }
    CompileSession session(kernel.decl(), /*ahead=*/true);
    driver::SourceKey source;
    source.hash = session.fingerprint(kernel.decl(), kernel.options().names_places());
    if (session.asked_more()) return;
    source.complete = [&] { return !session.asked_more(); };
    cuda::Device* device = last_device;
    if (device && device->capture()) return;  // what is loaded now could end up in the graph
    // What the names mean now is not noted: a launch may find them changed, and forms are built by what it finds.
    GilRelease release;
    driver::LaunchForm form;
    form.rank = std::uint8_t(sema::scan(*kernel.decl().def).tid_names);
    kernel.build_ahead(kernel.signature(types), form, source, device);
  } catch (const CompileSession::NotAhead&) {  // NOLINT(bugprone-empty-catch): nothing is lost
  } catch (const std::exception&) {            // NOLINT(bugprone-empty-catch): a launch of this kernel raises it again
  }
}

}  // namespace

Hooks& hooks() {
  static Hooks* h = new Hooks;  // outlives module teardown
  return *h;
}

const std::vector<sema::KernelParam>& PythonKernel::params() {
  DiagnosticSink sink;
  const auto* known = Kernel::params(sink);
  if (!known) raise_compile_error(sink);
  return *known;
}

bool PythonKernel::unchanged() {
  {
    std::lock_guard lock(mutex_);
    if (!fingerprint_) return true;
    if (mixed_) return false;
  }
  CompileSession session(decl());
  const Hash128 now = session.fingerprint(decl(), options().names_places());
  std::lock_guard lock(mutex_);
  return *fingerprint_ == now;
}

bool PythonKernel::note_meaning(const driver::KernelSignature& signature) {
  const Meaning now = meaning_of(decl());
  set_names_may_change(now.variable);
  std::lock_guard lock(mutex_);
  return meanings_.try_emplace(&signature, now.text).first->second == now.text;
}

std::shared_ptr<driver::Kernel> PythonKernel::under(driver::CompileOptions options) const {
  return std::make_shared<PythonKernel>(shared_decl(), std::move(options), source_hash(), interprets(), name());
}

std::shared_ptr<PythonKernel> kernel_for(const std::shared_ptr<PythonKernel>& kernel, LaunchPlace& place,
                                         std::span<const std::int64_t> dims) {
  return std::static_pointer_cast<PythonKernel>(driver::kernel_for(kernel, place, dims));
}

const driver::KernelVariant& PythonKernel::build(driver::KernelSignature& signature, driver::LaunchForm form,
                                                 cuda::Device* device, driver::Effort effort) {
  CompileSession session(decl());
  driver::SourceKey source;
  source.hash = session.fingerprint(decl(), options().names_places());
  source.complete = [&] { return !session.asked_more(); };
  {
    std::lock_guard lock(mutex_);
    mixed_ |= fingerprint_ && *fingerprint_ != source.hash;
    fingerprint_ = source.hash;
  }
  if (session.asked_more()) source.hash = {};
  if (!note_meaning(signature) && form.adjoint)
    throw runtime::Error(
        "kernel '" + name() +
        "' uses names that stand for something else than when it was compiled, and its gradient would be "
        "that of another kernel; go back before they change, or pass their values as arguments");
  DiagnosticSink sink;
  const driver::KernelVariant* made = nullptr;
  launches_wait = false;
  try {
    GilRelease release;  // the resolver takes it back where it asks Python
    made = variant(signature, form, source, sink, device, effort);
  } catch (const driver::LateCode&) {
    last_device = device;
    launches_wait = true;
    emit_warnings(sink);
    throw;
  }
  if (!made) raise_compile_error(sink);
  last_device = device;
  count_build(made->report);
  emit_warnings(sink);
  const bool compiled = made->report.source == driver::BuildReport::Source::compiled;
  tell_build(name(), made->report, !compiled ? "cached" : made->report.first ? "first version" : "compiled");
  return *made;
}

bool tells_builds() { return hooks().built.is_valid() && !hooks().built.is_none(); }

driver::Effort PythonKernel::launch_effort() const {
  // Graphs keep the code that they were captured with.
  return driver::first_versions().enabled && !runtime::recording() ? driver::Effort::first : driver::Effort::full;
}

void PythonKernel::note_full_version(const driver::KernelVariant& now) const {
  count_full_version();
  const nb::gil_scoped_acquire python;
  tell_build(name(), now.report, "full version");
}

WEFT_HOT const driver::KernelVariant& variant_for(PythonKernel& kernel, driver::KernelSignature& signature,
                                                  std::span<const std::int64_t> dims, const char* block, bool adjoint,
                                                  cuda::Device* device) {
  driver::LaunchForm form = adjoint ? driver::tape_form(kernel, signature, block, dims.size())
                                    : driver::form_of(signature.layout, block, dims.size(), &signature.order);
  form.adjoint = adjoint;
  form.meet = adjoint && driver::gradients_may_meet(signature.layout, block);
  const driver::KernelVariant* ready = signature.ready(form, device);
  bool unusual = !ready;
  for (std::int64_t n : dims) unusual |= n < 0 || n > INT32_MAX;
  if (unusual) {  // sizes are checked under the kernel's own name (code is shared), and before anything is compiled
    runtime::KernelCode code;
    code.name = kernel.name();
    code.tid_dims_read = ready && ready->binary ? ready->binary->code().tid_dims_read : 0;
    runtime::launch_size(code, dims);
  }
  return kernel.form_for(signature, dims, block, form, device);
}

namespace {

/// What launches took that look short: nobody knows how often a loop turns before it did. By form, in few places; a form that
/// finds its place taken is asked again, and a wrong answer does no harm. One launch of eight is timed.
struct Seen {
  std::atomic<const driver::KernelVariant*> form{nullptr};
  std::atomic<float> ns_per_thread{0};
  std::atomic<int> in_a_row{0};  // launches that took long; one may have been kept from its core
};
constexpr std::size_t kSeen = 1024;
Seen seen[kSeen];

Seen& seen_of(const driver::KernelVariant& variant) {
  return seen[reinterpret_cast<std::uintptr_t>(&variant) / alignof(std::max_align_t) * 0x9e3779b97f4a7c15ULL >> 54];
}

double threads_of(std::span<const std::int64_t> dims) {
  double threads = 1;
  for (std::int64_t n : dims) threads *= double(n);
  return threads;
}

/// Notes what a launch took that looked short.
void note_time(const driver::KernelVariant& variant, std::span<const std::int64_t> dims, double ns) {
  Seen& known = seen_of(variant);
  const bool same = known.form.load(std::memory_order_relaxed) == &variant;
  if (ns < kSeenLongNs) {
    if (same) known.in_a_row.store(0, std::memory_order_relaxed);
    return;
  }
  known.in_a_row.store(same ? std::min(known.in_a_row.load(std::memory_order_relaxed) + 1, kLongInARow) : 1,
                       std::memory_order_relaxed);
  known.ns_per_thread.store(float(ns / std::max(threads_of(dims), 1.0)), std::memory_order_relaxed);
  known.form.store(&variant, std::memory_order_relaxed);
}

}  // namespace

bool releases_gil(const driver::KernelVariant& variant, std::span<const std::int64_t> dims) {
  if (!variant.binary) return true;
  const runtime::KernelCode& code = variant.binary->code();
  const double threads = threads_of(dims);
  if (threads * code.ns_per_thread >= kReleaseGilNs) {
    const double seen = runtime::seen_cost(code, threads);
    if (seen == 0 || seen >= kReleaseGilNs || code.opaque) return true;
  }
  if (!code.loops && !code.opaque) return false;
  const Seen& known = seen_of(variant);
  return known.form.load(std::memory_order_relaxed) == &variant &&
         known.in_a_row.load(std::memory_order_relaxed) >= kLongInARow &&
         threads * known.ns_per_thread.load(std::memory_order_relaxed) >= kSeenLongNs;
}

WEFT_HOT void run_on_gpu(PythonKernel& kernel, driver::KernelSignature& signature, const driver::KernelVariant& variant,
                         const ArgumentList& args, const char* block, std::span<const std::int64_t> dims,
                         const LaunchPlace& place) {
  if (place.device->capture()) [[unlikely]] {
    auto arrays = std::make_shared<std::vector<runtime::Array>>();
    for (std::size_t i = 0; i < args.size(); ++i) hold_arrays(args[i], signature.types[i], *arrays);
    note_launch({kernel.shared_from_this(), signature, variant, block, dims, place, false, *arrays, {}}, {});
    place.device->keep_for_capture(std::move(arrays));
  }
  driver::GpuLaunchOptions options = place.gpu;
  // Nobody replaces the current stream while this thread has the GIL.
  if (!options.stream && !kFreeThreaded) options.stream = place.device->stream_now();
  kernel.run(variant, block, {dims, {}, options});
}

namespace {

/// Runs `work` so that Ctrl-C can end it. With `release` other Python threads run meanwhile; else only if it turns out to
/// take long.
template <class Work>
WEFT_HOT void run_interruptibly(runtime::LaunchOptions& options, bool release, Holder holder, const Work& work) {
  Interruption interruption(!release, holder);
  interruption.take_part(options);
  if (release) {
    GilRelease released;
    work();
  } else {
    work();
  }
  interruption.end();
  if (release && PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

WEFT_HOT void run_variant(PythonKernel& kernel, const driver::KernelVariant& variant, const char* block,
                          std::span<const std::int64_t> dims, bool release, bool adjoint, Holder holder) {
  const LaunchSettings& settings = launch_settings();
  driver::LaunchRequest request{dims, {}};
  request.options.serial = settings.max_threads == 1;
  request.options.descending = adjoint && request.options.serial;
  request.options.max_threads = settings.max_threads;
  if (!release && !variant.binary->code().loops && !variant.binary->code().opaque)  // sure to end soon
    return kernel.run(variant, block, request);
  const auto run = [&] {
    run_interruptibly(request.options, release, holder, [&] { kernel.run(variant, block, request); });
  };
  if (!variant.binary) return run();  // the interpreter's
  thread_local unsigned launches = 0;
  if (++launches % 8 != 0 || threads_of(dims) * variant.binary->code().ns_per_thread >= kReleaseGilNs) return run();
  const auto start = std::chrono::steady_clock::now();
  run();
  note_time(variant, dims, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
}

WEFT_HOT runtime::LaunchOptions PythonKernel::cpu_options() const {
  runtime::LaunchOptions options;
  options.max_threads = launch_settings().max_threads;
  options.serial = options.max_threads == 1;
  return options;
}

void run_released(const std::function<void(const runtime::LaunchOptions&)>& work) {
  runtime::LaunchOptions options;
  run_interruptibly(options, true, {}, [&] { work(options); });
}

void PythonKernel::run_unlocked(const std::function<void(const runtime::LaunchOptions&)>& work) { run_released(work); }

void PythonKernel::warn(const std::string& text) const {
  const nb::gil_scoped_acquire python;  // launches run without it
  if (hooks().warn.is_valid()) hooks().warn(text);
}

void PythonKernel::start(const driver::LaunchWork& work) {
  const std::vector<nb::object>& keep = static_cast<const PythonLaunch*>(work.owner.get())->keep;
  cuda::Device* device = work.place.device;
  if (device) {
    if (device->capture()) {
      note_launch(work, keep);
      device->keep_for_capture(std::make_shared<std::vector<runtime::Array>>(work.memory));
    }
    return run(work.variant, work.block, {work.dims, {}, work.place.gpu});
  }
  if (record_launch(work, keep)) return;
  run_variant(*this, work.variant, work.block, work.dims, releases_gil(work.variant, work.dims), work.adjoint);
}

void run_commands(const std::shared_ptr<const runtime::CommandList>& list) {
  const std::shared_ptr<const runtime::CommandList> held = list;  // Python may drop the graph meanwhile
  runtime::LaunchOptions options;
  options.max_threads = launch_settings().max_threads;
  options.serial = options.max_threads == 1;
  run_interruptibly(options, true, {}, [&] { held->run(options); });
}

void register_kernels(nb::module_& m) {
  m.def("set_hooks", [](nb::object as_array, nb::object make_value, nb::object type_of, nb::object warn) {
    hooks() = {std::move(as_array), std::move(make_value), std::move(type_of), std::move(warn), {}};
  });
  m.def("set_build_hook", [](nb::object built) { hooks().built = std::move(built); }, nb::arg("built").none());
  nb::class_<PythonKernel>(m, "Kernel", "A kernel for one set of compile options, and all its compiled forms.")
      .def(nb::new_([](const FunctionObject& f, nb::dict options, bool interpret, std::string name) {
             return std::make_shared<PythonKernel>(f.decl, options_from(options), Hash128{}, interpret,
                                                   std::move(name));
           }),
           nb::arg("function"), nb::arg("options"), nb::arg("interpret") = false, nb::arg("name") = "")
      .def_prop_ro("name", [](const PythonKernel& k) { return k.name(); })
      .def("unchanged", &PythonKernel::unchanged,
           "False if the kernel's text or names mean something else than when it was compiled.")
      .def("params", &params_of,
           "Name, type (None if generic), annotation and whether there is a default, per parameter.")
      .def(
          "build",
          [](PythonKernel& k, const std::vector<TypeHandle>& types, std::size_t rank, int place) {
            build(k, types, rank, place);
          },
          nb::arg("types"), nb::arg("rank") = 1, nb::arg("place") = kOnCpu,
          "Compiles the form for these types ahead of a launch on a device: -1 is the CPU.")
      .def(
          "cuda_properties",
          [](PythonKernel& k, int place) {
            return ask_gpu_code(
                k, place, [](const cuda::KernelCode& code) { return std::pair(code.registers(), code.local_bytes()); });
          },
          nb::arg("place"), "Registers and bytes of local memory per thread.")
      .def(
          "cuda_best_block",
          [](PythonKernel& k, int place) {
            return ask_gpu_code(k, place, [](const cuda::KernelCode& code) { return code.best_block(); });
          },
          nb::arg("place"), "The block size that fills the device best, and how many blocks that takes.")
      .def(
          "cuda_largest_cluster",
          [](PythonKernel& k, int place, int block_dim, unsigned shared_bytes) {
            return ask_gpu_code(k, place, [&](const cuda::KernelCode& code) {
              return code.largest_cluster(block_dim > 0 ? block_dim : std::min(code.max_threads(), 256), shared_bytes);
            });
          },
          nb::arg("place"), nb::arg("block_dim"), nb::arg("shared_bytes"), "The most blocks that can form a cluster.")
      .def("build_ahead", &build_ahead,
           "Compiles the form that a launch will probably ask for, if that runs none of the program's own code. Errors "
           "are left to that launch.");
  register_build_counts(m);
  register_late_launches(m);
  m.def(
      "set_first_versions", [](bool enabled, double least_cost) { driver::set_first_versions({enabled, least_cost}); },
      nb::arg("enabled"), nb::arg("least_cost") = driver::FirstVersions::kUsual,
      "Whether launches begin large kernels with a version that compiles quickly; 0: all kernels, for tests.");
  m.def(
      "force_sum_way",
      [](int way) {
        runtime::force_sum_way(way < 0 ? std::nullopt : std::optional(runtime::SumWay(way % runtime::kSumWays)));
      },
      nb::arg("way"),
      "For tests: how launches add to arrays that they only add to, where they can: 0 on one worker, 1 to copies, 2 by "
      "atomic operations, 3 by buckets; -1: as their times say.");
  m.def("bucket_launches", &runtime::bucket_launches, "How many launches wrote their additions down.");
  m.def("launches_that_own", &runtime::launches_that_own, "How many of them had workers who may add in place.");
  m.def(
      "finish_full_versions",
      [] {
        GilRelease release;
        driver::finish_full_versions();
      },
      "Makes the full versions of all kernels that run by a first one. Launches use them from then on.");
  m.def(
      "end_full_versions",
      [] {
        {
          GilRelease release;
          runtime::LateWork::enable(false);
          runtime::LateWork::settle();
          codegen::end_background_compiles();
        }
        runtime::LateWork::raise();  // nobody else will
      },
      "Before the process ends: launches that wait are done, threads that make full versions stop for good.");
  m.def("count_first_versions", &driver::count_first_versions,
        "How many kernels run by a first version whose full one is not made yet.");
}

}  // namespace weft::bind
