// What the threads of a whole warp do to small matrices: rows of eight 16-bit numbers from shared memory, and products with
// float32 sums. A product's terms are added up exactly enough and rounded once; GPUs have an order of their own.
#include <array>
#include <bit>

#include "ptx_threads.h"

namespace weft::cuda::fake {
namespace {

constexpr std::uint32_t kWarp = 32;

/// Registers of one of an instruction's lists.
const std::vector<std::int32_t>& registers(const PtxThread& t, const PtxInstruction& i, std::size_t which) {
  return t.frames[t.depth]->function->lists[std::size_t(i.list) + which];
}

/// What a thread has of an operand: two numbers of 16 bits in a register, or one of 32.
double element(const PtxThread& t, std::int32_t reg, std::size_t part, char kind) {
  const auto word = std::uint32_t(t.r[reg]);
  if (kind == 't') return std::bit_cast<float>(word & ~0x1FFFu);  // the lower bits are not looked at
  return half_value((word >> (16 * part)) & 0xFFFF, kind);
}

}  // namespace

/// Matrix n comes from the rows whose addresses threads 8 n to 8 n + 7 give; each thread gets two neighbours of its row, or of
/// its column.
void load_matrices(PtxThread* warp, const PtxInstruction& i) {
  std::array<std::array<std::uint16_t, 64>, 4> matrices{};
  for (std::size_t n = 0; n < i.count; ++n)
    for (std::size_t row = 0; row < 8; ++row) {
      PtxThread& t = warp[8 * n + row];
      std::memcpy(&matrices[n][8 * row], ptx_shared(t, i, t.r[i.a] + Word(i.offset), 16), 16);
    }
  for (std::size_t lane = 0; lane < kWarp; ++lane)
    for (std::size_t n = 0; n < i.count; ++n) {
      const std::size_t row = lane / 4, column = lane % 4 * 2;
      const auto at = [&](std::size_t k) {
        return Word(i.verb == PtxVerb::down ? matrices[n][8 * (column + k) + row] : matrices[n][8 * row + column + k]);
      };
      warp[lane].r[registers(warp[lane], i, 0)[n]] = at(0) | at(1) << 16;
    }
}

/// D = A B + C of 16 by 8 elements: A has 16 rows, B 8 columns.
void multiply_matrices(PtxThread* warp, const PtxInstruction& i) {
  const bool words = i.kind == 't';
  const std::size_t depth = words ? 8 : 16, in_register = words ? 1 : 2;
  double a[16][16], b[16][8];
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    const PtxThread& t = warp[lane];
    const std::size_t group = lane / 4, own = lane % 4;
    for (std::size_t n = 0; n < 4; ++n)
      for (std::size_t part = 0; part < in_register; ++part)
        a[group + n % 2 * 8][own * in_register + part + n / 2 * depth / 2] =
            element(t, registers(t, i, 1)[n], part, i.kind);
    for (std::size_t n = 0; n < 2; ++n)
      for (std::size_t part = 0; part < in_register; ++part)
        b[own * in_register + part + n * depth / 2][group] = element(t, registers(t, i, 2)[n], part, i.kind);
  }
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    PtxThread& t = warp[lane];
    std::array<float, 4> sums;
    for (std::size_t n = 0; n < 4; ++n) {
      const std::size_t row = lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2;
      double sum = get<float>(t, registers(t, i, 3)[n]);
      for (std::size_t k = 0; k < depth; ++k) sum += a[row][k] * b[k][column];
      sums[n] = float(sum);
    }
    for (std::size_t n = 0; n < 4; ++n) put(t, registers(t, i, 0)[n], sums[n]);
  }
}

}  // namespace weft::cuda::fake
