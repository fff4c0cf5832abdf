// Opening libcuda and what its error codes become.
#include "cuda/driver.h"

#include <dlfcn.h>

#include <cstring>

namespace weft::cuda {
namespace {

struct EntryName {
  const char* name;
  const char* symbol;
};

constexpr EntryName kEntries[] = {
#define WEFT_CU(name, symbol, parameters) {#name, #symbol},
#include "cuda/driver_functions.def"
#undef WEFT_CU
};

/// "cuMemAlloc_v2" is written cuMemAlloc in programs and manuals.
std::string public_name(const char* name) {
  for (const EntryName& entry : kEntries) {
    if (std::strcmp(entry.name, name) != 0) continue;
    std::string symbol = entry.symbol;
    if (symbol.ends_with("_v2")) symbol.resize(symbol.size() - 3);
    return symbol;
  }
  return name;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string describe(const DriverTable& table, Result code) {
  const char *name = nullptr, *text = nullptr;
  if (table.error_name && table.error_name(code, &name) != kSuccess) name = nullptr;
  if (table.error_text && table.error_text(code, &text) != kSuccess) text = nullptr;
  std::string out = name ? name : "error " + std::to_string(code);
  return text ? out + " (" + text + ")" : out;
}

}  // namespace

OpenedDriver use_driver(const DriverTable& table) {
  OpenedDriver opened;
  opened.table = table;
  if (const Result code = table.driver_version(&opened.version); code != kSuccess) {
    opened.version = 0;
    opened.problem = "the CUDA driver does not say its version: cuDriverGetVersion gave " + describe(table, code);
    return opened;
  }
  if (opened.version < kOldestDriver) {
    opened.problem = "the CUDA driver is too old: it supports CUDA " + version_text(opened.version) + ", " +
                     version_text(kOldestDriver) + " or newer is needed; update the NVIDIA driver";
    return opened;
  }
  if (const Result code = table.init(0); code != kSuccess) {
    opened.problem = code == kErrorNoDevice ? "there is no CUDA device"
                                            : "the CUDA driver does not start: cuInit gave " + describe(table, code);
    return opened;
  }
  int count = 0;
  if (const Result code = table.device_count(&count); code != kSuccess)
    opened.problem = "the CUDA driver tells of no devices: cuDeviceGetCount gave " + describe(table, code);
  else if (count == 0)
    opened.problem = "there is no CUDA device";
  return opened;
}

OpenedDriver open_driver(const char* library) {
  OpenedDriver opened;
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // kept for the process: the driver can't be unloaded
  if (!handle) {
    opened.problem = std::string("there is no CUDA driver (") + library + " was not found)";
    return opened;
  }
  DriverTable table;
  const char* missing = nullptr;
  auto find = [&](auto& entry, const char* symbol, bool needed) {
    void* address = dlsym(handle, symbol);
    if (!address && !missing && needed) missing = symbol;
    std::memcpy(&entry, &address, sizeof address);
  };
#define WEFT_CU(name, symbol, parameters) find(table.name, #symbol, true);
#define WEFT_CU_NEWER(name, symbol, parameters) find(table.name, #symbol, false);
#include "cuda/driver_functions.def"
#undef WEFT_CU
  if (missing) {
    if (table.driver_version && table.driver_version(&opened.version) != kSuccess) opened.version = 0;
    opened.problem = "the CUDA driver (CUDA " + version_text(opened.version) + ") lacks " + missing +
                     ": update the NVIDIA driver to CUDA " + version_text(kOldestDriver) + " or newer";
    return opened;
  }
  return use_driver(table);
}

void throw_driver_error(const DriverTable& table, Result code, const char* call, const std::string& context) {
  const std::string symbol = public_name(call);
  std::string text = symbol + " failed: " + describe(table, code);
  if (!context.empty()) text += "; " + context;
  // After these the driver refuses every further call of the process.
  if (code >= 700 && code <= 719 && code != kErrorPeerAccessAlreadyEnabled && code != kErrorPeerAccessNotEnabled)
    text +=
        "; a kernel broke the CUDA context, this process can't use the device any more. Run with "
        "wp.config.mode = \"debug\" to find out-of-bounds accesses";
  throw DriverError(text, symbol, code);
}

}  // namespace weft::cuda
