// Prefix sums by one walk over memory: a block scans its tile, learns what precedes it (tile_prefix.h) and writes. The
// order of additions is fixed, so results are the same in every run. A warp takes neighbouring numbers, in rows of 32 or,
// where they are packed, of 32 128-bit accesses: each lane then adds up its few numbers alone, and there are fewer rows to
// scan.
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/tile_prefix.h"

namespace weft::algorithms::gpu {
namespace {

class Scan {
 public:
  Scan(const std::string& name, ScalarKind kind, bool inclusive, bool packed, const ScanShape& shape)
      : k(name, sizeof(ScanArguments), shape.threads, shape.resident),
        kind_(kind),
        number_(number_text(kind)),
        inclusive_(inclusive),
        packed_(packed),
        width_(packed ? vector_length(number_) : 1),
        rows_(scan_items(shape, kind) / width_),
        warps_(shape.threads / 32),
        tile_(shape.threads * scan_items(shape, kind)) {}

  std::string text() {
    const std::string sums = k.shared("sums", std::size_t(warps_ * number_.sum_bytes));
    tile_number_ = take_tile(k, kScanPrefixes);
    load_rows();
    scan_rows();

    // The first warp: prefix sums of the warps' sums, and what precedes the tile.
    const std::string add = "add." + number_.type, others = k.label();
    const Reg sums_at = k("mov.u32", sums);
    const Reg of_warp = k("mad.lo.u32", k.warp(), number_.sum_bytes, sums_at);
    k.when(k("setp.eq.u32", k.lane(), 31)).run("st.shared." + number_.type, at(of_warp), warp_sum_);
    k.barrier();
    k.when(k("setp.ne.u32", k.warp(), 0)).jump(others);
    const Reg mine = k("mad.lo.u32", k.lane(), number_.sum_bytes, sums_at);
    const Reg has_one = k("setp.lt.u32", k.lane(), warps_), one = k("mov." + number_.type, number_.zero);
    k.when(has_one).set(one, "ld.shared." + number_.type, at(mine));
    const Reg up_to = scan_lanes(k, number_, one);
    const Reg sum = shuffled(k, number_.sum_bytes, "idx", up_to, 31);
    const Reg prefix = tile_prefix(k, number_, tile_number_, sum, kScanPrefixes);
    const Reg before = k(add, prefix, lanes_before(k, number_, up_to));
    k.when(has_one).run("st.shared." + number_.type, at(mine), before);
    k.place(others);
    k.barrier();
    write_rows(k("ld.shared." + number_.type, at(of_warp)));
    return k.text();
  }

 private:
  Reg& value(int row, int n) { return values_[std::size_t(row * width_ + n)]; }
  std::string vector_of(int row) { return group(values_, std::size_t(row * width_), std::size_t(width_)); }

  void load_rows() {
    const Reg start = k("mul.wide.u32", tile_number_, tile_);
    const Reg left = k("min.u64", k("sub.u64", k("ld.param.u64", at("args", 32)), start), tile_);
    const Reg in_tile = k("mad.lo.u32", k.warp(), 32 * rows_ * width_, k("mul.lo.u32", k.lane(), width_));
    full_ = k("setp.eq.u64", left, tile_);
    left_ = k("sub.u32", k("cvt.u32.u64", left), in_tile);
    first_ = k("add.u64", start, k("cvt.u64.u32", in_tile));
    values_ = k.regs(rows_ * width_, number_.sum_bytes * 8);
    move_rows(
        16, 0,
        [&](const std::string& place, int row) {
          k.run("ld.global.v" + std::to_string(width_) + "." + number_.memory, vector_of(row), place);
        },
        [&](const std::string& place, const Reg& there, int row, int n) {
          k.set(value(row, n), "mov." + number_.type, number_.zero);
          load_number(k, kind_, value(row, n), place, there);
        });
  }

  /// Goes over the places of the lane's numbers, whose stride and start are such arguments: in whole tiles of packed numbers
  /// by vectors, else one by one, told whether there is such a number. The last tile is what all others are done before, so
  /// its way is short.
  void move_rows(int stride_at, int start_at, const auto& vector, const auto& single) {
    const Reg stride = k("ld.param.u64", at("args", stride_at));
    const Reg place = k("mad.lo.s64", first_, stride, k("ld.param.u64", at("args", start_at)));
    const std::string part = k.label(), done = k.label();
    if (packed_) {
      k.unless(full_).jump(part);
      for (int r = 0; r < rows_; ++r) vector(at(place, 32 * r * 16), r);
      k.jump(done);
      k.place(part);
    }
    const Reg step = k("shl.b64", stride, 5);  // packed numbers need none
    for (int r = 0; r < rows_; ++r) {
      for (int n = 0; n < width_; ++n) {
        const int index = 32 * r * width_ + n;
        const Reg there = k("setp.gt.s32", left_, index);
        single(packed_ ? at(place, index * number_.bytes) : at(place), there, r, n);
      }
      if (!packed_) k.set(place, "add.s64", place, step);
    }
    k.place(done);
  }

  /// What precedes each lane's numbers of a row in the warp; the sum of all.
  void scan_rows() {
    const std::string add = "add." + number_.type;
    std::vector<Reg> scanned;
    for (int r = 0; r < rows_; ++r) {
      Reg own = value(r, 0);
      for (int n = 1; n < width_; ++n) own = k(add, own, value(r, n));
      scanned.push_back(scan_lanes(k, number_, own));
    }
    Reg rows_before = k("mov." + number_.type, number_.zero);
    for (int r = 0; r < rows_; ++r) {
      before_.push_back(k(add, rows_before, lanes_before(k, number_, scanned[std::size_t(r)])));
      rows_before = k(add, rows_before, shuffled(k, number_.sum_bytes, "idx", scanned[std::size_t(r)], 31));
    }
    warp_sum_ = rows_before;
  }

  void write_rows(const Reg& warp_before) {
    const std::string add = "add." + number_.type;
    for (int r = 0; r < rows_; ++r) {
      Reg sum = k(add, warp_before, before_[std::size_t(r)]);
      for (int n = 0; n < width_; ++n) {
        const Reg next = k(add, sum, value(r, n));
        value(r, n) = inclusive_ ? next : sum;
        sum = next;
      }
    }
    move_rows(
        24, 8,
        [&](const std::string& place, int row) {
          k.run("st.global.v" + std::to_string(width_) + "." + number_.memory, place, vector_of(row));
        },
        [&](const std::string& place, const Reg& there, int row, int n) {
          store_number(k, kind_, value(row, n), place, there);
        });
  }

  PtxKernel k;
  ScalarKind kind_;
  NumberText number_;
  bool inclusive_, packed_;
  int width_, rows_, warps_, tile_;                   // numbers of a lane in a row
  Reg tile_number_, full_, first_, left_, warp_sum_;  // how many numbers the tile has from the lane's first one on
  std::vector<Reg> values_, before_;
};

}  // namespace

std::string scan_ptx(const std::string& name, ScalarKind kind, bool inclusive, bool packed, const ScanShape& shape) {
  return Scan(name, kind, inclusive, packed, shape).text();
}

}  // namespace weft::algorithms::gpu
