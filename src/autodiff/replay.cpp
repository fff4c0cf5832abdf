// Replay: the values of a region computed again. Writes that others could see are left out, as are prints and checks.
// What the same launch may have overwritten meanwhile can't be read again: it is recalled, and whether that matters is
// known once dead code is gone.
#include "autodiff/reverse.h"

#include "analysis/lifetimes.h"
#include "autodiff/private_calls.h"
#include "ir/op_cases.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

std::vector<Value*> Reverser::mapped_all(std::span<Value* const> values) {
  std::vector<Value*> out;
  for (Value* value : values) out.push_back(map(value));
  return out;
}

void Reverser::replay(const Region& region, bool record) {
  for (const Op& op : region)
    // The end of a region is written by whoever has opened the copy: it may have more to yield than the source does.
    if (ir::effect_of(op.code) != ir::Effect::end) replay_op(op, record);
}

void Reverser::replay_op(const Op& op, bool record) {
  b_.set_loc(op.loc);
  switch (op.code) {
    case OpCode::if_: return replay_control(op);
    case OpCode::for_:
    case OpCode::while_:
      // Only the replay that a reverse follows leaves snapshots; a loop that passes
      // no derivatives on is never gone back over.
      if (record && activity_.matters(op)) return replay_recorded(op);
      return replay_control(op);
    case OpCode::call: return replay_call(op);
    // They happened when the kernel ran, and would happen a second time. A check that failed then has ended the
    // launch.
    case OpCode::print:
    case OpCode::printf:
    case OpCode::breakpoint:
    case OpCode::assert_:
    case OpCode::check:
    case OpCode::prefetch: return;
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic:
    case OpCode::local: return replay_memory(op, record);
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test: return;  // whoever replays their region writes its end
    WEFT_CASES(WEFT_DESCRIPTOR_OPS)
    case OpCode::tid:
    case OpCode::thread:
    case OpCode::block_dim:
    case OpCode::block_thread:
    case OpCode::on_gpu:
    case OpCode::objects:
    case OpCode::barrier:
    case OpCode::tally:
    case OpCode::meet:
    case OpCode::fence:
    case OpCode::warp:
    case OpCode::lane:
    case OpCode::vote:
    case OpCode::shuffle:
    case OpCode::warp_sync:
    case OpCode::texture:
    case OpCode::running:
    case OpCode::any:
    WEFT_CASES(WEFT_NUMBER_OPS)
    WEFT_CASES(WEFT_DATA_OPS) return replay_plain(op);
  }
}

void Reverser::replay_plain(const Op& op) {
  std::vector<Value*> operands = mapped_all(op.operands);
  std::vector<const Type*> types;
  for (const Value* result : op.results) types.push_back(result->type);
  Op* copy = b_.op_typed(op.code, operands, types);
  ir::copy_attributes(op, target_, *copy);
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    // Names are kept for who reads the IR; the printer makes them unique.
    copy->results[k]->name = target_.arena.copy(op.results[k]->name);
    forward_[op.results[k]] = copy->results[k];
  }
}

void Reverser::replay_control(const Op& op) {
  std::vector<Value*> operands = mapped_all(op.operands);
  std::vector<const Type*> types;
  for (const Value* result : op.results) types.push_back(result->type);
  Op* copy = b_.op_typed(op.code, operands, types, op.regions.size());
  ir::copy_attributes(op, target_, *copy);
  Region* outer = b_.region();
  for (std::size_t r = 0; r < op.regions.size(); ++r) {
    for (const Value* arg : op.regions[r]->args)
      // A region may be replayed several times (for the trial, when running on, in reverse): the map always names the
      // latest copy, which is the one in sight.
      forward_[arg] = target_.add_argument(copy->regions[r], arg->type, target_.arena.copy(arg->name));
    b_.set_place(copy->regions[r]);
    // Without record: the reverse of this region replays it once more in its own place, where its loops leave what is
    // needed. An inner value of this copy is not visible there.
    replay(*op.regions[r], false);
    b_.op(op.regions[r]->last->code, mapped_all(op.regions[r]->last->operands));
  }
  b_.set_place(outer);
  for (std::size_t k = 0; k < op.results.size(); ++k) forward_[op.results[k]] = copy->result(k);
}

bool Reverser::may_be_overwritten(const Op& load) const {
  // Numbers that are stored somewhere make no array of what lies in a struct or in another array.
  if (load.result()->type->is_array() && !writes_arrays_) return false;
  return (alias_.direct_reads(load) & written_) != 0;
}

