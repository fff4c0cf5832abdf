// Compiling PTX, loading and launching.
#include "cuda/module.h"
#include "cuda/graph.h"
#include "cuda/own_code.h"
#include "runtime/errors.h"
#include "runtime/late_work.h"
#include "support/hot.h"

#include <algorithm>
#include <vector>

namespace weft::cuda {
namespace {

constexpr std::size_t kLogSize = 16384;
// The driver's numbers: an option that names the target, and what is added to an architecture for what it alone has.
constexpr int kJitTarget = 9;
constexpr std::uintptr_t kOwnTargets = 0x10000;

/// The last lines of a log that may be long.
std::string log_text(const std::vector<char>& log) {
  std::string text(log.data());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// A module, unloaded with the object.
class Loaded {
 public:
  Loaded(Device& device, ModuleHandle module) : device_(device), module_(module) {}
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (device_.system().forked()) return;
    try {
      const runtime::LateWork::Apart apart;  // work that waits holds its code
      ContextScope scope(device_);
      device_.api().module_unload(module_);
    } catch (const runtime::Error&) {  // the device is gone, and the code with it
    }
  }

 private:
  Device& device_;
  ModuleHandle module_;
};

void* as_value(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

}  // namespace

std::string compile_ptx(Device& device, const std::string& ptx, const std::string& name, const PtxOptions& options) {
  const std::string what =
      "'" + name + "' for " + device.facts().name + " (sm_" + std::to_string(device.facts().arch) + ")";
  if (const PtxCompiler* linked = device.system().ptx_compiler())
    if (std::optional<std::string> made = linked->compile(ptx, device.facts().arch, options, what)) return *made;
  const runtime::LateWork::Apart apart;  // who makes code may have the turn that work which waits needs
  ContextScope scope(device);
  const DriverTable& api = device.api();
  std::vector<char> log(kLogSize, 0);
  int keys[] = {kJitErrorLog, kJitErrorLogSize, kJitOptimizationLevel, kJitLineInfo, kJitTarget};
  void* values[] = {log.data(), as_value(kLogSize - 1), as_value(std::uintptr_t(options.opt_level)),
                    as_value(options.line_info ? 1 : 0), as_value(kOwnTargets + std::uintptr_t(device.facts().arch))};
  // The target is that of the context, if nothing is said.
  const std::size_t count = std::size(keys) - (is_for_own(ptx, device.facts().arch) ? 0 : 1);
  LinkHandle link = nullptr;
  WEFT_CUDA(api, link_create, unsigned(count), keys, values, &link);
  struct Destroy {
    const DriverTable& api;
    LinkHandle link;
    ~Destroy() { api.link_destroy(link); }
  } destroy{api, link};
  auto fail = [&](Result code, const char* call) {
    std::string text = log_text(log);
    throw_driver_error(api, code, call, "while compiling " + what + (text.empty() ? "" : ":\n" + text));
  };
  if (Result code = api.link_add(link, kJitInputPtx, const_cast<char*>(ptx.c_str()), ptx.size() + 1, name.c_str(), 0,
                                 nullptr, nullptr);
      code != kSuccess)
    fail(code, "link_add");
  void* cubin = nullptr;
  std::size_t size = 0;
  if (Result code = api.link_complete(link, &cubin, &size); code != kSuccess) fail(code, "link_complete");
  return std::string(static_cast<const char*>(cubin), size);
}

KernelCode::KernelCode(Device& device, std::span<const char> image, const std::string& entry, const CodeTraits& traits)
    : device_(device), entry_(entry), traits_(traits) {
  const runtime::LateWork::Apart apart;  // as above
  ContextScope scope(device);
  const DriverTable& api = device.api();
  device.late_drops().wait_for_idle();  // as loading does
  ModuleHandle module = nullptr;
  if (Result code = api.module_load(&module, image.data(), 0, nullptr, nullptr); code != kSuccess)
    throw_driver_error(api, code, "module_load", "while loading '" + entry + "' on " + device.name());
  module_ = std::make_shared<Loaded>(device, module);
  if (Result code = api.module_function(&function_, module, entry.c_str()); code != kSuccess)
    throw_driver_error(api, code, "module_function", "there is no kernel '" + entry + "'");
  WEFT_CUDA(api, function_attribute, &max_threads_, kFunctionMaxThreads, function_);
  WEFT_CUDA(api, function_attribute, &registers_, kFunctionRegisters, function_);
  WEFT_CUDA(api, function_attribute, &local_bytes_, kFunctionLocalBytes, function_);
  WEFT_CUDA(api, function_attribute, &own_shared_bytes_, kFunctionOwnSharedBytes, function_);
  usual_block_ = usual_block_size(registers_, max_threads_, local_bytes_);
  if (!traits_.shared_bytes) return;
  const bool can = api.function_set_attribute &&
                   api.function_set_attribute(function_, kFunctionSharedBytes, int(traits_.shared_bytes)) == kSuccess;
  if (!can)
    throw runtime::ArgumentError("'" + entry + "' takes " + std::to_string(traits_.shared_bytes) +
                                 " bytes of shared memory for a block, more than " + device.name() +
                                 " has: use smaller tiles or fewer of them at a time");
}

int usual_block_size(int registers, int max_threads, int local_bytes) {
  // Threads with a stack of their own walk trees, some of them ten times as long as others: small blocks make room sooner.
  constexpr int kStack = 256, kSmallBlock = 128;
  if (local_bytes >= kStack) return std::min(max_threads, kSmallBlock);
  // Since sm_70: four parts with 16384 registers each, of which a warp gets 32 times a multiple of 8.
  constexpr int kParts = 4, kRegisters = 16384, kUnit = 8, kMost = 255, kWarp = 32;
  const int taken = (std::clamp(registers, 1, kMost) + kUnit - 1) / kUnit * kUnit;
  const int warps = kParts * (kRegisters / (kWarp * taken));
  auto running = [&](int block) { return warps * kWarp / block * block; };
  return std::min(max_threads, running(128) > running(256) ? 128 : 256);
}

/// In graphs of our own, where nobody reads a graph by functions that know no such edges; one launch after the other, the driver
/// takes longer for it than it saves. Of a larger grid the first blocks would crowd where there is room early.
bool KernelCode::may_start_early(StreamHandle stream, unsigned blocks) const {
  if (!traits_.waits_first || int(blocks) > device_.facts().sm_count) return false;
  const Capture* capture = device_.capture();
  return capture && !capture->is_external() && device_.system().early_starts() && capture->waits_for_one(stream);
}

KernelCode::~KernelCode() {
  if (!device_.system().forked()) device_.keep_until_idle(std::move(module_));
}

void KernelCode::launch(StreamHandle stream, unsigned blocks, unsigned block_dim, const void* arguments,
                        std::size_t size) const {
  void* extra[] = {kLaunchParamPointer, const_cast<void*>(arguments), kLaunchParamSize, &size, kLaunchParamEnd};
  const DriverTable& api = device_.api();
  auto queue = [&] {
    if (!may_start_early(stream, blocks))
      return api.launch(function_, blocks, 1, 1, block_dim, 1, 1, traits_.shared_bytes, stream, nullptr, extra);
    LaunchAttribute early;
    early.id = kLaunchMayStartEarly;
    early.value[0] = 1;
    LaunchConfig config;
    config.grid[0] = blocks;
    config.block[0] = block_dim;
    config.shared_bytes = traits_.shared_bytes;
    config.stream = stream;
    config.attributes = &early;
    config.count = 1;
    return api.launch_with(&config, function_, nullptr, extra);
  };
  Result code = queue();
  // The driver takes private memory for all threads that fit on the device, and knows nothing of what the pool holds back.
  if (code == kErrorOutOfMemory && !device_.capture()) {
    device_.make_room();
    code = queue();
  }
  if (code == kErrorOutOfMemory)
    throw runtime::OutOfMemory(std::uint64_t(local_bytes_),
                               "no memory on " + device_.name() + " for a kernel that takes " +
                                   std::to_string(local_bytes_) + " bytes of private memory for each thread" +
                                   device_.free_text());
  if (code != kSuccess) throw_driver_error(device_.api(), code, "launch");
}

std::pair<int, int> KernelCode::best_block() const {
  ContextScope scope(device_);
  int blocks = 0, block_dim = 0;
  if (!device_.api().occupancy_block) throw runtime::ArgumentError("the CUDA driver is too old to say this");
  WEFT_CUDA(device_.api(), occupancy_block, &blocks, &block_dim, function_, nullptr, 0, 0);
  return {block_dim, blocks};
}

int KernelCode::largest_cluster(int block_dim, unsigned shared_bytes) const {
  const DriverTable& api = device_.api();
  if (device_.facts().arch < 90 || !api.occupancy_clusters || !api.function_set_attribute) return 1;
  ContextScope scope(device_);
  if (api.function_set_attribute(function_, kFunctionAnyCluster, 1) != kSuccess) return 1;
  for (unsigned size = 16; size > 1; size /= 2) {
    LaunchAttribute cluster;
    cluster.value[0] = size;
    cluster.value[1] = cluster.value[2] = 1;
    LaunchConfig config;
    config.grid[0] = size;
    config.block[0] = unsigned(block_dim);
    config.shared_bytes = shared_bytes;
    config.attributes = &cluster;
    config.count = 1;
    int clusters = 0;
    if (api.occupancy_clusters(&clusters, function_, &config) == kSuccess && clusters > 0) return int(size);
  }
  return 1;
}

WEFT_HOT unsigned blocks_for(std::int64_t count, unsigned block_dim, std::int64_t max_blocks) {
  std::int64_t blocks = (count - 1) / std::int64_t(block_dim) + 1;
  if (max_blocks > 0) blocks = std::min(blocks, max_blocks);
  return unsigned(std::clamp<std::int64_t>(blocks, 1, INT32_MAX));
}

}  // namespace weft::cuda
