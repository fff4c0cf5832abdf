// Threads of the PTX machine: each runs up to the next instruction that needs others, and goes on when all of its warp (or
// block) stand there. Calls, branches and returns.
#include "ptx_threads.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace weft::cuda::fake {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr int kSlice =
    1 << 20;  // instructions after which others have their turn: a thread may wait for what they write

void branch(PtxThread& t, const PtxInstruction& i) { t.pc = i.target; }

void branch_by_table(PtxThread& t, const PtxInstruction& i) {
  const std::vector<std::int32_t>& list = t.frame().function->lists[std::size_t(i.list)];
  const auto which = get<std::uint32_t>(t, i.a);
  if (which >= list.size()) ptx_fail(t, i, "beyond the table");
  t.pc = list[which];
}

void call(PtxThread& t, const PtxInstruction& i) {
  const PtxFunction::Call& what = t.frame().function->calls[std::size_t(i.list)];
  const PtxFunction& callee = *what.callee;
  if (what.given.size() != callee.parameters.size()) ptx_fail(t, i, "a wrong number of arguments");
  const std::int32_t back = t.pc;
  PtxFrame& from = t.frame();
  t.block->enter(t, callee);
  t.frame().call = &what;
  t.frame().return_to = back;
  for (std::size_t k = 0; k < what.given.size(); ++k)
    std::memcpy(t.frame().params.data() + callee.parameters[k].offset, from.params.data() + what.given[k].offset,
                std::min(what.given[k].bytes, callee.parameters[k].bytes));
}

void leave(PtxThread& t, const PtxInstruction&) {
  if (t.depth == 0) {
    t.state = PtxState::done;
    return;
  }
  PtxFrame& from = t.frame();
  PtxFrame& to = *t.frames[--t.depth];
  for (std::size_t k = 0; k < from.call->taken.size(); ++k)
    std::memcpy(to.params.data() + from.call->taken[k].offset, from.params.data() + from.function->results[k].offset,
                from.call->taken[k].bytes);
  t.local.resize(from.local_base);
  t.pc = from.return_to;
  t.r = to.registers.data();
  t.code = to.function->code.data();
}

void leave_kernel(PtxThread& t, const PtxInstruction&) { t.state = PtxState::done; }
void trap(PtxThread& t, const PtxInstruction& i) { ptx_fail(t, i, "a trap"); }
void nothing(PtxThread&, const PtxInstruction&) {}
void local_address(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.frame().local_base + Word(i.offset); }

void wait(PtxThread& t, const PtxInstruction&) {
  --t.pc;
  t.state = PtxState::waiting;
}

void pack(PtxThread& t, const PtxInstruction& i) {
  Word out = 0;
  int shift = 0;
  for (const std::int32_t reg : t.frame().function->lists[std::size_t(i.list)]) {
    out |= cut(t.r[reg], i.width) << shift;
    shift += i.width;
  }
  t.r[i.to] = out;
}

void unpack(PtxThread& t, const PtxInstruction& i) {
  const Word all = t.r[i.a];
  int shift = 0;
  for (const std::int32_t reg : t.frame().function->lists[std::size_t(i.list)]) {
    t.r[reg] = cut(all >> shift, i.width);
    shift += i.width;
  }
}

}  // namespace

void ptx_fail(const PtxThread& t, const PtxInstruction& i, const std::string& why) {
  const PtxFunction& function = *t.frames[t.depth]->function;
  const PtxFunction::Statement& statement = function.statements[std::size_t(i.statement)];
  throw std::runtime_error("PTX machine: " + why + " in '" + statement.text + "' (line " +
                           std::to_string(statement.line) + " of '" + function.name + "', block " +
                           std::to_string(t.block->id()) + ", thread " + std::to_string(t.index) + ")");
}