Value* Reverser::recall(const Op& op) {
  if (recorded_)
    // The value read from the log is one of the source's own: it stands before
    // the site, so it has been replayed by now.
    if (auto it = recorded_->values.find(&op); it != recorded_->values.end()) return map(it->second);
  const Type* type = op.result()->type;
  Op* made = b_.op_typed(OpCode::recall, {}, {&type, 1});
  // The site's number, by which the driver knows what the kernel has to write down; −1: nobody can, which is an error
  // only if the recall survives dce.
  made->imm = -1;
  if (recorded_)
    if (auto it = recorded_->numbers.find(&op); it != recorded_->numbers.end()) made->imm = it->second;
  return made->result();
}

bool Reverser::reads_log(const Op& load) const {
  const Value* array = load.operand(0);
  return recorded_ && !recorded_->values.empty() && array->kind == ir::ValueKind::argument &&
         // The log's own arrays are the last parameters. A replay of the reading form reads them as often as it likes:
         // the kernel under replay never writes to them.
         array->region == source_.body && array->index + kLogParams >= source_.params().size();
}

void Reverser::replay_memory(const Op& op, bool record) {
  switch (op.code) {
    case OpCode::load: {
      // A descriptor may be that of a private array or of another one: both must be as they were.
      const analysis::BaseMask own = alias_.bases(op.operand(0)) & alias_.private_locals();
      // Readable again is: a private array whose stores are replayed as well, the log, and memory that this kernel
      // never writes. That another launch has written to memory since is the tape's business (runtime/versions.h).
      const bool known = as_it_was(op, own) && (is_private(op.operand(0)) || reads_log(op) || !may_be_overwritten(op));
      if (known && !(recorded_ && recorded_->values.contains(&op))) return replay_plain(op);
      forward_[op.result()] = recall(op);
      return;
    }
    case OpCode::atomic:
      // On memory of the thread's own an atomic is a load and a store, and is done again with the other ones.
      if (is_private(op.operand(0)) && is_fresh(op.operand(0)) && !(recorded_ && recorded_->values.contains(&op)))
        return replay_plain(op);
      forward_[op.result()] = recall(op);
      return;
    case OpCode::local: {
      replay_plain(op);
      if (!record || !has_floats(op.result()->type->element())) return;
      Value* made = forward_[op.result()];
      // Adjoints of the elements live in a second private array, which travels in the descriptor as gradients of
      // parameters do: one rule for both.
      Value* gradient = b_.local(made->type, op.ints);
      if (ir::is_block_memory(op)) gradient->op->imm = ir::kOfBlock;
      forward_[op.result()] = b_.with_gradient(made, gradient);
      return;
    }
    case OpCode::store:
      if (is_private(op.operand(0)) && is_fresh(op.operand(0))) replay_plain(op);
      return;
    case OpCode::prefetch:
    WEFT_CASES(WEFT_DESCRIPTOR_OPS)
    WEFT_CASES(WEFT_OPS_BUT_MEMORY) WEFT_UNREACHABLE("no access to memory");
  }
}

void Reverser::find_locals() {
  // Two arrays alive in one piece of memory can't be told apart by any analysis of bases.
  if (const Op* local = analysis::outliving_local(source_, alias_); local && !source_.from_library)
    sink_.report(DiagCode::no_gradient, local->loc, analysis::kOutlivingLocal);
  const analysis::BaseMask own = alias_.private_locals();
  // By the number of the base, a bit of the mask; whatever is beyond what a mask has room for is unknown memory.
  locals_.resize(analysis::BaseMask::kMost);
  ir::walk(*source_.body, [&](const Op& op) {
    if (op.code != OpCode::local) return;
    const analysis::BaseMask base = alias_.bases(op.result()) & own;
    if (ir::is_block_memory(op)) of_block_ |= alias_.bases(op.result());
    base.each([&](std::size_t number) { locals_[number] = {&op, base}; });
  });
  std::vector<analysis::BaseMask> choices;  // of several arrays, by one write
  ir::walk(*source_.body, [&](const Op& op) {
    const analysis::BaseMask bases = alias_.direct_writes(op), mine = bases & own;
    // A store that may as well go to a parameter's memory is not replayed, so the private array it may have meant is
    // not as it was.
    if ((op.code == OpCode::call && !fills_private(op, alias_, effects_)) || mine != bases) not_replayed_ |= mine;
    if (mine.count() > 1) choices.push_back(mine);
  });
  // Arrays that one store may mean are replayed all or none: their sets are merged until nothing grows. So few
  // arrays that this is quick.
  for (bool grown = true; grown;) {
    grown = false;
    for (analysis::BaseMask& choice : choices) {
      analysis::BaseMask all = choice;
      for (std::size_t k = 0; k < locals_.size(); ++k)
        if (choice.has(k)) all |= locals_[k].together;
      for (std::size_t k = 0; k < locals_.size(); ++k)
        if (all.has(k) && locals_[k].together != all) locals_[k].together = all, grown = true;
      choice = all;
    }
  }
}

