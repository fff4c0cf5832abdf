// wp.breakpoint() in kernels: stops in a debugger if one is attached, and says so once if none is. A program never dies
// of it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/kernel_abi.h"

namespace weft::runtime {
namespace {

bool debugger_is_attached() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (!status) return false;
  char line[256];
  bool traced = false;
  while (std::fgets(line, sizeof line, status))
    if (std::strncmp(line, "TracerPid:", 10) == 0) traced = std::atoi(line + 10) != 0;
  std::fclose(status);
  return traced;
}

}  // namespace
}  // namespace weft::runtime

void weft_rt_breakpoint(weft::runtime::LaunchContext*) {
  if (weft::runtime::debugger_is_attached()) {
    std::raise(SIGTRAP);
    return;
  }
  static std::once_flag once;
  std::call_once(once, [] { std::fputs("a kernel reached wp.breakpoint(); no debugger is attached\n", stderr); });
}