PtxAction find_control(const PtxName& name, PtxInstruction& i) {
  const std::string& op = name[0];
  if (op == "bra") return branch;
  if (op == "brx") return branch_by_table;
  if (op == "call") return call;
  if (op == "ret") return leave;
  if (op == "exit") return leave_kernel;
  if (op == "trap" || op == "brkpt") return trap;
  if (op == "membar" || op == "fence" || op == "nanosleep" || op == "prefetch" || op == "prefetchu" ||
      op == "griddepcontrol")
    return i.meeting = PtxMeeting::none, nothing;
  if (op == "mov" && name[1] == "local") return local_address;
  if (op == "mov" && name[1] == "pack") return pack;
  if (op == "mov" && name[1] == "unpack") return unpack;
  if (op == "activemask") return i.meeting = PtxMeeting::active, wait;
  if (op == "bar" || op == "barrier") {
    if (has_part(name, "arrive") || has_part(name, "cluster")) return nullptr;
    i.meeting = has_part(name, "warp")  ? PtxMeeting::warp
                : has_part(name, "red") ? PtxMeeting::block_reduction
                                        : PtxMeeting::block;
    if (i.meeting == PtxMeeting::block_reduction) i.verb = verb_of(name[std::size_t(name[1] == "cta" ? 3 : 2)]);
    return wait;
  }
  if (op == "ldmatrix" && has_part(name, "m8n8") && has_part(name, "b16")) {
    i.count = has_part(name, "x4") ? 4 : has_part(name, "x2") ? 2 : 1;
    i.verb = has_part(name, "trans") ? PtxVerb::down : PtxVerb::none;
    return i.meeting = PtxMeeting::matrices, wait;
  }
  if (op == "mma" && name.back() == "f32" && has_part(name, "row") && has_part(name, "col")) {
    i.kind = has_part(name, "tf32") ? 't' : has_part(name, "bf16") ? 'g' : has_part(name, "f16") ? 'h' : 0;
    if (!i.kind || !has_part(name, i.kind == 't' ? "m16n8k8" : "m16n8k16")) return nullptr;
    return i.meeting = PtxMeeting::product, wait;
  }
  const bool numbers = op == "shfl" || op == "vote" || op == "match" || op == "redux";
  if (!numbers || name.size() < 4 || name[1 + (op == "match")] != "sync") return nullptr;
  i.verb = verb_of(name[op == "match" ? 1 : 2]);
  ptx_type(name.back(), i.kind, i.width);
  i.meeting = op == "shfl"    ? PtxMeeting::shuffle
              : op == "vote"  ? PtxMeeting::vote
              : op == "match" ? PtxMeeting::match
                              : PtxMeeting::reduction;
  return i.verb == PtxVerb::none ? nullptr : wait;
}

PtxBlock::PtxBlock(const PtxProgram& program, const PtxFunction& kernel, const PtxLaunch& launch)
    : program_(program),
      kernel_(kernel),
      launch_(launch),
      shared_(program.shared_bytes + launch.shared_bytes),
      threads_(launch.threads),
      races_(launch.watch_races ? shared_.size() : 0, program.least_access, launch.threads) {}

bool PtxBlock::is_variable(Word address, std::size_t bytes) const {
  for (const auto& [name, data] : program_.globals) {
    const auto start = reinterpret_cast<Word>(data.data());
    if (address >= start && address + bytes <= start + 8 * data.size()) return true;
  }
  return false;
}

Word PtxBlock::special(const PtxThread& t, char kind) const {
  const Word bit = Word(1) << t.lane();
  switch (kind) {
    case 't': return t.index;
    case 'n': return threads_.size();
    case 'b': return id_;
    case 'g': return launch_.blocks;
    case 'l': return t.lane();
    case 'w': return t.index / 32;
    case '<': return bit - 1;
    case '(': return 2 * bit - 1;
    case '>': return cut(~(2 * bit - 1), 32);
    case ')': return cut(~(bit - 1), 32);
    case '=': return bit;
    case '1': return 1;
    default: return 0;
  }
}

