// Sums, prefix sums and sorts of arrays on every device, matrix products and DLPack capsules of those on CUDA devices: for
// Python's utilities, which check arguments.
#include "algorithms/arrays.h"

#include "bind/graph_journal.h"
#include "cuda/blas.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

using runtime::Array;

cuda::DevicePtr address(const Array& array) { return reinterpret_cast<cuda::DevicePtr>(array.data()); }

/// While a graph is captured on the device of these arrays, it keeps them.
void keep_for_capture(cuda::Device* device, std::initializer_list<const Array*> arrays) {
  if (!device || !device->capture()) return;
  note_other("a sum, prefix sum, sort or matrix product");
  auto kept = std::make_shared<std::vector<Array>>();
  for (const Array* one : arrays)
    if (one) kept->push_back(*one);
  device->keep_for_capture(kept);
}

/// Elements from which on work on the CPU lets other Python threads run.
constexpr std::int64_t kLong = 32 * 1024;

/// Runs an algorithm on these arrays. On the CPU it uses as many threads as launches do; Ctrl-C ends it if it is long.
template <class Work>
void run(std::initializer_list<const Array*> arrays, std::int64_t elements, const Work& work) {
  cuda::Device* device = algorithms::device_of(arrays);
  keep_for_capture(device, arrays);
  const auto call = [&](runtime::LaunchOptions options) {
    options.max_threads = launch_settings().max_threads;
    options.serial = options.max_threads == 1;
    work(options);
  };
  if (device || elements < kLong) return call({});
  run_released(call);
}

void scan_array(Array in, Array out, bool inclusive) {
  run({&in, &out}, out.size(), [&](const auto& options) { algorithms::scan_array(in, out, inclusive, options); });
}

void sum_array(Array a, Array b, Array out, std::int64_t outer, std::int64_t length, std::int64_t inner) {
  const Array* const factors = b.is_valid() ? &b : nullptr;
  run({&a, factors, &out}, a.size(),
      [&](const auto& options) { algorithms::sum_array(a, factors, out, outer, length, inner, options); });
}

Array array_or_none(const ArrayObject* object) { return object ? object->array : Array(); }
const Array* or_null(const Array& array) { return array.is_valid() ? &array : nullptr; }

void sort_array(Array keys, Array values, std::int64_t count, int begin_bit, int end_bit, Array begins, Array ends,
                Array order) {
  run({&keys, or_null(values), or_null(begins), or_null(ends), or_null(order)}, count, [&](const auto& options) {
    algorithms::sort_array(keys, or_null(values), {count, begin_bit, end_bit, or_null(begins), or_null(ends)},
                           or_null(order), options);
  });
}

std::int64_t encode_runs(Array values, Array run_values, Array run_lengths, Array run_count, std::int64_t count) {
  std::int64_t runs = 0;
  run({&values, &run_values, &run_lengths, or_null(run_count)}, count, [&](const auto& options) {
    runs = algorithms::encode_runs(values, run_values, &run_lengths, or_null(run_count), count, options).value_or(0);
  });
  return runs;
}

cuda::BlasMatrix matrix_of(const Array& array) {
  const int r = array.rank();
  return {address(array),
          array.extent(r - 2),
          array.extent(r - 1),
          array.strides()[std::size_t(r - 2)],
          array.strides()[std::size_t(r - 1)],
          r == 3 ? array.strides()[0] : 0};
}

constexpr int kMultiplied = -1;

/// Queues d = alpha · a · b + beta · c by cuBLASLt. kMultiplied: done; 0: there is no such library or it has no way; else
/// which arrays it needs packed, a bit each in this order.
int multiply(const Array& a, const Array& b, const ArrayObject* c, const Array& d, double alpha, double beta,
             const std::vector<std::string>& files) {
  cuda::Device* device = algorithms::device_of({&a, &b, c ? &c->array : nullptr, &d});
  if (!device) throw runtime::ArgumentError("the arrays must lie on one CUDA device");
  keep_for_capture(device, {&a, &b, c ? &c->array : nullptr, &d});
  cuda::Blas* blas = cuda::Blas::shared(files);
  if (!blas) return 0;
  cuda::BlasRequest request{d.element()->scalar_kind(), matrix_of(a), matrix_of(b), {}, matrix_of(d), 1, alpha, beta};
  if (c) request.c = matrix_of(c->array);
  if (d.rank() == 3) request.batch = d.extent(0);
  const std::size_t size = d.element()->size();
  const int unfit = (blas_takes(request.a, size, false) ? 0 : 1) | (blas_takes(request.b, size, false) ? 0 : 2) |
                    (!c || blas_takes(request.c, size, true) ? 0 : 4) | (blas_takes(request.d, size, true) ? 0 : 8);
  if (unfit) return unfit;
  return blas->multiply(*device, request) ? kMultiplied : 0;
}

}  // namespace

void register_algorithms(nb::module_& m) {
  m.def("scan_array", [](const ArrayObject& in, const ArrayObject& out, bool inclusive) {
    scan_array(in.array, out.array, inclusive);
  });
  m.def(
      "sum_array",
      [](const ArrayObject& a, const ArrayObject* b, const ArrayObject& out, std::int64_t outer, std::int64_t length,
         std::int64_t inner) { sum_array(a.array, array_or_none(b), out.array, outer, length, inner); },
      nb::arg("a"), nb::arg("b").none(), nb::arg("out"), nb::arg("outer"), nb::arg("length"), nb::arg("inner"),
      "Sums of packed numbers, or of products of two, over the middle one of three extents.");
  m.def(
      "sort_array",
      [](const ArrayObject& keys, const ArrayObject* values, std::int64_t count, int begin, int end,
         const ArrayObject* begins, const ArrayObject* ends, const ArrayObject* order) {
        sort_array(keys.array, array_or_none(values), count, begin, end, array_or_none(begins), array_or_none(ends),
                   array_or_none(order));
      },
      nb::arg("keys"), nb::arg("values").none(), nb::arg("count"), nb::arg("begin_bit"), nb::arg("end_bit"),
      nb::arg("begins").none(), nb::arg("ends").none(), nb::arg("order").none(),
      "Sorts pairs of any layout, all together or within segments; `order` takes where each came from.");
  m.def(
      "encode_runs",
      [](const ArrayObject& values, const ArrayObject& run_values, const ArrayObject& run_lengths,
         const ArrayObject* run_count, std::int64_t count) {
        return encode_runs(values.array, run_values.array, run_lengths.array, array_or_none(run_count), count);
      },
      nb::arg("values"), nb::arg("run_values"), nb::arg("run_lengths"), nb::arg("run_count").none(), nb::arg("count"),
      "Finds runs; gives how many there are, or 0 on a CUDA device where `run_count` takes that.");
  m.def(
      "cuda_matmul",
      [](const ArrayObject& a, const ArrayObject& b, const ArrayObject* c, const ArrayObject& d, double alpha,
         double beta,
         const std::vector<std::string>& files) { return multiply(a.array, b.array, c, d.array, alpha, beta, files); },
      nb::arg("a"), nb::arg("b"), nb::arg("c").none(), nb::arg("d"), nb::arg("alpha"), nb::arg("beta"),
      nb::arg("files"));
}

}  // namespace weft::bind
