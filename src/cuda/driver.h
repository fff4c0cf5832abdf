// The CUDA driver as a table of functions, opened at run time: nothing links to it, and a machine without it is no
// error until somebody asks for a CUDA device. Tests hand in a table of their own.
#pragma once
#include <string>

#include "cuda/texture_types.h"
#include "runtime/errors.h"

namespace weft::cuda {

/// The oldest driver that is taken: stream-ordered pools, graphs instantiated with flags.
inline constexpr int kOldestDriver = 11040;

/// The entry points; see driver_functions.def.
struct DriverTable {
#define WEFT_CU(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "cuda/driver_functions.def"
#undef WEFT_CU
};

/// There is no usable driver or no device: missing library, too old, no GPU.
class Unavailable : public runtime::Error {
 public:
  using Error::Error;
};

/// A call of the driver that failed.
class DriverError : public runtime::Error {
 public:
  DriverError(const std::string& what, std::string call, Result code)
      : Error(what), call_(std::move(call)), code_(code) {}
  /// The function of the driver API, "cuLaunchKernel".
  const std::string& call() const { return call_; }
  Result code() const { return code_; }

 private:
  std::string call_;
  Result code_;
};

/// What open_driver found.
struct OpenedDriver {
  DriverTable table;
  int version = 0;      // 13000 for CUDA 13.0; 0 if there is none
  std::string problem;  // why there is none; empty: it works
};

/// Opens a driver library (libcuda.so.1 by default), checks its version and initialises it. Never throws.
OpenedDriver open_driver(const char* library = "libcuda.so.1");
/// The same for a table that exists already.
OpenedDriver use_driver(const DriverTable& table);

/// Throws the DriverError for a failed call; OutOfMemory for one that had no memory to give.
[[noreturn]] void throw_driver_error(const DriverTable& table, Result code, const char* call,
                                     const std::string& context = {});

}  // namespace weft::cuda

/// Calls an entry point of a table by its name there; throws for anything but success. `symbol` is found for messages.
#define WEFT_CUDA(table, name, ...)                                                                              \
  do {                                                                                                           \
    if (const ::weft::cuda::Result weft_code_ = (table).name(__VA_ARGS__); weft_code_ != ::weft::cuda::kSuccess) \
      ::weft::cuda::throw_driver_error(table, weft_code_, #name);                                                \
  } while (false)