void PtxBlock::enter(PtxThread& t, const PtxFunction& function) {
  const std::size_t depth = t.r ? t.depth + 1 : 0;
  if (depth >= kMaxDepth) throw std::runtime_error("PTX machine: '" + function.name + "' calls itself too deeply");
  if (t.frames.size() <= depth) t.frames.push_back(std::make_unique<PtxFrame>());
  t.depth = depth;
  PtxFrame& frame = t.frame();
  frame.function = &function;
  frame.registers = function.registers;
  frame.params.assign(function.param_bytes, 0xCD);
  frame.local_base = (t.local.size() + 15) / 16 * 16;
  t.local.resize(frame.local_base + function.local_bytes, 0xCD);
  t.r = frame.registers.data();
  t.code = function.code.data();
  t.pc = 0;
  for (const PtxFunction::Special& one : function.specials) t.r[one.reg] = special(t, one.kind);
}

void PtxBlock::run(unsigned id) {
  id_ = id;
  races_.block_barrier();
  const std::size_t arguments =
      kernel_.parameters.empty() ? 0 : kernel_.parameters.back().offset + kernel_.parameters.back().bytes;
  if (launch_.arguments.size() + 8 <= arguments)  // compilers may round the size up
    throw std::runtime_error("PTX machine: the arguments of '" + kernel_.name + "' end before");
  std::fill(shared_.begin(), shared_.end(), 0xCD);
  for (std::size_t k = 0; k < threads_.size(); ++k) {
    PtxThread& t = threads_[k];
    t.block = this;
    t.index = std::uint32_t(k);
    t.r = nullptr;
    t.local.clear();
    t.copies.clear();
    t.copy_group = 0;
    t.unseen = false;
    t.products = t.product_groups = 0;
    t.state = PtxState::ready;
    enter(t, kernel_);
    std::copy_n(launch_.arguments.begin(), std::min(arguments, launch_.arguments.size()), t.frame().params.begin());
  }
  auto is = [](PtxState state) { return [state](const PtxThread& t) { return t.state == state; }; };
  while (!std::all_of(threads_.begin(), threads_.end(), is(PtxState::done))) {
    while (std::any_of(threads_.begin(), threads_.end(), is(PtxState::ready)))
      for (PtxThread& t : threads_)
        if (t.state == PtxState::ready) advance(t);
    bool moved = false;
    for (std::size_t first = 0; first < threads_.size(); first += 32) moved |= meet_in_warp(first);
    for (std::size_t first = 0; first < threads_.size(); first += 128) moved |= meet_in_group(first);
    if (moved || meet_in_block()) continue;
    for (std::size_t first = 0; first < threads_.size() && !moved; first += 32) moved |= meet_active(first);
    if (!moved && std::any_of(threads_.begin(), threads_.end(), is(PtxState::waiting))) fail_waiting();
  }
}

void PtxBlock::advance(PtxThread& t) {
  int left = kSlice;
  while (t.state == PtxState::ready && left > 0) {
    const PtxInstruction& i = t.code[t.pc++];
    --left;
    if (i.guard >= 0 && (t.r[i.guard] & 1) == Word(i.guard_not)) continue;
    if (launch_.count) counts_.note(t, i);
    i.act(t, i);
  }
  steps_ += std::size_t(kSlice - left);
}

void PtxBlock::go_on(PtxThread& t) {
  ++t.pc;
  t.state = PtxState::ready;
}

/// Lanes of a warp that have not left.
std::uint32_t PtxBlock::present(std::size_t first) const {
  std::uint32_t lanes = 0;
  for (std::size_t k = first; k < std::min(first + 32, threads_.size()); ++k)
    if (threads_[k].state != PtxState::done) lanes |= 1u << (k - first);
  return lanes;
}

