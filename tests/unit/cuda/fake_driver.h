// A CUDA driver made of plain functions, for machines without a GPU: device memory is host memory, streams run at once,
// the copy and fill kernels do what their PTX does. Any call can be told to fail.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cuda/driver.h"

namespace weft::cuda::fake {

/// What the driver is like, and what happened to it. One at a time; reset by Driver().
struct State {
  int version = 13000;
  int devices = 2;
  Result init_result = kSuccess;
  std::size_t memory_limit = std::size_t(1) << 30;  // per process
  std::map<std::string, Result> failing;            // by entry of the table: every call gives this
  int not_ready = 0;                                // so many queries say "not ready"
  bool jit_accepts = true;

  std::size_t allocated = 0;
  std::map<DevicePtr, std::size_t> blocks;
  std::vector<std::string> calls;  // of the table, in order
  std::string last_ptx;
  std::set<void*> streams, events, modules, graphs;
  struct Launch {
    std::string kernel;
    unsigned grid = 0, block = 0;
    std::vector<unsigned char> arguments;
  };
  std::vector<Launch> launches;
  bool capturing = false;

  int count(const std::string& call) const;
};

State& state();
/// A fresh state and a table over it.
OpenedDriver open();

}  // namespace weft::cuda::fake
