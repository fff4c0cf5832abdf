// Which thread takes which turn of a loop over elements is free (element_loops.h). So a loop over the elements of such a tile takes
// them in the order of the product's slots.
#include "passes/place_fragments.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/block_functions.h"
#include "ir/builder.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"
#include "passes/element_loops.h"

namespace weft::passes {
namespace {

using ir::CopyOperand;
using ir::Fragments;
using ir::Op;
using ir::OpCode;
using ir::ProductOperand;
using ir::Value;
using Use = ValueUse;
using Loop = ElementLoop;

constexpr std::int64_t kMostSlots = 64, kMostOfUnits = 128;  // of a thread: registers

class Placer {
 public:
  explicit Placer(ir::Function& kernel) : kernel_(kernel), elements_(kernel) {}

  bool run() {
    std::vector<Op*> locals;
    ir::walk(*kernel_.body, [&](Op& op) {
      if (ir::is_block_memory(op)) locals.push_back(&op);
    });
    std::vector<Fragments> layouts;
    std::erase_if(locals, [&](Op* local) {
      const std::optional<Fragments> layout = layout_of(*local);
      if (!layout || !keep_in_registers(*local, *layout)) return false;
      layouts.push_back(*layout);
      return true;
    });
    // What is made of them element by element, then what is made of that.
    for (bool more = !layouts.empty(); more;) {
      more = false;
      std::erase_if(locals, [&](Op* local) {
        for (const Fragments& layout : layouts)
          if (meets_dealt_loop(*local) && keep_in_registers(*local, layout)) return more = true;
        return false;
      });
    }
    roll_rare_loops();
    for (Op* local : locals)
      if (!swizzle_turned(*local)) swizzle(*local);
    return changed_;
  }

 private:
  const std::vector<Use>& uses(const Value* value) const { return elements_.uses(value); }

  Loop loop_of(Value* index, std::int64_t turns) const {
    const Loop loop = elements_.loop_of(index, turns);
    return loop.op && kernel_.form.adjoint && adds(*loop.op) ? Loop{} : loop;
  }

  /// Whether a loop adds to gradients at places of many threads: those side by side do that to numbers side by side, or all to
  /// one, while pieces of a product would go to four times as many sectors of memory, and to few numbers of a row.
  static bool adds(const Op& loop) {
    bool found = false;
    ir::walk(*loop.regions[0], [&](const Op& op) { found = found || op.code == OpCode::atomic; });
    return found;
  }

  static bool is_access(const Use& use) { return ElementLoops::is_access(use); }

  /// The fragments of the products that add to a tile, if those are the same.
  std::optional<Fragments> layout_of(const Op& local) const {
    std::optional<Fragments> found;
    for (const Use& use : uses(local.result())) {
      if (!ir::calls_block_function(*use.op, ir::kBlockProduct) || use.operand != ProductOperand::c) continue;
      const Fragments here = Fragments::of(*use.op);
      if (found && here != *found) return std::nullopt;
      found = here;
    }
    return found;
  }

  /// Whether a loop that was dealt out already touches it.
  bool meets_dealt_loop(const Op& local) const {
    const std::vector<Use>& all = uses(local.result());
    return std::any_of(all.begin(), all.end(),
                       [&](const Use& use) { return is_access(use) && dealt_.contains(use.op->indices()[0]); });
  }

  /// The loop of an access: dealt out by these fragments, or still to be.
  Loop loop_for(const Use& use, const Fragments& layout) const {
    Value* const index = use.op->indices()[0];
    if (const auto it = dealt_.find(index); it != dealt_.end())
      return it->second.second == layout ? Loop{it->second.first, nullptr} : Loop{};
    return loop_of(index, layout.slots());
  }

  bool keep_in_registers(Op& local, const Fragments& layout) {
    const std::int64_t slots = layout.slots();
    if (local.ints.size() != 1 || local.ints[0] != layout.m * layout.n || slots * layout.threads != local.ints[0])
      return false;
    if (slots < 2 || slots > (layout.kind == ir::ProductKind::fma ? kMostSlots : kMostOfUnits)) return false;
    std::vector<std::pair<Op*, Loop>> accesses;
    for (const Use& use : uses(local.result())) {
      if (ir::calls_block_function(*use.op, ir::kBlockProduct)) {
        if (use.operand != ProductOperand::c || !use.op->operand(ProductOperand::co)->is_zero()) return false;
        continue;
      }
      if (!is_access(use)) return false;
      const Loop loop = loop_for(use, layout);
      if (!loop.op) return false;
      accesses.emplace_back(use.op, loop);
    }
    for (const Use& use : uses(local.result()))
      if (ir::calls_block_function(*use.op, ir::kBlockProduct))
        use.op->operands[ProductOperand::own] = kernel_.constant_int(types::i32(), 1);
    for (const auto& [op, loop] : accesses) op->operands[1] = loop.op->regions[0]->args[0];
    for (const auto& [op, loop] : accesses)
      if (loop.op->text != ir::kOwnLoop) deal_out(loop, layout);
    local.imm &= ir::kRaw;
    local.ints[0] = slots;
    for (const auto& [op, loop] : accesses) note(*loop.op, local, *op);
    changed_ = true;
    return true;
  }