analysis::BaseMask Reverser::written_together(analysis::BaseMask arrays) const {
  analysis::BaseMask all = 0;
  for (std::size_t k = 0; k < locals_.size(); ++k)
    if (arrays.has(k)) all |= locals_[k].together;
  return all;
}

bool Reverser::is_final(const Op& op, analysis::BaseMask arrays) const {
  const std::pair asked{&op, arrays};
  if (auto it = final_.find(asked); it != final_.end()) return it->second;
  const auto find = [&] {
    const analysis::BaseMask all = written_together(arrays);
    if (!all || (all & not_replayed_)) return false;
    // All regions around the one under replay have been replayed to their ends, one inside of the other. The one that
    // makes the arrays must be among them, and one for all: it has replayed every write to them, or none.
    const Region* maker = nullptr;
    for (std::size_t k = 0; k < locals_.size(); ++k) {
      if (!all.has(k)) continue;
      if (maker && maker != locals_[k].op->parent) return false;
      maker = locals_[k].op->parent;
    }
    const Region* at = op.parent;
    while (at != maker && at->parent_op) at = at->parent_op->parent;
    return at == maker && !written_behind(alias_, op, all, *maker);
  };
  return final_[asked] = find();
}

bool Reverser::is_fresh(analysis::BaseMask arrays) const {
  const analysis::BaseMask all = written_together(arrays);
  if (all & not_replayed_) return false;
  for (std::size_t k = 0; k < locals_.size(); ++k) {
    if (!all.has(k)) continue;
    const Region* at = locals_[k].op->parent;
    // Made outside of the region under replay, it would keep the stores of the replay before: only what is made anew
    // is as it was.
    while (at != replay_root_ && at->parent_op) at = at->parent_op->parent;
    // Without a root the whole function is under replay, and everything is made in it.
    if (at != replay_root_ && replay_root_) return false;
  }
  return true;
}

bool Reverser::is_private(const Value* array) const {
  analysis::BaseMask bases = alias_.bases(array);
  return bases && !(bases & ~alias_.private_locals());
}

bool Reverser::is_apart(const Value* array) const {
  analysis::BaseMask bases = alias_.bases(array);
  if (bases & of_block_) return false;  // any thread of the block may have read it
  return is_private(array) || (bases && !(bases & ~apart_));
}

void Reverser::replay_whole() {
  for (std::size_t k = 0; k < source_.params().size(); ++k) forward_[source_.params()[k]] = target_.params()[k];
  b_.set_place(target_.body);
  replay(*source_.body, false);
  b_.ret(mapped_all(source_.body->last->operands));
}

ir::Function* Functions::replay_of(ir::Function& function) {
  if (auto it = replays_.find(&function); it != replays_.end()) return it->second;
  // What the program says is to be run again may write in its turn: it has a replay like any function.
  if (function.replay) return replays_[&function] = replay_of(*function.replay);
  // Native code runs as it is: without arrays there is nothing that it could write to, and with arrays it comes here
  // only as the replay that the program named (replay_call).
  if (!function.native.empty()) return replays_[&function] = &function;
  analysis::Effects effects;
  // Without effects it is its own replay.
  if (effects.of(function).removable()) return replays_[&function] = &function;
  auto made = std::make_unique<ir::Function>("replay." + function.name, ir::FunctionKind::function);
  made->result_types = function.result_types;
  made->loc = function.loc;
  made->from_library = function.from_library;
  made->lanewise = function.lanewise;
  for (const Value* param : function.params())
    made->add_argument(made->body, param->type, made->arena.copy(param->name));
  Reverser(function, *made, *this, options_, sink_).replay_whole();
  ir::Function* result = made.get();
  made_.push_back(std::move(made));
  return replays_[&function] = result;
}

}  // namespace weft::autodiff
