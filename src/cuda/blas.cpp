// Opening cuBLASLt, and telling it about arrays. The library counts columns first: a product of matrices with packed rows
// is handed over turned around, dᵀ = bᵀ · aᵀ.
#include "cuda/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace weft::cuda {
namespace {

constexpr std::uint64_t kWorkspace = std::uint64_t(32) << 20;
constexpr std::size_t kKept = 1024;  // choices of algorithms
constexpr int kBlasNoMemory = 3;

[[noreturn]] void fail(const char* call, int status) {
  throw runtime::Error(std::string(call) + " failed: status " + std::to_string(status) + " of cuBLAS");
}

/// Something of the library's that is destroyed at the end.
class Owned {
 public:
  using Destroy = int (*)(void*);
  explicit Owned(Destroy destroy) : destroy_(destroy) {}
  ~Owned() {
    if (thing) destroy_(thing);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  void* thing = nullptr;

 private:
  Destroy destroy_;
};

int type_of(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::f16: return kBlasFloat16;
    case ScalarKind::bf16: return kBlasBfloat16;
    case ScalarKind::f64: return kBlasFloat64;
    default: return kBlasFloat32;
  }
}

/// A matrix as the library sees it: columns first, so that packed rows are columns of the transposed matrix.
struct Seen {
  std::int64_t rows, columns, step, batch_stride;
  bool turned;  // has to be transposed to be that
};

Seen seen(const BlasMatrix& m, std::int64_t size, bool result) {
  // With one row or one column the stride along it says nothing.
  const bool rows_packed = m.column_stride == size || m.columns == 1;
  const bool turned = !rows_packed && !result;
  const std::int64_t length = turned ? m.rows : m.columns, count = turned ? m.columns : m.rows;
  const std::int64_t stride = turned ? m.column_stride : m.row_stride;
  return {length, count, count == 1 ? length : stride / size, m.batch_stride / size, turned};
}

std::uint32_t alignment_of(DevicePtr p) { return std::uint32_t(std::min<DevicePtr>(256, p ? p & (~p + 1) : 256)); }

}  // namespace

bool blas_takes(const BlasMatrix& m, std::size_t element_size, bool result) {
  const auto size = std::int64_t(element_size);
  if (m.batch_stride % size != 0 || m.batch_stride < 0) return false;
  auto packed = [&](std::int64_t length, std::int64_t step, std::int64_t count, std::int64_t stride) {
    return (length == 1 || step == size) && (count == 1 || (stride % size == 0 && stride / size >= length));
  };
  if (packed(m.columns, m.column_stride, m.rows, m.row_stride)) return true;
  return !result && m.columns > 1 && m.column_stride != size &&
         packed(m.rows, m.row_stride, m.columns, m.column_stride);
}

const BlasTable* open_blas(const char* file, std::string* problem) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    *problem = why ? why : file;
    return nullptr;
  }
  auto table = std::make_unique<BlasTable>();
  auto find = [&](auto& entry, const char* symbol) {
    void* address = dlsym(library, symbol);
    if (!address) *problem = std::string(file) + " lacks " + symbol;
    std::memcpy(&entry, &address, sizeof address);
    return address != nullptr;
  };
  bool complete = true;
#define WEFT_LT(name, symbol, parameters) complete = find(table->name, #symbol) && complete;
#include "cuda/blas_functions.def"
#undef WEFT_LT
  return complete ? table.release() : nullptr;  // kept as long as the library, which is never closed
}

Blas* Blas::shared(const std::vector<std::string>& files) {
  static Blas* const opened = [&]() -> Blas* {
    std::vector<std::string> all = files;
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}) all.emplace_back(name);
    std::string problem;
    for (const std::string& file : all)
      if (const BlasTable* table = open_blas(file.c_str(), &problem)) return new Blas(*table);
    return nullptr;
  }();
  return opened;
}

void* Blas::handle(Device& device) {
  const auto known = handles_.find(device.context());
  if (known != handles_.end()) return known->second;
  void* made = nullptr;
  if (const int status = table_.create(&made)) {
    if (status == kBlasNoMemory) fail("cublasLtCreate", status);
    made = nullptr;
  }
  return handles_[device.context()] = made;
}