  /// Loops that ask of each element whether it is to be stored are for tiles at the edge of an array. Written out they would be
  /// most of the code; so they stay loops, over a copy that is no matter of registers.
  void roll_rare_loops() {
    for (const Dealt& dealt : loops_) {
      const bool only_reads = std::all_of(dealt.accesses.begin(), dealt.accesses.end(),
                                          [](const auto& one) { return one.second->code == OpCode::load; });
      if (!only_reads || !asks(*dealt.loop)) continue;
      std::unordered_map<const Op*, Value*> copies;
      for (const auto& [local, load] : dealt.accesses) {
        Value*& copy = copies[local];
        if (!copy) copy = copied(*local, *dealt.loop);
        load->operands[0] = copy;
      }
      dealt.loop->text = ir::kSharedLoop;
    }
  }

  void note(Op& loop, Op& local, Op& access) {
    auto it = std::find_if(loops_.begin(), loops_.end(), [&](const Dealt& dealt) { return dealt.loop == &loop; });
    if (it == loops_.end()) it = loops_.insert(it, {&loop, {}});
    it->accesses.emplace_back(&local, &access);
  }

  static bool asks(const Op& loop) {
    bool found = false;
    for (const Op& op : *loop.regions[0]) {
      if (op.code != OpCode::if_) continue;
      const Value* condition = op.operand(0);  // whether there is a gradient is no question of elements
      found = found || condition->kind != ir::ValueKind::result || condition->op->code != OpCode::nonnull;
    }
    return found;
  }

  /// What a thread has in registers, once more in front of a loop.
  Value* copied(const Op& local, Op& loop) {
    ir::Builder b(kernel_, loop.parent, &loop);
    b.set_loc(loop.loc);
    Value* const made = b.local(local.result()->type, local.ints, true);
    Op* const fill = b.for_op(b.i32(0), b.i32(local.ints[0]), b.i32(1), {});
    fill->text = ir::kOwnLoop;
    ir::Builder inside(kernel_, fill->regions[0], nullptr);
    inside.set_loc(loop.loc);
    Value* const slot[] = {fill->regions[0]->args[0]};
    inside.store(made, slot, 0, {}, {}, inside.load(local.result(), slot, 0));
    inside.yield({});
    return made;
  }

  void deal_out(const Loop& loop, const Fragments& layout) {
    ir::Region& body = *loop.op->regions[0];
    ir::Builder b(kernel_, &body, body.first);
    b.set_loc(loop.op->loc);
    const IndexMath math{b};
    Value *row = nullptr, *column = nullptr;
    Value* const thread = b.op(OpCode::block_thread, {})->result();
    layout.place<Value*>(math, thread, body.args[0], row, column);
    Value* const number = math.add(math.times(row, layout.n), column);
    for (const Use& use : uses(loop.number)) {
      if (use.op->operands[use.operand] != loop.number) continue;
      use.op->operands[use.operand] = number;
      // Row and column are known already.
      if (use.operand != 0 || use.op->operands.size() != 2 || !use.op->operand(1)->is_constant()) continue;
      const std::int64_t by = use.op->operand(1)->as_int();
      const bool power = IndexMath::is_power(layout.n);
      const bool is_row = (use.op->code == OpCode::div && by == layout.n) ||
                          (use.op->code == OpCode::shr && power && by == IndexMath::log(layout.n));
      const bool is_column = (use.op->code == OpCode::rem && by == layout.n) ||
                             (use.op->code == OpCode::bit_and && power && by == layout.n - 1);
      if (is_row || is_column)
        for (const Use& next : uses(use.op->result())) next.op->operands[next.operand] = is_row ? row : column;
    }
    loop.op->text = ir::kOwnLoop;
    dealt_.emplace(number, std::pair(loop.op, layout));
  }

  /// How an operand of a product is to lie.
  static ir::Swizzle swizzle_for(const Op& product, bool second) {
    const Fragments f = Fragments::of(product);
    const std::size_t at = second ? ProductOperand::b : ProductOperand::a;
    const auto number = [&](std::size_t k) { return product.operand(k)->as_int(); };
    if (f.kind == ir::ProductKind::tf32) return {7, 3};  // eight rows of 16 bytes, or four of 32: all banks
    if (f.kind == ir::ProductKind::halves) {             // eight rows of 16 bytes, which may all begin in the same bank
      const std::int64_t apart = 2 * std::max(number(at + 2), number(at + 3));
      return {apart >= 128 && IndexMath::is_power(apart) ? IndexMath::log(apart) : 7, 3};
    }
    // Threads below each other read parts of the same columns, as many rows apart as a piece has.
    if (second || !product.operand(at + 1)->is_zero() || number(at + 3) != 1) return {};
    const std::int64_t size = std::int64_t(product.operand(at)->type->element()->size()), row = number(at + 2) * size;
    // Four steps are one part.
    if (size != 4 || row < 32 || !IndexMath::is_power(row) || !IndexMath::is_power(f.rows)) return {};
    return {IndexMath::log(row * f.rows), std::min<std::int64_t>(IndexMath::log(row / 16), 3)};
  }

