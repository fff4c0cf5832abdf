// A CUDA driver made of plain functions, for machines without a GPU: device memory is host memory, streams run at once,
// the runtime's own kernels run as their PTX says (ptx_machine.h), those of programs if WEFT_FAKE_CUDA_RUNS is 1, and graphs
// then run what was captured. Any call can be told to fail.
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
  int arch = 90;
  Result init_result = kSuccess;
  std::size_t memory_limit = std::size_t(1) << 30;  // per process
  std::map<std::string, Result> failing;            // by entry of the table: every call gives this
  int not_ready = 0;                                // so many queries say "not ready"
  bool jit_accepts = true;

  std::size_t allocated = 0;
  std::uint64_t release_threshold = 0;  // of the pool
  std::map<DevicePtr, std::size_t> blocks, host_blocks;
  std::vector<std::string> calls;  // of the table, in order
  std::string last_ptx;
  std::set<void*> streams, events, modules, graphs;
  std::set<void*> behind_others;  // streams that had to wait for another one
  int stalls = 0;                 // waits of the host for one of them
  bool foreign_capture = false;   // another library captures the streams
  struct Launch {
    std::string kernel;
    unsigned grid = 0, block = 0;
    std::vector<unsigned char> arguments;
    StreamHandle stream = nullptr;
  };
  std::vector<Launch> launches;
  int early_launches = 0;  // of them, those that might have started before what was launched before them ended
  bool capturing = false;
  GraphHandle capture_graph = nullptr;                                       // that is captured into
  std::vector<GraphNodeHandle> leaves;                                       // behind which the next node comes
  std::vector<std::pair<GraphHandle, std::vector<GraphNodeHandle>>> around;  // captures begun before on other streams
  struct Node {
    GraphNodeHandle handle;
    GraphHandle graph;
    std::string kind;  // "if", "while", "child", or the kernel
    std::vector<GraphNodeHandle> behind;
    ConditionHandle condition = 0;
    GraphHandle body = nullptr;
  };
  std::vector<Node> nodes;  // of all graphs, in the order in which they were made

  int count(const std::string& call) const;
};

State& state();
/// Notes a call; what it is told to give.
Result note(const char* call);
std::uintptr_t new_handle();
/// Arrays of texels (fake_textures.cpp).
void add_textures(DriverTable& table);
/// Whether kernels of programs run: that takes a while, and most tests look at calls alone.
bool runs_programs();
/// Captures, graphs and handles for other processes (fake_graphs.cpp); behind all that graphs can consist of.
void add_graphs(DriverTable& table);
/// A fresh state and a table over it.
OpenedDriver open();

}  // namespace weft::cuda::fake