bool PtxBlock::meet_in_warp(std::size_t first) {
  const std::uint32_t here = present(first);
  for (std::uint32_t rest = here; rest; rest &= rest - 1) {
    const PtxThread& t = threads_[first + std::size_t(std::countr_zero(rest))];
    if (t.state != PtxState::waiting) continue;
    const PtxInstruction& i = at(t);
    std::int32_t mask = -1;
    switch (i.meeting) {
      case PtxMeeting::warp: mask = i.a; break;
      case PtxMeeting::shuffle: mask = i.d; break;
      case PtxMeeting::vote:
      case PtxMeeting::match:
      case PtxMeeting::reduction: mask = i.b; break;
      case PtxMeeting::matrices:
      case PtxMeeting::product:
        if (here != 0xFFFFFFFF) ptx_fail(t, i, "a warp that is not whole");
        break;
      default: continue;
    }
    const auto named = [&](const PtxThread& one) {
      return mask < 0 ? here : std::uint32_t(one.r[mask]) & here;  // without a mask: all
    };
    const std::uint32_t wanted = named(t);
    if (!((wanted >> t.lane()) & 1)) ptx_fail(t, i, "a thread that its own mask leaves out");
    bool all = true;
    for (std::uint32_t w = wanted; w; w &= w - 1) {
      const PtxThread& other = threads_[first + std::size_t(std::countr_zero(w))];
      all &= other.state == PtxState::waiting && &at(other) == &i && other.depth == t.depth && named(other) == wanted;
    }
    if (!all) continue;
    if (i.meeting == PtxMeeting::warp && wanted == here) races_.warp_barrier(first / 32);
    together(i, first, wanted);
    for (std::uint32_t w = wanted; w; w &= w - 1) go_on(threads_[first + std::size_t(std::countr_zero(w))]);
    return true;
  }
  return false;
}

/// activemask: of the threads that stand there while all others wait for something else.
bool PtxBlock::meet_active(std::size_t first) {
  const std::uint32_t here = present(first);
  const PtxInstruction* which = nullptr;
  std::uint32_t lanes = 0;
  for (std::uint32_t rest = here; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const PtxThread& t = threads_[first + std::size_t(lane)];
    if (t.state != PtxState::waiting || at(t).meeting != PtxMeeting::active || (which && which != &at(t))) continue;
    which = &at(t);
    lanes |= 1u << lane;
  }
  for (std::uint32_t w = lanes; w; w &= w - 1) {
    PtxThread& t = threads_[first + std::size_t(std::countr_zero(w))];
    t.r[which->to] = lanes;
    go_on(t);
  }
  return lanes != 0;
}

bool PtxBlock::meet_in_block() {
  const PtxInstruction* which = nullptr;
  bool all = true, any = false, popular = true;
  Word count = 0;
  for (const PtxThread& t : threads_) {
    if (t.state == PtxState::done) continue;
    const PtxInstruction& i = at(t);
    if (i.meeting != PtxMeeting::block && i.meeting != PtxMeeting::block_reduction) return false;
    if (i.b >= 0 && t.r[i.b] != threads_.size()) ptx_fail(t, i, "a barrier for a part of the block");
    if (t.products || t.product_groups) ptx_fail(t, i, "a product that is still running");
    popular &= !which || which == &i;
    which = &i;
    if (i.meeting != PtxMeeting::block_reduction) continue;
    const bool said = t.r[i.c] & 1;
    all &= said;
    any |= said;
    count += said;
  }
  if (!which) return false;
  if (!popular) fail_waiting();
  for (PtxThread& t : threads_) {
    if (t.state == PtxState::done) continue;
    if (which->meeting == PtxMeeting::block_reduction)
      t.r[which->to] = which->verb == PtxVerb::popc ? count : which->verb == PtxVerb::bit_and ? Word(all) : Word(any);
    go_on(t);
  }
  races_.block_barrier();
  return true;
}

