// Products of matrices by cuBLASLt, opened at run time where there is one: a toolkit's, PyTorch's or another package's from
// PyPI. Without it, and for what it refuses, callers multiply by a kernel of their own.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "cuda/device.h"
#include "types/type.h"

namespace weft::cuda {

// Types and constants of the library's binary interface, unchanged since CUDA 11.
struct BlasAlgorithm {
  std::uint64_t data[8] = {};
};
struct BlasChoice {
  BlasAlgorithm algorithm;
  std::size_t workspace = 0;
  int state = 0;
  float waves = 0;
  int reserved[4] = {};
};
static_assert(sizeof(BlasChoice) == 96);
inline constexpr int kBlasTransposeA = 3, kBlasTransposeB = 4, kBlasBatchCount = 5, kBlasBatchStride = 6,
                     kBlasMaxWorkspace = 1, kBlasAlignmentA = 5, kBlasTransposed = 1, kBlasFloat16 = 2,
                     kBlasBfloat16 = 14, kBlasFloat32 = 0, kBlasFloat64 = 1, kBlasComputeFloat32 = 68,
                     kBlasComputeFloat64 = 70;

/// The entry points; see blas_functions.def.
struct BlasTable {
#define WEFT_LT(name, symbol, parameters) int(*name) parameters = nullptr;
#include "cuda/blas_functions.def"
#undef WEFT_LT
};

/// A matrix, or as many as the batch has; strides in bytes.
struct BlasMatrix {
  DevicePtr data = 0;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0, batch_stride = 0;
};

/// d[i] = alpha · a[i] · b[i] + beta · c[i]. c may be d.
struct BlasRequest {
  ScalarKind kind = ScalarKind::f32;
  BlasMatrix a, b, c, d;
  std::int64_t batch = 1;
  double alpha = 1.0, beta = 0.0;
};

/// Whether the library takes a matrix as it lies: rows or columns are packed, and follow each other forwards. Results (c
/// and d) have packed rows.
bool blas_takes(const BlasMatrix& matrix, std::size_t element_size, bool result);

class Blas {
 public:
  explicit Blas(const BlasTable& table) : table_(table) {}
  /// The process's own, opened on the first call: the first of these files that can be, then the library's usual names.
  /// Null if there is none.
  static Blas* shared(const std::vector<std::string>& files);

  /// Queues a product on the device's current stream; false if the library has no way for it. The matrices must be ones that
  /// blas_takes. float16, bfloat16, float32, float64; sums of 16-bit floats are float32.
  bool multiply(Device& device, const BlasRequest& request);

 private:
  /// What decides which algorithm is taken.
  using Key = std::tuple<int, int, std::vector<std::int64_t>>;
  /// Null if the library does not start on the device: it may be newer than the driver.
  void* handle(Device& device);

  const BlasTable table_;
  std::mutex mutex_;                        // guards the rest
  std::map<ContextHandle, void*> handles_;  // null: it does not start there
  std::map<Key, BlasChoice> chosen_;
};

/// Opens a library; null with the reason in `problem` if it can't be or lacks an entry.
const BlasTable* open_blas(const char* file, std::string* problem);

}  // namespace weft::cuda
