// The fake driver's functions.
#include "fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "ptx_machine.h"

namespace weft::cuda::fake {
namespace {

State* current = nullptr;
ContextHandle current_context = nullptr;
std::uintptr_t next_handle = 0x1000;

template <class T>
T make_handle() {
  return reinterpret_cast<T>(next_handle += 16);
}

#define FAKE(name) \
  if (const Result told = note(name); told != kSuccess) return told

Result take(DevicePtr* memory, std::size_t bytes) {
  if (state().allocated + bytes > state().memory_limit) return kErrorOutOfMemory;
  void* p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(p, 0xCD, bytes);
  *memory = reinterpret_cast<DevicePtr>(p);
  state().blocks[*memory] = bytes;
  state().allocated += bytes;
  return kSuccess;
}

Result give(DevicePtr memory) {
  auto it = state().blocks.find(memory);
  if (it == state().blocks.end()) return kErrorInvalidValue;
  state().allocated -= it->second;
  state().blocks.erase(it);
  std::free(reinterpret_cast<void*>(memory));
  return kSuccess;
}

/// Whether memory lies in one block that was given out.
bool inside_a_block(std::size_t address, std::size_t bytes) {
  auto it = state().blocks.upper_bound(address);
  return it != state().blocks.begin() && address + bytes <= (--it)->first + it->second;
}

/// The allocation around an address, of the device's memory or of what it can reach on the host.
PtxRange allocation(std::size_t address) {
  for (const std::map<DevicePtr, std::size_t>* blocks : {&state().blocks, &state().host_blocks}) {
    auto it = blocks->upper_bound(address);
    if (it == blocks->begin() || address >= (--it)->first + it->second) continue;
    return {it->first, it->first + it->second};
  }
  return {0, 0};
}

/// WEFT_FAKE_CUDA_RACES=0 lets threads race for shared memory.
bool watches_races() {
  static const char* asked = std::getenv("WEFT_FAKE_CUDA_RACES");
  return !asked || std::strcmp(asked, "0") != 0;
}

/// WEFT_FAKE_CUDA_COUNTS names a file that gets a line for each launch: what its threads did (ptx_counts.h).
void run_kernel(const PtxModule& module, const std::string& kernel, PtxLaunch launch) {
  static const char* asked = std::getenv("WEFT_FAKE_CUDA_COUNTS");
  std::string counts;
  if (asked) launch.count = &counts;
  module.run(kernel, launch);
  if (asked) std::ofstream(asked, std::ios::app) << counts;
}

/// What link_complete makes of a program's PTX.
constexpr char kMachineCode[] = "machine code of ";

struct Function {
  std::string name;
  std::shared_ptr<PtxModule> module;  // none: code that does not run
};
std::map<ModuleHandle, std::shared_ptr<PtxModule>> texts;
std::map<FunctionHandle, Function> functions;

Result stream_state() {
  if (state().not_ready > 0) {
    --state().not_ready;
    return kErrorNotReady;
  }
  return kSuccess;
}

DriverTable make_table() {
  DriverTable t;
  t.init = [](unsigned) -> Result { return state().init_result; };
  t.driver_version = [](int* v) -> Result { return *v = state().version, kSuccess; };
  t.error_name = [](Result code, const char** name) -> Result {
    *name = code == kErrorOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return kSuccess;
  };
  t.error_text = [](Result, const char** text) -> Result { return *text = "as told", kSuccess; };
  t.device_count = [](int* n) -> Result {
    FAKE("device_count");
    return *n = state().devices, kSuccess;
  };
  t.device_get = [](DeviceNumber* d, int ordinal) -> Result { return *d = ordinal, kSuccess; };
  t.device_name = [](char* name, int, DeviceNumber d) -> Result {
    FAKE("device_name");
    std::strcpy(name, d == 0 ? "Fake GPU" : "Other Fake GPU");
    return kSuccess;
  };
  t.device_attribute = [](int* value, int which, DeviceNumber) -> Result {
    FAKE("device_attribute");
    *value = which == kAttributeComputeMajor          ? state().arch / 10
             : which == kAttributeComputeMinor        ? state().arch % 10
             : which == kAttributeMultiprocessorCount ? 4
             : which == kAttributeMaxThreadsPerBlock  ? 1024
             : which == kAttributeMaxSharedMemory     ? 227 * 1024
                                                      : 1;
    return kSuccess;
  };
  t.device_memory = [](std::size_t* bytes, DeviceNumber) -> Result { return *bytes = state().memory_limit, kSuccess; };
  t.device_uuid = [](Uuid* uuid, DeviceNumber d) -> Result {
    for (int i = 0; i < 16; ++i) uuid->bytes[i] = (unsigned char)(i + 16 * d);
    return kSuccess;
  };
  t.device_pci = [](char* text, int, DeviceNumber d) -> Result {
    std::strcpy(text, d == 0 ? "00000000:0A:00.0" : "00000000:0B:00.0");
    return kSuccess;
  };
  t.device_can_access_peer = [](int* can, DeviceNumber, DeviceNumber) -> Result { return *can = 1, kSuccess; };
  t.primary_retain = [](ContextHandle* c, DeviceNumber d) -> Result {
    FAKE("primary_retain");
    return *c = reinterpret_cast<ContextHandle>(0x10 * (std::uintptr_t(d) + 1)), kSuccess;
  };
  t.context_get = [](ContextHandle* c) -> Result { return *c = current_context, kSuccess; };
  t.context_set = [](ContextHandle c) -> Result {
    FAKE("context_set");
    return current_context = c, kSuccess;
  };
  t.context_device = [](DeviceNumber* d) -> Result {
    FAKE("context_device");
    if (!current_context) return kErrorInvalidContext;
    return *d = DeviceNumber(reinterpret_cast<std::uintptr_t>(current_context) / 0x10 - 1) % 0x10, kSuccess;
  };
  t.context_synchronize = []() -> Result {
    FAKE("context_synchronize");
    return kSuccess;
  };
  t.context_priorities = [](int* least, int* greatest) -> Result { return *least = 0, *greatest = -5, kSuccess; };
  t.peer_enable = [](ContextHandle, unsigned) -> Result {
    FAKE("peer_enable");
    return kSuccess;
  };
  t.peer_disable = [](ContextHandle) -> Result {
    FAKE("peer_disable");
    return kSuccess;
  };
  add_textures(t);
  t.memory_info = [](std::size_t* free, std::size_t* total) -> Result {
    *total = state().memory_limit;
    *free = *total - state().allocated;
    return kSuccess;
  };
  t.memory_allocate = [](DevicePtr* p, std::size_t bytes) -> Result {
    FAKE("memory_allocate");
    return take(p, bytes);
  };
  t.memory_allocate_managed = [](DevicePtr* p, std::size_t bytes, unsigned) -> Result {
    FAKE("memory_allocate_managed");
    return take(p, bytes);
  };
  t.memory_free = [](DevicePtr p) -> Result {
    FAKE("memory_free");
    return give(p);
  };
  t.memory_allocate_async = [](DevicePtr* p, std::size_t bytes, StreamHandle) -> Result {
    FAKE("memory_allocate_async");
    return take(p, bytes);
  };
  t.memory_free_async = [](DevicePtr p, StreamHandle) -> Result {
    FAKE("memory_free_async");
    return give(p);
  };
  t.pool_default = [](PoolHandle* pool, DeviceNumber) -> Result { return *pool = make_handle<PoolHandle>(), kSuccess; };
  t.pool_set = [](PoolHandle, int which, void* value) -> Result {
    FAKE("pool_set");
    if (which == kPoolReleaseThreshold) std::memcpy(&state().release_threshold, value, 8);
    return kSuccess;
  };
  t.pool_get = [](PoolHandle, int which, void* value) -> Result {
    FAKE("pool_get");
    const std::uint64_t found = which == kPoolReleaseThreshold ? state().release_threshold : state().allocated;
    std::memcpy(value, &found, 8);
    return kSuccess;
  };
  t.pool_trim = [](PoolHandle, std::size_t) -> Result {
    FAKE("pool_trim");
    return kSuccess;
  };
  t.pool_set_access = [](PoolHandle, const PoolAccess*, std::size_t) -> Result {
    FAKE("pool_set_access");
    return kSuccess;
  };
  t.host_allocate = [](void** p, std::size_t bytes, unsigned) -> Result {
    FAKE("host_allocate");
    *p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    state().host_blocks[reinterpret_cast<DevicePtr>(*p)] = bytes;
    return kSuccess;
  };
  t.host_free = [](void* p) -> Result {
    FAKE("host_free");
    state().host_blocks.erase(reinterpret_cast<DevicePtr>(p));
    return std::free(p), kSuccess;
  };
  t.pointer_attribute = [](void* value, int attribute, DevicePtr address) -> Result {
    const bool on_device = inside_a_block(address, 1);
    if ((!on_device && allocation(address).second == 0) || attribute == kPointerRangeStart) return kErrorInvalidValue;
    if (attribute == kPointerMemoryType)
      *static_cast<unsigned*>(value) = on_device ? kMemoryTypeDevice : kMemoryTypeHost;
    else
      *static_cast<int*>(value) = 0;
    return kSuccess;
  };
  t.copy_async = [](DevicePtr to, DevicePtr from, std::size_t bytes, StreamHandle) -> Result {
    FAKE("copy_async");
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return kSuccess;
  };
  t.copy_peer_async = [](DevicePtr to, ContextHandle, DevicePtr from, ContextHandle, std::size_t bytes,
                         StreamHandle) -> Result {
    FAKE("copy_peer_async");
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return kSuccess;
  };
  t.set8_async = [](DevicePtr to, unsigned char value, std::size_t count, StreamHandle) -> Result {
    FAKE("set8_async");
    return std::memset(reinterpret_cast<void*>(to), value, count), kSuccess;
  };
  t.set16_async = [](DevicePtr to, unsigned short value, std::size_t count, StreamHandle) -> Result {
    FAKE("set16_async");
    return std::fill_n(reinterpret_cast<unsigned short*>(to), count, value), kSuccess;
  };
  t.set32_async = [](DevicePtr to, unsigned value, std::size_t count, StreamHandle) -> Result {
    FAKE("set32_async");
    return std::fill_n(reinterpret_cast<unsigned*>(to), count, value), kSuccess;
  };
  t.stream_create = [](StreamHandle* s, unsigned, int) -> Result {
    FAKE("stream_create");
    *s = make_handle<StreamHandle>();
    return state().streams.insert(*s), kSuccess;
  };
  t.stream_destroy = [](StreamHandle s) -> Result { return state().streams.erase(s), kSuccess; };
  t.stream_query = [](StreamHandle) -> Result {
    FAKE("stream_query");
    return stream_state();
  };
  t.stream_synchronize = [](StreamHandle stream) -> Result {
    FAKE("stream_synchronize");
    state().stalls += state().behind_others.contains(stream);
    return kSuccess;
  };
  t.stream_wait = [](StreamHandle stream, EventHandle, unsigned) -> Result {
    FAKE("stream_wait");
    return state().behind_others.insert(stream), kSuccess;
  };
  t.stream_priority = [](StreamHandle, int* p) -> Result { return *p = 0, kSuccess; };
  t.stream_flags = [](StreamHandle, unsigned* f) -> Result {
    return *f = kStreamDefault, state().capturing ? Result(900) : kSuccess;
  };
  t.event_create = [](EventHandle* e, unsigned) -> Result {
    FAKE("event_create");
    *e = make_handle<EventHandle>();
    return state().events.insert(*e), kSuccess;
  };
  t.event_destroy = [](EventHandle e) -> Result { return state().events.erase(e), kSuccess; };
  t.event_record = [](EventHandle, StreamHandle stream, unsigned) -> Result {
    FAKE("event_record");
    // The legacy default stream would have to wait for the streams that block, and one of them makes a graph.
    if (state().capturing && reinterpret_cast<std::uintptr_t>(stream) <= 1) return 906;
    return kSuccess;
  };
  t.event_query = [](EventHandle) -> Result {
    FAKE("event_query");
    return stream_state();
  };
  t.event_synchronize = [](EventHandle) -> Result { return kSuccess; };
  t.event_elapsed = [](float* ms, EventHandle, EventHandle) -> Result {
    FAKE("event_elapsed");
    return *ms = 1.5f, kSuccess;
  };
  t.link_create = [](unsigned count, int* options, void** values, LinkHandle* link) -> Result {
    FAKE("link_create");
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kJitErrorLog && !state().jit_accepts)
        std::strcpy(static_cast<char*>(values[i]), "ptxas application ptx input, line 5; error : no such thing");
    return *link = make_handle<LinkHandle>(), kSuccess;
  };
  // Each link has its own text: threads compile at the same time.
  static auto* linked = new std::map<LinkHandle, std::string>;
  t.link_add = [](LinkHandle link, int, void* data, std::size_t, const char*, unsigned, int*, void**) -> Result {
    FAKE("link_add");
    (*linked)[link] = state().last_ptx = static_cast<const char*>(data);
    return state().jit_accepts ? kSuccess : 218;
  };
  t.link_complete = [](LinkHandle link, void** cubin, std::size_t* size) -> Result {
    FAKE("link_complete");
    std::string& text = (*linked)[link];
    text = kMachineCode + text;
    *cubin = text.data();
    return *size = text.size() + runs_programs(), kSuccess;  // text that is read needs its end
  };
  t.link_destroy = [](LinkHandle link) -> Result { return linked->erase(link), kSuccess; };
  t.module_load = [](ModuleHandle* module, const void* image, unsigned, int*, void**) -> Result {
    FAKE("module_load");
    *module = make_handle<ModuleHandle>();
    const char* text = static_cast<const char*>(image);
    const bool program = std::strncmp(text, kMachineCode, std::strlen(kMachineCode)) == 0;
    if (program) text += std::strlen(kMachineCode);
    if (program ? runs_programs() : std::strncmp(text, ".version", 8) == 0 && std::strstr(text, ".entry weft_"))
      texts[*module] = std::make_shared<PtxModule>(text);
    return state().modules.insert(*module), kSuccess;
  };
  t.module_unload = [](ModuleHandle m) -> Result { return state().modules.erase(m), kSuccess; };
  t.module_function = [](FunctionHandle* f, ModuleHandle module, const char* name) -> Result {
    FAKE("module_function");
    *f = make_handle<FunctionHandle>();
    functions[*f] = {name, texts[module]};
    return kSuccess;
  };
  t.function_attribute = [](int* value, int which, FunctionHandle f) -> Result {
    FAKE("function_attribute");
    if (which == kFunctionLocalBytes) return *value = 0, kSuccess;  // no stack
    const Function& function = functions[f];
    if (which == kFunctionOwnSharedBytes)
      return *value = function.module ? function.module->shared_bytes() : 0, kSuccess;
    if (!function.module) return *value = which == kFunctionMaxThreads ? 512 : 32, kSuccess;
    const PtxBounds bounds = function.module->bounds(function.name);
    return *value = which == kFunctionMaxThreads ? bounds.threads : bounds.registers, kSuccess;
  };
  t.function_set_attribute = [](FunctionHandle, int, int) -> Result {
    FAKE("function_set_attribute");
    return kSuccess;
  };
  t.occupancy_block = [](int* blocks, int* block_dim, FunctionHandle f, void*, std::size_t, int) -> Result {
    FAKE("occupancy_block");
    const Function& function = functions[f];
    const int most = function.module ? function.module->bounds(function.name).threads : 384;
    return *blocks = 8, *block_dim = std::min(384, most), kSuccess;
  };
  t.occupancy_clusters = [](int* clusters, FunctionHandle, const LaunchConfig* config) -> Result {
    FAKE("occupancy_clusters");
    const unsigned size = config->attributes[0].value[0];
    if (config->count != 1 || config->attributes[0].id != kLaunchClusterDimension || config->grid[0] % size != 0)
      return kErrorInvalidValue;
    return *clusters = size <= 8 && config->block[0] <= 256 ? 2 : 0, kSuccess;
  };
  t.profiler_start = []() -> Result {
    FAKE("profiler_start");
    return kSuccess;
  };
  t.profiler_stop = []() -> Result {
    FAKE("profiler_stop");
    return kSuccess;
  };
  t.launch = [](FunctionHandle f, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
                unsigned shared, StreamHandle stream, void**, void** extra) -> Result {
    FAKE("launch");
    const auto* bytes = static_cast<const unsigned char*>(extra[1]);
    const std::size_t size = *static_cast<std::size_t*>(extra[3]);
    const Function& function = functions[f];
    state().launches.push_back({function.name, grid, block, {bytes, bytes + size}, stream});
    if (function.module)
      run_kernel(*function.module, function.name,
                 {grid, block, shared, {bytes, bytes + size}, allocation, watches_races(), nullptr});
    return kSuccess;
  };
  add_graphs(t);
  static decltype(t.launch) queue = nullptr;
  queue = t.launch;
  t.launch_with = [](const LaunchConfig* config, FunctionHandle f, void** params, void** extra) -> Result {
    if (config->count != 1 || config->attributes[0].id != kLaunchMayStartEarly) return kErrorInvalidValue;
    ++state().early_launches;
    return queue(f, config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
                 config->block[2], config->shared_bytes, config->stream, params, extra);
  };
  return t;
}

}  // namespace

Result note(const char* call) {
  state().calls.emplace_back(call);
  auto it = state().failing.find(call);
  return it == state().failing.end() ? kSuccess : it->second;
}

std::uintptr_t new_handle() { return next_handle += 16; }

bool runs_programs() {
  static const char* asked = std::getenv("WEFT_FAKE_CUDA_RUNS");
  return asked && std::strcmp(asked, "1") == 0;
}

int State::count(const std::string& call) const { return int(std::count(calls.begin(), calls.end(), call)); }

State& state() { return *current; }

OpenedDriver open() {
  static std::vector<std::unique_ptr<State>> all;  // devices of earlier tests may still give things back
  all.push_back(std::make_unique<State>());
  current = all.back().get();
  current_context = nullptr;
  return use_driver(make_table());
}

}  // namespace weft::cuda::fake
