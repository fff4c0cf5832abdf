// Which launches may wait, and what they hold meanwhile.
#include "bind/late_launch.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
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

using Form = std::tuple<const driver::KernelSignature*, std::size_t, const cuda::Device*>;

/// All that is on its way.
class ComingCode {
 public:
  static ComingCode& shared() {
    static auto* only = new ComingCode;  // never destroyed: threads may outlive static destructors
    return *only;
  }
  std::shared_ptr<driver::FullVersion> find(const Form& form) {
    const std::lock_guard lock(mutex_);
    const auto found = coming_.find(form);
    return found == coming_.end() ? nullptr : found->second;
  }
  std::shared_ptr<driver::FullVersion> add(const Form& form, const driver::LateCode& late) {
    const std::lock_guard lock(mutex_);
    return coming_[form] = late.code;
  }
  /// True for the first who does.
  bool remove(const Form& form) {
    const std::lock_guard lock(mutex_);
    return coming_.erase(form) != 0;
  }

 private:
  std::mutex mutex_;
  std::map<Form, std::shared_ptr<driver::FullVersion>> coming_;
};

/// What became of code that launches waited for; for those who look for time.
struct LateRow {
  std::string kernel;
  driver::FullVersion::Times times;
  double used = 0;  // when the first launch could go on
  driver::BuildReport report;
};
constexpr std::size_t kMostRows = 4096;
std::mutex rows_mutex;
std::vector<LateRow>& rows() {
  static auto* all = new std::vector<LateRow>;  // threads may outlive static destructors
  return *all;
}

void note_row(const std::string& kernel, const driver::FullVersion& code) {
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(rows_mutex);
  if (rows().size() < kMostRows) rows().push_back({kernel, code.times(), now, code.report()});
}

/// Kernels whose launches waited for their code themselves, and why.
std::vector<std::pair<std::string, std::string>>& refusals() {
  static auto* all = new std::vector<std::pair<std::string, std::string>>;
  return *all;
}

void note_refusal(const std::string& kernel, const char* why) {
  const std::lock_guard lock(rows_mutex);
  if (refusals().size() < kMostRows) refusals().emplace_back(kernel, why);
}

nb::list late_rows() {
  nb::list out;
  const std::lock_guard lock(rows_mutex);
  for (const LateRow& row : rows()) {
    nb::dict one;
    one["kernel"] = row.kernel;
    one["wanted"] = row.times.wanted;
    one["begun"] = row.times.begun;
    one["done"] = row.times.done;
    one["used"] = row.used;
    one["front end"] = row.report.seconds_front + row.report.seconds_passes + row.report.seconds_emit;
    one["LLVM"] = row.report.seconds_llvm_opt + row.report.seconds_codegen - row.report.seconds_assembler;
    one["assembler"] = row.report.seconds_assembler;
    one["loading"] = row.report.seconds_load;
    out.append(one);
  }
  return out;
}

/// A launch in the queue. What it works on is memory that nobody else knows of, and it holds that.
class LateLaunch final : public runtime::LateStep {
 public:
  LateLaunch(std::shared_ptr<PythonKernel> kernel, driver::KernelSignature& signature, driver::LaunchForm form,
             const driver::KernelVariant* ready, std::shared_ptr<driver::FullVersion> coming, const char* block,
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
      new (std::nothrow) std::shared_ptr<PythonKernel>(std::move(kernel_));
      return;
    }
    const GilAcquire gil;  // the kernel goes with it, and what its scope knows of Python
    kernel_.reset();
  }

  bool ready() const noexcept override { return ready_ || coming_->is_settled(); }
  void wait() noexcept override {
    if (!ready_) coming_->finish();
  }
  void run() override {
    if (!ready_) adopt();
    kernel_->run(*ready_, block_.data(), {{dims_, rank_}, {}, place_.gpu});
    arrays_.clear();
  }

 private:
  void adopt() {
    const bool first = ComingCode::shared().remove({&signature_, form_.index(), place_.device});
    std::shared_ptr<const driver::KernelBinary> code = coming_->binary();
    if (!code) throw runtime::Error("kernel '" + kernel_->name() + "': " + coming_->problem());
    ready_ = &kernel_->take_code(signature_, form_, *place_.device, std::move(code), coming_->report());
    if (!first) return;
    count_build(coming_->report(), /*late=*/true);
    note_row(kernel_->name(), *coming_);
  }

  std::shared_ptr<PythonKernel> kernel_;
  driver::KernelSignature& signature_;
  const driver::LaunchForm form_;
  const driver::KernelVariant* ready_;
  const std::shared_ptr<driver::FullVersion> coming_;
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

