// Products by cuBLASLt, with a library of plain functions in its place: layouts, batches, what it refuses, errors.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cuda/blas.h"
#include "fake_driver.h"

namespace weft::cuda {
namespace {

struct Layout {
  int type = 0;
  std::int64_t rows = 0, columns = 0, step = 0, batch = 1, batch_stride = 0;
};
struct Operation {
  int compute = 0, scale = 0;
  bool turned[2] = {};
};
struct Library {
  int alive = 0, chosen = 0, failing = 0, found = 1, created = 0, starts = 0;
  std::uint32_t alignment[4] = {};
} library;

BlasTable fake_table() {
  BlasTable t;
  t.create = [](void** h) { return ++library.created, *h = &library, library.starts; };
  t.operation_create = [](void** o, int compute, int scale) {
    ++library.alive;
    return *o = new Operation{compute, scale, {}}, 0;
  };
  t.operation_set = [](void* o, int attribute, const void*, std::size_t) {
    static_cast<Operation*>(o)->turned[attribute - kBlasTransposeA] = true;
    return 0;
  };
  t.operation_destroy = [](void* o) { return --library.alive, delete static_cast<Operation*>(o), 0; };
  t.layout_create = [](void** l, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t step) {
    EXPECT_GE(step, std::int64_t(rows));
    ++library.alive;
    return *l = new Layout{type, std::int64_t(rows), std::int64_t(columns), step, 1, 0}, 0;
  };
  t.layout_set = [](void* l, int attribute, const void* value, std::size_t size) {
    auto* layout = static_cast<Layout*>(l);
    if (attribute == kBlasBatchCount)
      layout->batch = *static_cast<const std::int32_t*>(value);
    else
      std::memcpy(&layout->batch_stride, value, size);
    return 0;
  };
  t.layout_destroy = [](void* l) { return --library.alive, delete static_cast<Layout*>(l), 0; };
  t.preference_create = [](void** p) { return ++library.alive, *p = new int, 0; };
  t.preference_set = [](void*, int attribute, const void* value, std::size_t) {
    if (attribute >= kBlasAlignmentA)
      library.alignment[attribute - kBlasAlignmentA] = *static_cast<const std::uint32_t*>(value);
    return 0;
  };
  t.preference_destroy = [](void* p) { return --library.alive, delete static_cast<int*>(p), 0; };
  t.choose = [](void*, void*, void*, void*, void*, void*, void*, int, BlasChoice* choice, int* found) {
    ++library.chosen;
    choice->workspace = 64;
    *found = library.found;
    return library.found ? 0 : 15;
  };
  t.multiply = [](void*, void* o, const void* alpha, const void* a, void* al, const void* b, void* bl, const void* beta,
                  const void* c, void* cl, void* d, void* dl, const BlasAlgorithm*, void* workspace, std::size_t bytes,
                  StreamHandle) {
    if (library.failing) return library.failing;
    EXPECT_TRUE(workspace && bytes == 64);
    const auto& op = *static_cast<Operation*>(o);
    const Layout &la = *static_cast<Layout*>(al), &lb = *static_cast<Layout*>(bl), &lc = *static_cast<Layout*>(cl),
                 &ld = *static_cast<Layout*>(dl);
    const std::int64_t inner = op.turned[0] ? la.rows : la.columns;
    EXPECT_EQ(inner, op.turned[1] ? lb.columns : lb.rows);
    EXPECT_EQ(op.turned[0] ? la.columns : la.rows, ld.rows);
    auto value = [](const void* p, const Layout& l, std::int64_t batch, std::int64_t i, std::int64_t j, bool turned) {
      if (turned) std::swap(i, j);
      return static_cast<const double*>(p)[batch * l.batch_stride + j * l.step + i];
    };
    for (std::int64_t n = 0; n < ld.batch; ++n)
      for (std::int64_t i = 0; i < ld.rows; ++i)
        for (std::int64_t j = 0; j < ld.columns; ++j) {
          double s = 0;
          for (std::int64_t k = 0; k < inner; ++k)
            s += value(a, la, n, i, k, op.turned[0]) * value(b, lb, n, k, j, op.turned[1]);
          s *= *static_cast<const double*>(alpha);
          if (const double factor = *static_cast<const double*>(beta)) s += factor * value(c, lc, n, i, j, false);
          static_cast<double*>(d)[n * ld.batch_stride + j * ld.step + i] = s;
        }
    return 0;
  };
  return t;
}

class Products : public testing::Test {
 protected:
  void SetUp() override { library = {}; }
  System system{fake::open()};
  Device& device = system.device(0);
  Blas blas{fake_table()};
  std::mt19937 random{3};

