// A product is taken if both operands are whole tiles that nothing but copies from arrays and such products touch, in the same
// layout, and if all products that add to the same tile are taken. What is not is left for the units of single warps.
#include "passes/group_products.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/block_functions.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::CopyOperand;
using ir::Fragments;
using ir::Op;
using ir::ProductKind;
using ir::ProductOperand;
using ir::Swizzle;
using ir::Value;

constexpr std::int64_t kGroup = Fragments::kGroupWarps * Fragments::kWarp, kMostSlots = 128, kMostColumns = 256,
                       kSteps = 16, kSize = 2, kWidest = 128;

struct Use {
  Op* op;
  std::size_t operand;
};

/// A product, how it would be divided, and how its operands would lie.
struct Candidate {
  Op* op;
  Fragments fragments;
  Swizzle layouts[2];
};

/// Panels for rows of so many bytes, at most as wide as that; none if there are none.
std::optional<Swizzle> panels(std::int64_t row, std::int64_t most) {
  for (std::int64_t bits = 3; bits > 0; --bits) {
    const Swizzle made{7, bits, true};
    if (made.width() <= most && row % made.width() == 0) return made;
  }
  return std::nullopt;
}

class Groups {
 public:
  explicit Groups(ir::Function& kernel) : kernel_(kernel) {
    ir::walk(*kernel.body, [&](Op& op) {
      for (std::size_t k = 0; k < op.operands.size(); ++k)
        if (!op.operand(k)->is_constant()) uses_[op.operand(k)].push_back({&op, k});
      if (!ir::calls_block_function(op, ir::kBlockProduct)) return;
      if (const std::optional<Candidate> found = look(op)) taken_.emplace(&op, *found);
    });
  }

  bool run() {
    for (bool again = true; again;) {
      again = false;
      for (auto it = taken_.begin(); it != taken_.end();) {
        const bool stays = goes_together(it->second);
        again |= !stays;
        it = stays ? std::next(it) : taken_.erase(it);
      }
    }
    for (auto& [op, candidate] : taken_) change(candidate);
    return !taken_.empty();
  }

 private:
  static std::int64_t number(const Op& op, std::size_t k) { return op.operand(k)->as_int(); }

  /// Whether an operand is a whole tile of the block's memory, of so many rows and columns; turned: of as many columns and rows.
  static bool is_whole(const Op& product, std::size_t at, std::int64_t rows, std::int64_t columns, bool& turned) {
    const Value* memory = product.operand(at);
    if (memory->kind != ir::ValueKind::result || !ir::is_block_memory(*memory->op)) return false;
    if (memory->op->ints.size() != 1 || memory->op->ints[0] != rows * columns) return false;
    if (!product.operand(at + 1)->is_zero() || memory->type->element()->size() != kSize) return false;
    const std::int64_t below = number(product, at + 2), beside = number(product, at + 3);
    turned = below == 1 && beside == rows;
    return (turned || (below == columns && beside == 1)) && rows * columns * kSize % ir::kPanelAlignment == 0;
  }

  /// The groups' parts are as near to squares as it gets, so that they read the least.
  static bool divide(Fragments& f) {
    const std::int64_t groups = f.threads / kGroup, rows = f.m / Fragments::kGroupRows,
                       units = f.n / Fragments::kUnitColumns;
    std::int64_t least = 0;
    for (std::int64_t below = 1; below <= groups; ++below) {
      const std::int64_t beside = groups / below;
      if (groups % below || rows % below || units % beside) continue;
      const std::int64_t columns = units / beside * Fragments::kUnitColumns;
      if (columns > kMostColumns || columns % kSteps) continue;
      const std::int64_t reads = rows / below * (Fragments::kGroupRows + columns);
      if (least && reads >= least) continue;
      least = reads;
      f.rows = rows / below;
      f.columns = units / beside;
    }
    return least != 0 && f.slots() <= kMostSlots;
  }

