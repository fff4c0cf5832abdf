// Sums, prefix sums, sorting, matrix products and DLPack capsules of arrays on CUDA devices, for Python's utilities, which
// check arguments.
#include "bind/graph_journal.h"
#include "cuda/algorithms/algorithms.h"
#include "cuda/blas.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

using runtime::Array;

cuda::DevicePtr address(const Array& array, std::int64_t offset = 0) {
  return reinterpret_cast<cuda::DevicePtr>(array.data()) + std::uint64_t(offset);
}

/// The device that all of the arrays lie on; a graph that is being captured there keeps them.
cuda::Device& device_of(std::initializer_list<const Array*> arrays) {
  auto kept = std::make_shared<std::vector<Array>>();
  cuda::Device* device = nullptr;
  for (const Array* one : arrays) {
    if (!one->is_valid() || one->on_host() || (device && one->space() != device))
      throw runtime::ArgumentError("the arrays must lie on one CUDA device");
    device = dynamic_cast<cuda::Device*>(one->space());
    kept->push_back(*one);
  }
  if (device->capture()) {
    note_other("a sum, prefix sum, sort or matrix product");
    device->keep_for_capture(kept);
  }
  return *device;
}

void scan_array(const Array& in, const Array& out, std::int64_t component, bool inclusive) {
  cuda::Device& device = device_of({&in, &out});
  const Type* scalar = types::scalar(out.element()->scalar_kind());
  const std::int64_t offset = component * std::int64_t(scalar->size());
  cuda::scan(device, {scalar->scalar_kind(), address(in, offset), address(out, offset), in.strides()[0],
                      out.strides()[0], out.size(), inclusive});
}

void sort_arrays(const Array& keys, const Array& values, std::int64_t count, int begin_bit, int end_bit) {
  cuda::Device& device = device_of({&keys, &values});
  const std::int64_t key = std::int64_t(keys.element()->size()), value = std::int64_t(values.element()->size());
  if (!keys.is_contiguous() || !values.is_contiguous() || keys.size() < 2 * count || values.size() < 2 * count ||
      (value != 4 && value != 8))
    throw runtime::ArgumentError(
        "sorted arrays are packed, with room for as many elements again, and values of 4 or 8 bytes");
  cuda::sort(device, {keys.element()->scalar_kind(), int(value), address(keys), address(values),
                      address(keys, count * key), address(values, count * value), count, begin_bit, end_bit});
}

void sum_array(const Array& a, const ArrayObject* b, const Array& out, std::int64_t outer, std::int64_t length,
               std::int64_t inner) {
  cuda::Device& device = b ? device_of({&a, &b->array, &out}) : device_of({&a, &out});
  cuda::sum(device,
            {out.element()->scalar_kind(), address(a), b ? address(b->array) : 0, address(out), outer, length, inner});
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
  cuda::Device& device = c ? device_of({&a, &b, &c->array, &d}) : device_of({&a, &b, &d});
  cuda::Blas* blas = cuda::Blas::shared(files);
  if (!blas) return 0;
  cuda::BlasRequest request{d.element()->scalar_kind(), matrix_of(a), matrix_of(b), {}, matrix_of(d), 1, alpha, beta};
  if (c) request.c = matrix_of(c->array);
  if (d.rank() == 3) request.batch = d.extent(0);
  const std::size_t size = d.element()->size();
  const int unfit = (blas_takes(request.a, size, false) ? 0 : 1) | (blas_takes(request.b, size, false) ? 0 : 2) |
                    (!c || blas_takes(request.c, size, true) ? 0 : 4) | (blas_takes(request.d, size, true) ? 0 : 8);
  if (unfit) return unfit;
  return blas->multiply(device, request) ? kMultiplied : 0;
}

/// What a DLPack capsule points to, as far as it is needed here; see cuda_dlpack.py for the rest.
struct ManagedTensor {
  unsigned char tensor[48];
  void* context;
  void (*deleter)(ManagedTensor*);
};

/// A capsule that nobody took (its name would be another one) gives the memory back. It may be dropped while an exception
/// is under way.
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (managed->deleter) managed->deleter(managed);
  PyErr_Restore(type, value, trace);
}

}  // namespace

void register_cuda_algorithms(nb::module_& m) {
  m.def("cuda_scan", [](const ArrayObject& in, const ArrayObject& out, std::int64_t component, bool inclusive) {
    scan_array(in.array, out.array, component, inclusive);
  });
  m.def("cuda_sort", [](const ArrayObject& keys, const ArrayObject& values, std::int64_t count, int begin, int end) {
    sort_arrays(keys.array, values.array, count, begin, end);
  });
  m.def(
      "cuda_sum",
      [](const ArrayObject& a, const ArrayObject* b, const ArrayObject& out, std::int64_t outer, std::int64_t length,
         std::int64_t inner) { sum_array(a.array, b, out.array, outer, length, inner); },
      nb::arg("a"), nb::arg("b").none(), nb::arg("out"), nb::arg("outer"), nb::arg("length"), nb::arg("inner"));
  m.def(
      "cuda_matmul",
      [](const ArrayObject& a, const ArrayObject& b, const ArrayObject* c, const ArrayObject& d, double alpha,
         double beta,
         const std::vector<std::string>& files) { return multiply(a.array, b.array, c, d.array, alpha, beta, files); },
      nb::arg("a"), nb::arg("b"), nb::arg("c").none(), nb::arg("d"), nb::arg("alpha"), nb::arg("beta"),
      nb::arg("files"));
  m.def("dlpack_capsule", [](std::uintptr_t managed) {
    return nb::steal(PyCapsule_New(reinterpret_cast<void*>(managed), "dltensor", &drop_capsule));
  });
}

}  // namespace weft::bind