  /// How second operands lie of which a product reads the transpose: threads beside each other then read rows that are four apart,
  /// which begin in the same bank. Reading along rows does no worse. Everybody else can be told.
  static ir::Swizzle swizzle_of_turned(const Op& product) {
    constexpr std::int64_t kRows = 4;  // that a piece reads, and that a step reads along rows
    const Fragments f = Fragments::of(product);
    const auto number = [&](std::size_t k) { return product.operand(k)->as_int(); };
    const std::int64_t s0 = number(ProductOperand::b0), s1 = number(ProductOperand::b1);
    const Type* element = product.operand(ProductOperand::b)->type->element();
    if (f.kind != ir::ProductKind::fma || f.columns != kRows || !product.operand(ProductOperand::bo)->is_zero() ||
        element != types::f32() || std::min(s0, s1) != 1)
      return {};
    const std::int64_t row = std::max(s0, s1) * 4;
    if (row < 64 || !IndexMath::is_power(row)) return {};
    return {IndexMath::log(row * kRows), std::min<std::int64_t>(IndexMath::log(row / 16), 3)};
  }

  bool swizzle_turned(Op& local) {
    ir::Swizzle found;
    bool turned = false;
    for (const Use& use : uses(local.result())) {
      if (is_access(use) || (ir::calls_block_function(*use.op, ir::kBlockCopy) && use.operand == CopyOperand::tile))
        continue;
      if (!ir::calls_block_function(*use.op, ir::kBlockProduct) || use.operand != ProductOperand::b) return false;
      const ir::Swizzle here = swizzle_of_turned(*use.op);
      if (!here || (found && here != found)) return false;
      found = here;
      turned = turned || use.op->operand(ProductOperand::b0)->as_int() == 1;
    }
    if (!turned) return false;
    for (const Use& use : uses(local.result())) {
      if (!is_access(use)) continue;
      ir::Builder b(kernel_, use.op->parent, use.op);
      b.set_loc(use.op->loc);
      Value* const index = use.op->indices()[0];
      const Type* type = index->type;
      const auto constant = [&](std::int64_t n) { return kernel_.constant_int(type, n); };
      Value* part = b.binary(OpCode::shr, index, constant(found.shift - 2));
      part = b.binary(OpCode::bit_and, part, constant((std::int64_t(1) << found.bits) - 1));
      part = b.binary(OpCode::shl, part, constant(ir::Swizzle::kPart - 2));
      use.op->operands[1] = b.binary(OpCode::bit_xor, index, part);
    }
    tell(local, found);
    return true;
  }

  /// Tells copies and products how a tile lies.
  void tell(Op& local, const ir::Swizzle& how) {
    for (const Use& use : uses(local.result())) {
      if (use.op->code != OpCode::call) continue;
      const bool copy = ir::calls_block_function(*use.op, ir::kBlockCopy);
      const std::size_t at = copy ? std::size_t(CopyOperand::flags) : std::size_t(ProductOperand::flags);
      const std::int64_t flags = how.flags(!copy && use.operand == ProductOperand::b);
      use.op->operands[at] = kernel_.constant_int(types::i32(), use.op->operand(at)->as_int() | flags);
    }
    changed_ = true;
  }

  /// Memory that copies fill and products read, and nobody else touches.
  void swizzle(Op& local) {
    ir::Swizzle found;
    for (const Use& use : uses(local.result())) {
      if (ir::calls_block_function(*use.op, ir::kBlockCopy) && use.operand == CopyOperand::tile) continue;
      if (!ir::calls_block_function(*use.op, ir::kBlockProduct) || ir::multiplies_panels(*use.op)) return;
      if (use.operand != ProductOperand::a && use.operand != ProductOperand::b) return;
      const ir::Swizzle here = swizzle_for(*use.op, use.operand == ProductOperand::b);
      if (!here || (found && here != found)) return;
      found = here;
    }
    if (found) tell(local, found);
  }

  ir::Function& kernel_;
  const ElementLoops elements_;
  std::unordered_map<const Value*, std::pair<Op*, Fragments>> dealt_;  // loops, by the numbers of their elements
  struct Dealt {
    Op* loop;
    std::vector<std::pair<Op*, Op*>> accesses;  // memory that became registers, and what is done to it
  };
  std::vector<Dealt> loops_;
  bool changed_ = false;
};

}  // namespace

bool place_fragments(ir::Function& kernel) {
  if (kernel.form.block <= 1 || !kernel.form.rows) return false;
  return Placer(kernel).run();
}

}  // namespace weft::passes
