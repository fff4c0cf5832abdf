// Which launches may wait, and what they hold meanwhile.
#include "bind/late_launch.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "bind/build_counts.h"
#include "bind/gil.h"
#include "driver/gpu_launch.h"
#include "driver/late_code.h"
#include "runtime/late_work.h"
#include "runtime/scheduler.h"

namespace weft::bind {
namespace {

constexpr int kAnyKernelsBlock = 256;  // threads that a block of every kernel can have, whatever registers it takes

std::atomic<int> least_cores{kUsualLeastCores};

/// The code that launches of one form wait for.
struct Coming {
  std::shared_ptr<driver::FullVersion> code;
  driver::SourceKey source;
};
using Form = std::tuple<const driver::KernelSignature*, std::size_t, const cuda::Device*>;

/// All that is on its way.
class ComingCode {
 public:
  static ComingCode& shared() {
    static auto* only = new ComingCode;  // never destroyed: threads may outlive static destructors
    return *only;
  }
  std::shared_ptr<const Coming> find(const Form& form) {
    const std::lock_guard lock(mutex_);
    const auto found = coming_.find(form);
    return found == coming_.end() ? nullptr : found->second;
  }
  std::shared_ptr<const Coming> add(const Form& form, const driver::LateCode& late) {
    auto made = std::make_shared<const Coming>(Coming{late.code, {late.source_hash, {}}});
    const std::lock_guard lock(mutex_);
    coming_[form] = made;
    return made;
  }
  /// True for the first who does.
  bool remove(const Form& form) {
    const std::lock_guard lock(mutex_);
    return coming_.erase(form) != 0;
  }

 private:
  std::mutex mutex_;
  std::map<Form, std::shared_ptr<const Coming>> coming_;
};

/// A launch in the queue. What it works on is memory that nobody else knows of, and it holds that.
class LateLaunch final : public runtime::LateStep {
 public:
  LateLaunch(std::shared_ptr<PythonKernel> kernel, driver::KernelSignature& signature, driver::LaunchForm form,
             const driver::KernelVariant* ready, std::shared_ptr<const Coming> coming, const char* block,
             std::span<const std::int64_t> dims, const LaunchPlace& place, std::vector<runtime::Array> arrays)
      : kernel_(std::move(kernel)),
        signature_(signature),
        form_(form),
        ready_(ready),
        coming_(std::move(coming)),
        block_(signature.layout.size / 8 + 1),
        rank_(dims.size()),
        place_(place),
        arrays_(std::move(arrays)) {
    std::memcpy(block_.data(), block, signature.layout.size);
    std::ranges::copy(dims, dims_);
  }
  ~LateLaunch() override {
    if (kernel_.use_count() > 1) return;
    if (!nb::is_alive()) {  // leave it
      new std::shared_ptr<PythonKernel>(std::move(kernel_));
      return;
    }
    const GilAcquire gil;  // the kernel goes with it, and what its scope knows of Python
    kernel_.reset();
  }

  bool ready() const noexcept override { return ready_ || coming_->code->is_settled(); }
  void wait() noexcept override {
    if (!ready_) coming_->code->finish();
  }
  void run() override {
    if (!ready_) adopt();
    kernel_->run(*ready_, block_.data(), {{dims_, rank_}, {}, place_.gpu});
    arrays_.clear();
  }

 private:
  void adopt() {
    const bool first = ComingCode::shared().remove({&signature_, form_.index(), place_.device});
    const std::string failed = "kernel '" + kernel_->name() + "': ";
    if (!coming_->code->binary()) throw runtime::Error(failed + coming_->code->problem());
    DiagnosticSink sink;
    ready_ = kernel_->variant(signature_, form_, coming_->source, sink, place_.device);
    if (!ready_) throw runtime::Error(failed + sink.render_all());
    if (first) count_build(coming_->code->report(), /*late=*/true);
  }

