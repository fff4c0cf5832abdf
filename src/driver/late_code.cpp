// Who may get code later.
#include "driver/late_code.h"

#include <atomic>

namespace weft::driver {
namespace {

thread_local int may_be_late = 0;
std::atomic<double> assembling{0};

}  // namespace

MayBeLate::MayBeLate() noexcept { ++may_be_late; }
MayBeLate::~MayBeLate() { --may_be_late; }
bool MayBeLate::asked() noexcept { return may_be_late > 0; }

double assembler_seconds() noexcept { return assembling; }
void add_assembler_seconds(double seconds) noexcept { assembling += seconds; }

}  // namespace weft::driver