  /// Matrices whose elements lie with these strides (in elements).
  BlasMatrix matrix(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column,
                    std::int64_t batch = 0, std::int64_t count = 1) {
    const std::int64_t numbers = (rows - 1) * row + (columns - 1) * column + (count - 1) * batch + 1;
    memory.push_back(device.allocate(std::uint64_t(numbers) * 8, false));
    auto* data = static_cast<double*>(memory.back().get());
    for (std::int64_t i = 0; i < numbers; ++i) data[i] = double(random() % 9) - 4;
    return {reinterpret_cast<DevicePtr>(data), rows, columns, row * 8, column * 8, batch * 8};
  }
  static double& at(const BlasMatrix& m, std::int64_t batch, std::int64_t i, std::int64_t j) {
    return *reinterpret_cast<double*>(m.data +
                                      std::uint64_t(batch * m.batch_stride + i * m.row_stride + j * m.column_stride));
  }
  void check(BlasRequest request) {
    std::vector<double> expected;
    for (std::int64_t n = 0; n < request.batch; ++n)
      for (std::int64_t i = 0; i < request.d.rows; ++i)
        for (std::int64_t j = 0; j < request.d.columns; ++j) {
          double s = 0;
          for (std::int64_t k = 0; k < request.a.columns; ++k) s += at(request.a, n, i, k) * at(request.b, n, k, j);
          s *= request.alpha;
          if (request.beta != 0.0) s += request.beta * at(request.c, n, i, j);
          expected.push_back(s);
        }
    ASSERT_TRUE(blas.multiply(device, request));
    std::size_t k = 0;
    for (std::int64_t n = 0; n < request.batch; ++n)
      for (std::int64_t i = 0; i < request.d.rows; ++i)
        for (std::int64_t j = 0; j < request.d.columns; ++j) ASSERT_EQ(at(request.d, n, i, j), expected[k++]);
    EXPECT_EQ(library.alive, 0);
  }
  std::vector<std::shared_ptr<void>> memory;
};

TEST_F(Products, RowsAndColumnsInEveryOrder) {
  for (auto a : {matrix(3, 4, 4, 1), matrix(3, 4, 1, 3), matrix(3, 4, 9, 1), matrix(3, 4, 1, 7)})
    for (auto b : {matrix(4, 5, 5, 1), matrix(4, 5, 1, 4), matrix(4, 5, 1, 6)}) {
      ASSERT_TRUE(blas_takes(a, 8, false) && blas_takes(b, 8, false));
      check({ScalarKind::f64, a, b, matrix(3, 5, 8, 1), matrix(3, 5, 6, 1), 1, 2.0, -1.0});
      check({ScalarKind::f64, a, b, {}, matrix(3, 5, 5, 1), 1, 1.0, 0.0});
    }
}

TEST_F(Products, VectorsHaveNoUsefulStride) {
  check({ScalarKind::f64, matrix(1, 4, 0, 1), matrix(4, 1, 1, 0), {}, matrix(1, 1, 0, 0), 1, 1.0, 0.0});
  check({ScalarKind::f64, matrix(3, 1, 2, 5), matrix(1, 4, 0, 3), {}, matrix(3, 4, 4, 1), 1, 1.0, 0.0});
}

TEST_F(Products, BatchesAndMatricesThatAreShared) {
  check({ScalarKind::f64, matrix(2, 3, 3, 1, 6, 4), matrix(3, 2, 1, 3, 6, 4), matrix(2, 2, 2, 1, 4, 4),
         matrix(2, 2, 2, 1, 5, 4), 4, 1.0, 1.0});
  check(
      {ScalarKind::f64, matrix(2, 3, 3, 1, 0, 4), matrix(3, 2, 2, 1, 6, 4), {}, matrix(2, 2, 2, 1, 4, 4), 4, 1.0, 0.0});
}

TEST_F(Products, WhatTheLibraryDoesNotTake) {
  EXPECT_FALSE(blas_takes(matrix(3, 4, 8, 2), 8, false));
  EXPECT_FALSE(blas_takes(matrix(3, 4, 1, 3), 8, true));
  EXPECT_FALSE(blas_takes({64, 3, 4, -32, 8, 0}, 8, false));
  EXPECT_FALSE(blas_takes({64, 3, 4, 0, 8, 0}, 8, false));  // one row for all
  EXPECT_FALSE(blas_takes({64, 3, 4, 32, 8, -96}, 8, false));
}

TEST_F(Products, AlgorithmsAreChosenOnce) {
  auto a = matrix(3, 4, 4, 1), b = matrix(4, 5, 5, 1), d = matrix(3, 5, 5, 1);
  for (int k = 0; k < 3; ++k) check({ScalarKind::f64, a, b, {}, d, 1, 1.0 + k, 0.0});
  EXPECT_EQ(library.chosen, 1);
  EXPECT_EQ(library.alignment[0], 256u);
  b.data += 8;
  b.rows = 3;
  a.columns = 3;
  ASSERT_TRUE(blas.multiply(device, {ScalarKind::f64, a, b, {}, d, 1, 1.0, 0.0}));
  EXPECT_EQ(library.chosen, 2);
  EXPECT_EQ(library.alignment[0], 8u);
}

TEST_F(Products, ALibraryThatDoesNotStart) {
  const auto a = matrix(2, 2, 2, 1), d = matrix(2, 2, 2, 1);
  const BlasRequest request{ScalarKind::f64, a, a, {}, d, 1, 1.0, 0.0};
  library.starts = 3;  // there is no memory now: that may change
  EXPECT_THROW(blas.multiply(device, request), runtime::Error);
  library.starts = 1;  // it is newer than the driver: that won't
  EXPECT_FALSE(blas.multiply(device, request));
  library.starts = 0;
  EXPECT_FALSE(blas.multiply(device, request));
  EXPECT_EQ(library.created, 2) << "it is not tried again";
  Blas other{fake_table()};
  EXPECT_TRUE(other.multiply(device, request));
}

TEST_F(Products, RefusalsAndErrors) {
  auto a = matrix(2, 2, 2, 1), d = matrix(2, 2, 2, 1);
  library.found = 0;
  EXPECT_FALSE(blas.multiply(device, {ScalarKind::f64, a, a, {}, d, 1, 1.0, 0.0}));
  library.found = 1;
  library.failing = 13;
  EXPECT_THROW(blas.multiply(device, {ScalarKind::f64, a, a, {}, d, 1, 1.0, 0.0}), runtime::Error);
  EXPECT_EQ(library.alive, 0);
  std::string problem;
  EXPECT_EQ(open_blas("libthere_is_no_such_thing.so", &problem), nullptr);
  EXPECT_FALSE(problem.empty());
  EXPECT_EQ(open_blas("libm.so.6", &problem), nullptr);
  EXPECT_NE(problem.find("lacks"), std::string::npos);
}

}  // namespace
}  // namespace weft::cuda