  std::shared_ptr<PythonKernel> kernel_;
  driver::KernelSignature& signature_;
  const driver::LaunchForm form_;
  const driver::KernelVariant* ready_;
  const std::shared_ptr<const Coming> coming_;
  std::vector<std::uint64_t> block_;
  std::int64_t dims_[kMaxRank];
  const std::size_t rank_;
  const LaunchPlace place_;
  std::vector<runtime::Array> arrays_;
};

/// Whether a parameter is a number or an array of numbers: there are no addresses in the memory of such arrays.
bool is_plain(const Type* type) {
  return type->is_array() ? type->element()->is_numeric() || type->element()->is_scalar()
                          : type->is_numeric() || type->is_scalar();
}

bool may_wait(const PythonKernel& kernel, const driver::KernelSignature& signature, const LaunchPlace& place) {
  if (kFreeThreaded || !runtime::LateWork::allowed() || runtime::available_cpus() < least_cores) return false;
  const driver::CompileOptions& options = kernel.options();
  if (options.names_places() || options.deterministic || options.doublings() || options.gpu.keep_ptx) return false;
  // What a launch may refuse of these is known with the code only.
  if (place.gpu.stream || place.gpu.max_blocks < 0 || place.gpu.block_dim < 0 ||
      (place.gpu.block_dim > kAnyKernelsBlock && !options.gpu.block))
    return false;
  if (!place.device->is_primary() || place.device->capture() ||
      place.device->system().timing().wants(cuda::kTimeKernel) || tells_builds())
    return false;
  return std::ranges::all_of(signature.types, is_plain);
}

}  // namespace

bool launch_late(const std::shared_ptr<PythonKernel>& kernel, driver::KernelSignature& signature,
                 const ArgumentList& args, const char* block, std::span<const std::int64_t> dims,
                 const LaunchPlace& place) {
  const driver::LaunchForm form = driver::form_of(signature.layout, block, dims.size());
  const driver::KernelVariant* ready = signature.ready(form, place.device);
  if (ready && (!runtime::LateWork::waiting() || !driver::GpuLaunch::is_steady(*ready))) return false;
  if (!may_wait(*kernel, signature, place)) return false;
  std::vector<runtime::Array> arrays;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (signature.types[i]->is_array() && args[i] != Py_None && !as_array(args[i])) return false;  // another library's
    hold_arrays(args[i], signature.types[i], arrays);
  }
  for (const runtime::Array& array : arrays)
    if (array.size() && (array.space() != place.device || !runtime::LateWork::is_private(array))) return false;
  for (const std::int64_t extent : dims)
    if (extent > INT32_MAX) return false;  // whether it can be is known with the code
  runtime::LateWork::drop_done();
  runtime::LateWork::raise();
  runtime::KernelCode code;  // sizes are checked before anything is compiled
  code.name = kernel->name();
  code.tid_dims_read = ready ? ready->binary->code().tid_dims_read : 0;
  runtime::launch_size(code, dims);
  std::shared_ptr<const Coming> coming;
  const Form key{&signature, form.index(), place.device};
  if (!ready) coming = ComingCode::shared().find(key);
  if (!ready && !coming) {
    try {
      const driver::MayBeLate late(kernel->decl());
      ready = &kernel->build(signature, form, place.device);
    } catch (const driver::LateCode& late) {
      coming = ComingCode::shared().add(key, late);
    }
  }
  if (ready && (!runtime::LateWork::waiting() || !driver::GpuLaunch::is_steady(*ready))) return false;
  if (runtime::LateWork::add(std::make_shared<LateLaunch>(kernel, signature, form, ready, std::move(coming), block,
                                                          dims, place, std::move(arrays))))
    return true;
  ComingCode::shared().remove(key);  // who builds it now waits for the thread that does
  return false;
}

void register_late_launches(nb::module_& m) {
  m.def(
      "set_late_launches",
      [](bool enabled, int cores) {
        runtime::LateWork::enable(enabled);
        least_cores = cores;
        if (!enabled && runtime::LateWork::waiting()) runtime::LateWork::settle();
      },
      nb::arg("enabled"), nb::arg("least_cores") = kUsualLeastCores,
      "Whether launches on GPUs may wait for their code in a queue, and from how many cores on.");
  m.def("late_launches_waiting", [] { return runtime::LateWork::waiting(); });
  runtime::LateWork::set_waiter([](const std::function<void()>& wait) {
    if (!PyGILState_Check()) return wait();
    GilRelease release;
    wait();
  });
}

}  // namespace weft::bind
