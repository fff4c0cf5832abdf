// Who may get code later.
#include "driver/late_code.h"

#include <atomic>

namespace weft::driver {
namespace {

thread_local const sema::FunctionDecl* may_be_late = nullptr;
std::atomic<double> assembling{0};

}  // namespace

MayBeLate::MayBeLate(const sema::FunctionDecl& kernel) noexcept : before_(may_be_late) { may_be_late = &kernel; }
MayBeLate::~MayBeLate() { may_be_late = before_; }

bool MayBeLate::asked(const BuildRequest& request) noexcept {
  return may_be_late && request.kernel == may_be_late && request.device && request.source_hash != Hash128{};
}

double assembler_seconds() noexcept { return assembling; }
void add_assembler_seconds(double seconds) noexcept { assembling += seconds; }

}  // namespace weft::driver
