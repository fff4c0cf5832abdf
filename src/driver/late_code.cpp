// Who may get code later.
#include "driver/late_code.h"

#include <atomic>

#include "codegen/cpu/lane_choice.h"
#include "ir/walk.h"

namespace weft::driver {
namespace {

thread_local const sema::FunctionDecl* may_be_late = nullptr;
std::atomic<double> assembling{0};

}  // namespace

MayBeLate::MayBeLate(const sema::FunctionDecl& kernel) noexcept : before_(may_be_late) { may_be_late = &kernel; }
MayBeLate::~MayBeLate() { may_be_late = before_; }

bool MayBeLate::asked(const BuildRequest& request) noexcept {
  return may_be_late && request.kernel == may_be_late && request.device;
}

bool uses_addresses(const ir::Module& module) {
  bool found = false;
  for (const auto& function : module.functions) {
    found = found || codegen::calls_native(*function);
    ir::walk(*function->body, [&](const ir::Op& op) {
      found =
          found || op.code == ir::OpCode::handle || op.code == ir::OpCode::from_ptr || op.code == ir::OpCode::data_ptr;
    });
  }
  return found;
}

double assembler_seconds() noexcept { return assembling; }
void add_assembler_seconds(double seconds) noexcept { assembling += seconds; }

}  // namespace weft::driver