void PtxBlock::together(const PtxInstruction& i, std::size_t first, std::uint32_t lanes) {
  if (i.meeting == PtxMeeting::warp) return;
  if (i.meeting == PtxMeeting::matrices) return load_matrices(&threads_[first], i);
  if (i.meeting == PtxMeeting::product) return multiply_matrices(&threads_[first], i);
  Word given[32];
  for (std::size_t l = 0; l < 32; ++l) {
    const bool there = (lanes >> l) & 1;
    given[l] = there ? threads_[first + l].r[i.a] : 0xDEADBEEF;
    if (there) given[l] = i.meeting == PtxMeeting::vote ? given[l] & 1 : cut(given[l], i.width);
  }
  auto each = [&](const auto& act) {
    for (std::uint32_t w = lanes; w; w &= w - 1) act(std::size_t(std::countr_zero(w)));
  };
  Word ballot = 0, sum = 0;
  bool fresh = true, same = true;
  const Word one = given[std::countr_zero(lanes)];
  each([&](std::size_t l) {
    if (i.meeting == PtxMeeting::vote) ballot |= given[l] << l;
    if (i.meeting == PtxMeeting::reduction)
      sum = fresh ? given[l] : atomic_result(threads_[first + l], i, sum, given[l], 0);
    same &= given[l] == one;
    fresh = false;
  });
  each([&](std::size_t l) {
    PtxThread& t = threads_[first + l];
    Word result = sum;
    if (i.meeting == PtxMeeting::vote) {
      const bool all = ballot == lanes, none = ballot == 0;
      result = i.verb == PtxVerb::ballot ? ballot
               : i.verb == PtxVerb::all  ? Word(all)
               : i.verb == PtxVerb::any  ? Word(!none)
                                         : Word(all || none);
    } else if (i.meeting == PtxMeeting::match && i.verb == PtxVerb::all) {
      result = same ? lanes : 0;
      if (i.second >= 0) t.r[i.second] = same;
    } else if (i.meeting == PtxMeeting::match) {
      result = 0;
      each([&](std::size_t k) { result |= Word(given[k] == given[l]) << k; });
    } else if (i.meeting == PtxMeeting::shuffle) {
      const int lane = int(l), by = int(t.r[i.b] & 31), clamp = int(t.r[i.c] & 31), segment = int(t.r[i.c] >> 8 & 31);
      const int low = lane & segment, high = low | (clamp & ~segment);
      const int from = i.verb == PtxVerb::up     ? lane - by
                       : i.verb == PtxVerb::down ? lane + by
                       : i.verb == PtxVerb::bfly ? lane ^ by
                                                 : low | (by & ~segment);
      const bool inside = i.verb == PtxVerb::up ? from >= high : from <= high;
      result = given[inside ? from : lane];
      if (i.second >= 0) t.r[i.second] = inside;
    }
    t.r[i.to] = result;
  });
}

void PtxBlock::fail_waiting() const {
  std::string text =
      "PTX machine: threads wait for each other at different places of block " + std::to_string(id_) + ":";
  const PtxInstruction* last = nullptr;
  int shown = 0;
  for (const PtxThread& t : threads_) {
    if (t.state != PtxState::waiting || &at(t) == last || ++shown > 8) continue;
    last = &at(t);
    const auto& statement = t.frames[t.depth]->function->statements[std::size_t(last->statement)];
    text += " thread " + std::to_string(t.index) + " at '" + statement.text + "' (line " +
            std::to_string(statement.line) + ")";
  }
  throw std::runtime_error(text);
}

std::size_t PtxModule::run(const std::string& kernel, const PtxLaunch& launch) const {
  const auto it = program_->kernels.find(kernel);
  if (it == program_->kernels.end()) throw std::runtime_error("PTX machine: no kernel '" + kernel + "'");
  PtxBlock block(*program_, *it->second, launch);
  for (unsigned id = 0; id < launch.blocks; ++id) {
    block.run(id);
    if (PtxCounts* counts = block.counts()) counts->end_block();
  }
  if (launch.count) *launch.count += block.counts()->line(kernel, launch);
  return block.steps();
}

}  // namespace weft::cuda::fake
