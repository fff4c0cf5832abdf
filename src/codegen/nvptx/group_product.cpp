// Products of tiles by groups of four warps (wgmma). The units read both operands from shared memory, where those lie in panels
// (ir::Swizzle): a word for each says where, how far its blocks of eight rows or columns are apart, and how parts of 16 bytes are
// swizzled. All steps of a product are one piece of assembly: between its first and its last instruction nobody may touch the sums.
#include <llvm/IR/InlineAsm.h>

#include "codegen/emit/target_hooks.h"
#include "codegen/nvptx/block_functions.h"
#include "codegen/own_target.h"
#include "ir/block_functions.h"
#include "support/check.h"

namespace weft::codegen {
namespace {

using ir::Fragments;
using P = ir::ProductOperand;

constexpr std::int64_t kSteps = 16, kSize = 2, kEight = 8;

/// An operand as the units want to be told of it.
struct Panels {
  llvm::Value* word;          // for the group's first rows or columns and the first step
  std::int64_t rows;          // bytes to the next 64 rows
  std::int64_t width, panel;  // bytes of a panel's row, and of a panel
  bool turned;                // steps are along columns of memory

  /// Bytes from the first step to another one.
  std::int64_t at_step(std::int64_t k) const {
    const std::int64_t bytes = k * kSteps * kSize;
    return turned ? k * kSteps * width : bytes / width * panel + bytes % width;
  }
};

class GroupProduct {
 public:
  GroupProduct(Emitter& e, const ir::Op& call) : e_(e), b_(e.b), call_(call), f_(Fragments::of(call)) {
    WEFT_CHECK(has_own(e.unit.target));
  }

  void emit(std::vector<llvm::Value*>& sums) {
    llvm::Value* group =
        b_.CreateUDiv(e_.unit.hooks->thread_of_block(e_), i32(Fragments::kGroupWarps * Fragments::kWarp));
    const std::int64_t columns = f_.columns * Fragments::kUnitColumns, depth = number(P::p);
    const Panels a = panels(P::a, P::a_stage, false, b_.CreateUDiv(group, i32(f_.beside())),
                            f_.rows * Fragments::kGroupRows, f_.m, depth);
    const Panels b = panels(P::b, P::b_stage, true, b_.CreateURem(group, i32(f_.beside())), columns, f_.n, depth);
    const auto sum_count = sums.size(), in_rows = std::size_t(columns / 2);
    std::string code = "wgmma.fence.sync.aligned;", constraints;
    std::vector<llvm::Value*> operands;
    const auto shape = "m64n" + std::to_string(columns) + "k16.f32.";
    const std::string kind =
        call_.operand(P::a)->type->element()->scalar_kind() == ScalarKind::f16 ? "f16.f16" : "bf16.bf16";
    const std::string minus = number(P::sign) < 0 ? "-1" : "1";
    for (std::size_t r = 0; r < std::size_t(f_.rows); ++r)
      for (std::int64_t k = 0; k < depth / kSteps; ++k) {
        code += "\n\twgmma.mma_async.sync.aligned." + shape + kind + " {";
        for (std::size_t n = 0; n < in_rows; ++n) code += (n ? ", $" : "$") + std::to_string(r * in_rows + n);
        const std::size_t first = sum_count + operands.size();
        code += "}, $" + std::to_string(first) + ", $" + std::to_string(first + 1) + ", 1, " + minus + ", 1, " +
                (a.turned ? "1, " : "0, ") + (b.turned ? "1;" : "0;");
        operands.push_back(ahead(a.word, std::int64_t(r) * a.rows + a.at_step(k)));
        operands.push_back(ahead(b.word, b.at_step(k)));
      }
    code += "\n\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;";
    for (std::size_t n = 0; n < sum_count; ++n) constraints += "=f,";
    for (std::size_t n = 0; n < operands.size(); ++n) constraints += "l,";
    for (std::size_t n = 0; n < sum_count; ++n) constraints += std::to_string(n) + ",";
    constraints += "~{memory}";
    operands.insert(operands.end(), sums.begin(), sums.end());
    std::vector<llvm::Type*> given, made(sum_count, b_.getFloatTy());
    for (const llvm::Value* operand : operands) given.push_back(operand->getType());
    auto* type = llvm::FunctionType::get(llvm::StructType::get(e_.unit.context, made), given, false);
    llvm::Value* results = b_.CreateCall(type, llvm::InlineAsm::get(type, code, constraints, true), operands);
    for (std::size_t n = 0; n < sum_count; ++n) sums[n] = b_.CreateExtractValue(results, unsigned(n));
  }

 private:
  std::int64_t number(std::size_t k) const { return call_.operand(k)->as_int(); }
  llvm::Value* i32(std::int64_t n) { return b_.getInt32(std::uint32_t(n)); }

  /// Addresses are told in parts of 16 bytes.
  llvm::Value* ahead(llvm::Value* word, std::int64_t bytes) {
    return bytes == 0 ? word : b_.CreateAdd(word, b_.getInt64(std::uint64_t(bytes / 16)));
  }

  /// `which`: the group's number among those that have others of its `count` rows (of the second operand: columns). An operand
  /// whose rows of memory run along the steps has `all` of them; else its columns are `all`.
  Panels panels(std::size_t at, std::size_t stage, bool second, llvm::Value* which, std::int64_t count,
                std::int64_t all, std::int64_t depth) {
    const ir::Swizzle layout = ir::Swizzle::of(number(P::flags), second);
    const bool turned = number(at + (second ? 3 : 2)) == 1;
    const std::int64_t width = layout.width(), rows = turned ? depth : all, panel = rows * width;
    const std::int64_t across = count * kSize / width;  // panels of a group, where it has some
    llvm::Value* bytes = b_.CreateMul(e_.plain(call_.operand(stage)), i32(kSize));
    bytes = b_.CreateAdd(bytes, b_.CreateMul(which, i32(turned ? across * panel : count * width)));
    llvm::Value* start = b_.CreatePtrToInt(block_place(e_, e_.get(call_.operand(at))[0].v, bytes), e_.unit.i64);
    constexpr std::uint64_t kReach = 0x3FFFF;
    const std::uint64_t mode = std::uint64_t(4 - layout.bits);  // 128, 64, 32 bytes: 1, 2, 3
    // From panel to panel, where a group reads several across; else nobody asks.
    const std::uint64_t fixed =
        std::uint64_t(turned ? panel / 16 : 1) << 16 | std::uint64_t(kEight * width / 16) << 32 | mode << 62;
    llvm::Value* word = b_.CreateOr(b_.CreateLShr(b_.CreateAnd(start, b_.getInt64(kReach)), 4), b_.getInt64(fixed));
    const std::int64_t next = turned ? Fragments::kGroupRows * kSize / width * panel : Fragments::kGroupRows * width;
    return {word, next, width, panel, turned};
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const ir::Op& call_;
  const Fragments f_;
};

}  // namespace

void emit_group_product(Emitter& e, const ir::Op& call, std::vector<llvm::Value*>& sums) {
  GroupProduct(e, call).emit(sums);
}

void emit_panel_fence(Emitter& e) {
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), false);
  e.b.CreateCall(type, llvm::InlineAsm::get(type, "fence.proxy.async.shared::cta;", "~{memory}", true));
}

}  // namespace weft::codegen
