// What was built in this process, and what that took; for reports and tests.
#pragma once
#include "bind/bind.h"

namespace weft::bind {

/// Counts what was built; `late`: while launches of it waited in a queue.
void count_build(const driver::BuildReport& report, bool late = false);
/// A full version replaced a first one.
void count_full_version();
void register_build_counts(nb::module_& m);

}  // namespace weft::bind