/// Why a launch can't wait; null: it can.
const char* find_obstacle(const PythonKernel& kernel, const driver::KernelSignature& signature,
                          const LaunchPlace& place) {
  if (!runtime::LateWork::allowed()) return "a capture, or streams of threads";
  const driver::CompileOptions& options = kernel.options();
  if (options.names_places() || options.deterministic || options.doublings() || options.gpu.keep_ptx)
    return "the kernel's options";
  // What a launch may refuse of these is known with the code only.
  if (place.gpu.stream) return "a stream that was given";
  if (place.gpu.max_blocks < 0 || place.gpu.block_dim < 0 ||
      (place.gpu.block_dim > kAnyKernelsBlock && !options.gpu.block))
    return "its blocks";
  if (!place.device->is_primary() || place.device->capture()) return "the context";
  if (place.device->system().timing().wants_any() || tells_builds()) return "somebody measures";
  // Others could queue work behind it, or capture it.
  const cuda::Stream* stream = place.device->stream_now();
  if (stream ? !stream->is_private() : !place.device->stream()->is_private()) return "others know the stream";
  return std::ranges::all_of(signature.types, is_plain) ? nullptr : "types of arguments";
}

const char* find_obstacle(const ArgumentList& args, const driver::KernelSignature& signature, const LaunchPlace& place,
                          std::span<const std::int64_t> dims, std::vector<runtime::Array>& arrays) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (signature.types[i]->is_array() && args[i] != Py_None && !as_array(args[i])) return "another library's array";
    hold_arrays(args[i], signature.types[i], arrays);
  }
  for (const runtime::Array& array : arrays) {
    if (!array.size()) continue;
    if (array.space() != place.device) return "memory of another device";
    if (!runtime::LateWork::is_private(array)) return "others know the memory";
  }
  for (const std::int64_t extent : dims)
    if (extent > INT32_MAX) return "its size";  // whether it can be is known with the code
  return nullptr;
}

}  // namespace

bool launch_late(const std::shared_ptr<PythonKernel>& kernel, driver::KernelSignature& signature,
                 const ArgumentList& args, const char* block, std::span<const std::int64_t> dims,
                 const LaunchPlace& place, bool needs_python) {
  if (kFreeThreaded || !runtime::LateWork::enabled()) return false;
  const driver::LaunchForm form = driver::form_of(signature.layout, block, dims.size(), &signature.order);
  const driver::KernelVariant* ready = signature.ready(form, place.device);
  auto is_now = [&] {
    return ready &&
           (!runtime::LateWork::waiting() || !driver::GpuLaunch::is_steady(*ready) || ready->binary->uses_addresses());
  };
  if (is_now() || runtime::available_cpus() < least_cores) return false;
  std::vector<runtime::Array> arrays;
  const char* obstacle = needs_python ? "objects of Python" : find_obstacle(*kernel, signature, place);
  if (!obstacle) obstacle = find_obstacle(args, signature, place, dims, arrays);
  if (obstacle) {
    if (!ready) note_refusal(kernel->name(), obstacle);
    return false;
  }
  runtime::LateWork::drop_done();
  runtime::LateWork::raise();
  runtime::KernelCode code;  // sizes are checked before anything is compiled
  code.name = kernel->name();
  code.tid_dims_read = ready ? ready->binary->code().tid_dims_read : 0;
  runtime::launch_size(code, dims);
  std::shared_ptr<driver::FullVersion> coming;
  const Form key{&signature, form.index(), place.device};
  const bool was_ready = ready;
  if (!ready) coming = ComingCode::shared().find(key);
  if (!ready && !coming) {
    try {
      const driver::MayBeLate late(kernel->decl());
      ready = &kernel->build(signature, form, place.device);
    } catch (const driver::LateCode& late) {
      coming = ComingCode::shared().add(key, late);
    }
  }
  if (ready && !was_ready)
    note_refusal(kernel->name(),
                 ready->report.source == driver::BuildReport::Source::compiled ? "what it does" : "it is there");
  if (is_now()) return false;
  if (runtime::LateWork::add(std::make_shared<LateLaunch>(kernel, signature, form, ready, std::move(coming), block,
                                                          dims, place, std::move(arrays))))
    return true;
  ComingCode::shared().remove(key);  // who builds it now waits for the thread that does
  return false;
}

void register_late_launches(nb::module_& m) {
  m.def(
      "set_late_launches",
      [](bool enabled, int cores, int threads) {
        runtime::LateWork::enable(enabled);
        least_cores = cores;
        driver::set_urgent_threads(threads);
        if (!enabled && runtime::LateWork::waiting()) runtime::LateWork::settle();
      },
      nb::arg("enabled"), nb::arg("least_cores") = kUsualLeastCores, nb::arg("threads") = 0,
      "Whether launches on GPUs may wait for their code in a queue, from how many cores on, and how many threads make it; 0: as "
      "many as there are cores, but one.");
  m.def(
      "late_code", &late_rows,
      "For each kernel that launches waited for: when its code was asked for, begun, done and used, and what its stages took, "
      "in seconds.");
  m.def(
      "late_refusals",
      [] {
        const std::lock_guard lock(rows_mutex);
        return refusals();
      },
      "Kernels whose launches waited for their code themselves while others need not, and why.");
  m.def(
      "late_waits",
      [] {
        const runtime::LateWork::Waits waits = runtime::LateWork::waits();
        return std::pair(waits.seconds, waits.count);
      },
      "How many seconds threads have waited for such code, and how often.");
  m.def("late_launches_waiting", [] { return runtime::LateWork::waiting(); });
  runtime::LateWork::set_waiter([](const std::function<void()>& wait) {
    if (!PyGILState_Check()) return wait();
    GilRelease release;
    wait();
  });
}

}  // namespace weft::bind
