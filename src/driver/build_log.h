// What this process compiled and loaded, build by build, from when somebody asks for it: wp.config.record_kernels and
// `python -m warp program.py` (docs/design/tiers.md, "Seeing it").
#pragma once
#include <string>
#include <vector>

#include "driver/kernel_binary.h"

namespace weft::driver {

/// One build. A first version and the full one that follows are two, and so are two forms of one kernel.
struct BuildRow {
  std::string kernel;  // as the program calls it
  std::string place;   // "file:line" of its text; empty: not known
  LaunchForm form;
  bool after_first = false;  // the full version of a kernel that began with a first one
  int device = -1;           // a GPU's ordinal; -1: the CPU
  BuildReport report;
  // GPU: threads of a usual block, what each of them has, and what they share.
  int block = 0, registers = 0, local_bytes = 0, shared_bytes = 0;
};

/// The record. Whether there is one is asked where code is made or found, never by a launch whose code is there.
class BuildLog {
 public:
  /// Begins a new record, or ends it; its rows stay to be read.
  static void record(bool wanted);
  static std::vector<BuildRow> rows();
  /// Where the text of a kernel stands, for rows.
  static std::string place_of(const BuildRequest& request);
  /// Hands on what a build gave, and notes it. Builds ahead of need are noted when somebody wants the code.
  static std::shared_ptr<const KernelBinary> noted(const BuildRequest& request,
                                                   std::shared_ptr<const KernelBinary> binary,
                                                   const BuildReport& report);
};

}  // namespace weft::driver
