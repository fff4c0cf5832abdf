// Products of four warps together (wgmma), which read both operands from shared memory by themselves: where those lie is told by
// words, and rows are cut into panels and swizzled. Threads may not leave them running, and copies must be shown to them by a fence.
#include <algorithm>
#include <stdexcept>

#include "ptx_threads.h"

namespace weft::cuda::fake {
namespace {

constexpr std::size_t kRows = 64, kDepth = 16, kThreads = 128;
constexpr std::uint8_t kMinusLeft = 1, kMinusRight = 2, kTurnedLeft = 4, kTurnedRight = 8;

void wait_at(PtxThread& t, const PtxInstruction&) {
  --t.pc;
  t.state = PtxState::waiting;
}
void show(PtxThread& t, const PtxInstruction&) { t.unseen = false; }
void nothing(PtxThread&, const PtxInstruction&) {}
void commit(PtxThread& t, const PtxInstruction&) {
  t.product_groups += t.products != 0;
  t.products = 0;
}
void wait_for(PtxThread& t, const PtxInstruction& i) {
  t.product_groups = std::min<std::size_t>(t.product_groups, cut(t.r[i.a], 32));
}

/// An operand in shared memory.
struct Panels {
  Word start, lead, stride, width;
  bool turned;  // rows of memory run across the steps

  Panels(Word word, bool is_turned)
      : start((word & 0x3FFF) << 4),
        lead((word >> 16 & 0x3FFF) << 4),
        stride((word >> 32 & 0x3FFF) << 4),
        width(word >> 62 ? 256u >> (word >> 62) : 0),
        turned(is_turned) {}

  /// The byte of the operand's row, or column, and step.
  Word at(std::size_t which, std::size_t step) const {
    const Word across = 2 * which;
    const Word byte = turned ? across / width * lead + across % width + step / 8 * stride + step % 8 * width
                             : which / 8 * stride + which % 8 * width + 2 * step;
    const Word address = start + byte;
    return address ^ ((address >> 7 & (width / 16 - 1)) << 4);
  }
};

}  // namespace

PtxAction find_group(const PtxName& name, PtxInstruction& i) {
  if (name[0] == "fence" && has_part(name, "proxy")) return show;
  if (name[0] != "wgmma" || name.size() < 2) return nullptr;
  if (name[1] == "fence") return nothing;
  if (name[1] == "commit_group") return commit;
  if (name[1] == "wait_group") return wait_for;
  if (name[1] != "mma_async" || !has_part(name, "f32")) return nullptr;
  i.kind = has_part(name, "bf16") ? 'g' : has_part(name, "f16") ? 'h' : 0;
  if (!i.kind) return nullptr;
  return i.meeting = PtxMeeting::group, wait_at;
}

void set_group_flags(PtxInstruction& i, const std::vector<std::string>& operands) {
  const auto is = [&](std::size_t k, const char* text) { return operands.at(k) == text; };
  if (!is(3, "1")) throw std::runtime_error("PTX machine: a product of groups that adds to nothing");
  i.bits = std::uint8_t((is(4, "-1") ? kMinusLeft : 0) | (is(5, "-1") ? kMinusRight : 0) |
                        (is(6, "1") ? kTurnedLeft : 0) | (is(7, "1") ? kTurnedRight : 0));
}

void multiply_groups(PtxThread* group, const PtxInstruction& i) {
  const auto& list = group[0].frames[group[0].depth]->function->lists[std::size_t(i.list)];
  const std::size_t columns = 2 * list.size();
  for (std::size_t k = 1; k < kThreads; ++k)
    if (group[k].r[i.a] != group[0].r[i.a] || group[k].r[i.b] != group[0].r[i.b])
      ptx_fail(group[k], i, "threads of a group that name different operands");
  const Panels left(group[0].r[i.a], i.bits & kTurnedLeft), right(group[0].r[i.b], i.bits & kTurnedRight);
  if (!left.width || !right.width) ptx_fail(group[0], i, "rows that are not swizzled");
  std::vector<double> a(kRows * kDepth), b(columns * kDepth);
  const auto read = [&](const Panels& from, std::size_t which, std::size_t step, bool minus) {
    PtxThread& reader = group[which % kThreads];
    std::uint16_t bits = 0;
    std::memcpy(&bits, ptx_shared(reader, i, from.at(which, step), 2), 2);
    return minus ? -half_value(bits, i.kind) : half_value(bits, i.kind);
  };
  for (std::size_t step = 0; step < kDepth; ++step) {
    for (std::size_t m = 0; m < kRows; ++m) a[m * kDepth + step] = read(left, m, step, i.bits & kMinusLeft);
    for (std::size_t n = 0; n < columns; ++n) b[n * kDepth + step] = read(right, n, step, i.bits & kMinusRight);
  }
  for (std::size_t k = 0; k < kThreads; ++k) {
    PtxThread& t = group[k];
    ++t.products;
    for (std::size_t n = 0; n < list.size(); ++n) {
      const std::size_t row = k / 32 * 16 + k % 32 / 4 + n % 4 / 2 * 8, column = n / 4 * 8 + k % 4 * 2 + n % 2;
      double sum = get<float>(t, list[n]);
      for (std::size_t step = 0; step < kDepth; ++step) sum += a[row * kDepth + step] * b[column * kDepth + step];
      put(t, list[n], float(sum));
    }
  }
}

/// Four warps that stand at the same product.
bool PtxBlock::meet_in_group(std::size_t first) {
  const PtxThread& t = threads_[first];
  if (t.state != PtxState::waiting || at(t).meeting != PtxMeeting::group) return false;
  if (first + kThreads > threads_.size()) ptx_fail(t, at(t), "a group of warps that is not whole");
  for (std::size_t k = first; k < first + kThreads; ++k) {
    const PtxThread& other = threads_[k];
    if (other.state == PtxState::done) ptx_fail(t, at(t), "a group of warps that is not whole");
    if (other.state != PtxState::waiting || &at(other) != &at(t) || other.depth != t.depth) return false;
  }
  for (const PtxThread& other : threads_)
    if (other.unseen) ptx_fail(other, at(t), "copies that no fence has shown to the product");
  multiply_groups(&threads_[first], at(t));
  for (std::size_t k = first; k < first + kThreads; ++k) go_on(threads_[k]);
  return true;
}

}  // namespace weft::cuda::fake
