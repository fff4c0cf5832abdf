// Launches on GPUs that wait in a queue while their code is made (docs/design/tiers.md, "GPUs").
#pragma once
#include "bind/python_kernel.h"

namespace weft::bind {

/// With fewer cores nothing is gained: the program's own thread compiles as well as others.
inline constexpr int kUsualLeastCores = 4;

/// Whether somebody is told of each build.
bool tells_builds();

/// Queues a launch, if its code is not there yet or other launches wait, and nobody can tell. False: it is to be done now.
/// `needs_python`: something that the launch works on belongs to Python. Raises compile errors.
bool launch_late(const std::shared_ptr<PythonKernel>& kernel, driver::KernelSignature& signature,
                 const ArgumentList& args, const char* block, std::span<const std::int64_t> dims,
                 const LaunchPlace& place, bool needs_python);
void register_late_launches(nb::module_& m);

}  // namespace weft::bind