  static std::optional<Candidate> look(Op& op) {
    Candidate made{&op, Fragments::of(op), {}};
    Fragments& f = made.fragments;
    const std::int64_t depth = number(op, ProductOperand::p);
    if (f.kind != ProductKind::halves || f.threads % kGroup || f.m % Fragments::kGroupRows ||
        f.n % Fragments::kUnitColumns || depth % kSteps)
      return std::nullopt;
    f.kind = ProductKind::groups;
    bool turned[2];
    if (!divide(f) || !is_whole(op, ProductOperand::a, f.m, depth, turned[0]) ||
        !is_whole(op, ProductOperand::b, depth, f.n, turned[1]))
      return std::nullopt;
    // Along the steps any panel does; across them it may not be wider than what a group reads.
    const std::int64_t along = depth * kSize, across = f.columns * Fragments::kUnitColumns * kSize;
    const auto left = turned[0] ? panels(Fragments::kGroupRows * kSize, kWidest) : panels(along, kWidest);
    const auto right = turned[1] ? panels(along, kWidest) : panels(across, kWidest);
    if (!left || !right) return std::nullopt;
    made.layouts[0] = *left;
    made.layouts[1] = *right;
    return made;
  }

  const Candidate* candidate(const Op& op) const {
    const auto it = taken_.find(&op);
    return it == taken_.end() ? nullptr : &it->second;
  }

  /// Whether everything else that touches its tiles agrees.
  bool goes_together(const Candidate& one) const {
    for (std::size_t side = 0; side < 2; ++side) {
      const Value* tile = one.op->operand(side ? ProductOperand::b : ProductOperand::a);
      for (const Use& use : uses_.at(tile)) {
        if (ir::calls_block_function(*use.op, ir::kBlockCopy)) {
          const bool whole =
              use.operand == CopyOperand::tile && use.op->operand(CopyOperand::offset)->is_zero() &&
              number(*use.op, CopyOperand::rows) * number(*use.op, CopyOperand::columns) == tile->op->ints[0];
          if (!whole || number(*use.op, CopyOperand::columns) != row_of(one, side)) return false;
          continue;
        }
        const Candidate* other = candidate(*use.op);
        if (!other || (use.operand != ProductOperand::a && use.operand != ProductOperand::b)) return false;
        const std::size_t there = use.operand == ProductOperand::b;
        if (other->layouts[there] != one.layouts[side] || row_of(*other, there) != row_of(one, side)) return false;
      }
    }
    for (const Use& use : uses_.at(one.op->operand(ProductOperand::c))) {
      if (!ir::calls_block_function(*use.op, ir::kBlockProduct)) continue;
      const Candidate* other = candidate(*use.op);
      if (!other || use.operand != ProductOperand::c || other->fragments != one.fragments) return false;
    }
    return true;
  }

  /// Elements in a row of an operand as it lies in memory.
  static std::int64_t row_of(const Candidate& one, std::size_t side) {
    const std::size_t at = side ? ProductOperand::b : ProductOperand::a;
    return std::max(number(*one.op, at + 2), number(*one.op, at + 3));
  }

  void set(Op& op, std::size_t at, std::int64_t value) { op.operands[at] = kernel_.constant_int(types::i32(), value); }

  void change(const Candidate& one) {
    Op& op = *one.op;
    set(op, ProductOperand::kind, std::int64_t(one.fragments.kind));
    set(op, ProductOperand::rows, one.fragments.rows);
    set(op, ProductOperand::columns, one.fragments.columns);
    for (std::size_t side = 0; side < 2; ++side) {
      set(op, ProductOperand::flags, number(op, ProductOperand::flags) | one.layouts[side].flags(side == 1));
      for (const Use& use : uses_.at(op.operand(side ? ProductOperand::b : ProductOperand::a)))
        if (ir::calls_block_function(*use.op, ir::kBlockCopy))
          set(*use.op, CopyOperand::flags, number(*use.op, CopyOperand::flags) | one.layouts[side].flags(false));
    }
  }

  ir::Function& kernel_;
  std::unordered_map<const Value*, std::vector<Use>> uses_;
  std::unordered_map<const Op*, Candidate> taken_;
};

}  // namespace

bool group_products(ir::Function& kernel) {
  if (kernel.form.block <= 1 || !kernel.form.rows) return false;
  return Groups(kernel).run();
}

}  // namespace weft::passes