bool Blas::multiply(Device& device, const BlasRequest& request) {
  ContextScope scope(device);
  const bool wide = request.kind == ScalarKind::f64;
  const auto size = std::int64_t(types::scalar(request.kind)->size());
  const int type = type_of(request.kind);
  // The library's first factor is our second one.
  const Seen a = seen(request.b, size, false), b = seen(request.a, size, false);
  const BlasMatrix& given_c = request.beta != 0.0 ? request.c : request.d;
  const Seen c = seen(given_c, size, true), d = seen(request.d, size, true);
  const DevicePtr memory[] = {request.b.data, request.a.data, given_c.data, request.d.data};

  std::unique_lock lock(mutex_);
  void* const library = handle(device);
  if (!library) return false;
  Owned operation(table_.operation_destroy), preference(table_.preference_destroy);
  if (int status = table_.operation_create(&operation.thing, wide ? kBlasComputeFloat64 : kBlasComputeFloat32,
                                           wide ? kBlasFloat64 : kBlasFloat32))
    fail("cublasLtMatmulDescCreate", status);
  const int turned = kBlasTransposed;
  for (auto [one, attribute] : {std::pair(&a, kBlasTransposeA), std::pair(&b, kBlasTransposeB)})
    if (one->turned)
      if (int status = table_.operation_set(operation.thing, attribute, &turned, sizeof turned))
        fail("cublasLtMatmulDescSetAttribute", status);
  Owned layouts[] = {Owned(table_.layout_destroy), Owned(table_.layout_destroy), Owned(table_.layout_destroy),
                     Owned(table_.layout_destroy)};
  const Seen* const all[] = {&a, &b, &c, &d};
  std::vector<std::int64_t> numbers{request.batch};
  for (std::size_t k = 0; k < 4; ++k) {
    const Seen& m = *all[k];
    if (int status =
            table_.layout_create(&layouts[k].thing, type, std::uint64_t(m.rows), std::uint64_t(m.columns), m.step))
      fail("cublasLtMatrixLayoutCreate", status);
    if (request.batch > 1) {
      const auto count = std::int32_t(request.batch);
      if (table_.layout_set(layouts[k].thing, kBlasBatchCount, &count, sizeof count) ||
          table_.layout_set(layouts[k].thing, kBlasBatchStride, &m.batch_stride, sizeof m.batch_stride))
        return false;
    }
    numbers.insert(numbers.end(), {m.rows, m.columns, m.step, m.batch_stride, m.turned, alignment_of(memory[k])});
  }
  const Key key{device.ordinal(), type, std::move(numbers)};
  auto known = chosen_.find(key);
  if (known == chosen_.end()) {
    if (int status = table_.preference_create(&preference.thing)) fail("cublasLtMatmulPreferenceCreate", status);
    const std::uint64_t room = kWorkspace;
    table_.preference_set(preference.thing, kBlasMaxWorkspace, &room, sizeof room);
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t alignment = alignment_of(memory[k]);
      table_.preference_set(preference.thing, kBlasAlignmentA + k, &alignment, sizeof alignment);
    }
    BlasChoice choice;
    int found = 0;
    const int status = table_.choose(library, operation.thing, layouts[0].thing, layouts[1].thing, layouts[2].thing,
                                     layouts[3].thing, preference.thing, 1, &choice, &found);
    if (status != 0 || found == 0 || choice.state != 0) return false;
    if (chosen_.size() >= kKept) chosen_.clear();
    known = chosen_.emplace(key, choice).first;
  }
  const BlasChoice choice = known->second;
  lock.unlock();  // a program's allocator may wait for other threads, and those for this lock
  std::shared_ptr<void> workspace;
  if (choice.workspace) workspace = device.allocate(choice.workspace, false);
  const float alpha32 = float(request.alpha), beta32 = float(request.beta);
  const void* const alpha = wide ? static_cast<const void*>(&request.alpha) : &alpha32;
  const void* const beta = wide ? static_cast<const void*>(&request.beta) : &beta32;
  auto at = [&](std::size_t k) { return reinterpret_cast<void*>(memory[k]); };
  const int status = table_.multiply(library, operation.thing, alpha, at(0), layouts[0].thing, at(1), layouts[1].thing,
                                     beta, at(2), layouts[2].thing, at(3), layouts[3].thing, &choice.algorithm,
                                     workspace.get(), choice.workspace, device.stream()->handle());
  if (status) fail("cublasLtMatmul", status);
  return true;
}

}  // namespace weft::cuda
