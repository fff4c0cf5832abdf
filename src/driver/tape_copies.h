// What the tape that records is told of copies and fills by C++ programs.
#pragma once
#include "driver/program_impl.h"
#include "driver/tape_repeat.h"

namespace weft::driver {

/// To be called when an array has taken the elements of another one (null: constants). Copies and fills are recorded as
/// launches of small kernels that ran by other means; `again` does the same once more. Only where copies_are_followed().
void record_copy(const std::shared_ptr<Array::Impl>& to, const std::shared_ptr<Array::Impl>& from,
                 std::function<void()> again);

}  // namespace weft::driver
