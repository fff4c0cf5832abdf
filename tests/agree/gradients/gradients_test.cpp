// Adjoints of random kernels at several lane counts and on a GPU: taped launch, then the adjoint that reads what it wrote down. All
// executors must give the gradients of the interpreter, up to the order in which threads add.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cuda/device.h"
#include "driver/kernel_family.h"
#include "random_differentiable.h"
#include "runtime/tape_log.h"
#include "sema/file_scope.h"
#include "syntax/parser.h"

namespace weft::driver {
namespace {

constexpr std::int64_t kThreads = 19;

struct Data {
  std::vector<double> x, y, out, x_grad, y_grad, out_grad;
  std::vector<int> n;

  Data()
      : x(kThreads), y(kThreads), out(kThreads), x_grad(kThreads), y_grad(kThreads), out_grad(kThreads), n(kThreads) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double t = double(k);
      x[k] = 0.3 + 0.4 * std::sin(1.7 * t);
      y[k] = 0.2 + 0.5 * std::cos(2.3 * t);
      out[k] = 0.4 * std::sin(0.9 * t);
      out_grad[k] = 0.5 + std::cos(3.1 * t);
      n[k] = int(k * 5 % 7);
    }
  }
};

ArrayDesc desc_of(void* data, void* grad, std::int64_t size) {
  ArrayDesc desc;
  desc.data = data;
  desc.grad = grad;
  desc.ndim = 1;
  desc.shape[0] = kThreads;
  desc.strides[0] = size;
  return desc;
}

/// A vector in the memory of a GPU, or itself on the CPU (a null device).
class Mirror {
 public:
  template <class T>
  Mirror(std::vector<T>& of, cuda::Device* device) : bytes_(of.size() * sizeof(T)), host_(of.data()) {
    if (!device) return;
    there_ = runtime::Array::empty(types::scalar(ScalarKind::u8), {bytes_}, false, device);
    there_.assign(here());
  }
  void* data() const { return there_.is_valid() ? there_.data() : host_; }
  void take_back() {
    if (there_.is_valid()) here().assign(there_);
  }

 private:
  runtime::Array here() const {
    runtime::Array::External memory;
    memory.data = host_;
    return runtime::Array::wrap(types::scalar(ScalarKind::u8), {bytes_}, std::move(memory));
  }
  std::int64_t bytes_;
  void* host_;
  runtime::Array there_;
};

/// Runs the taped form and its adjoint; gives the gradients.
Data gradients(const std::shared_ptr<const sema::FunctionDecl>& decl, int lanes, bool interpret,
               cuda::Device* device = nullptr) {
  CompileOptions options;
  options.lanes = lanes;
  options.opt_level = 1;
  options.use_cache = false;
  KernelFamily family(decl, options, {}, interpret);
  DiagnosticSink sink;
  const auto* params = family.params(sink);
  EXPECT_TRUE(params) << sink.render_all();
  std::vector<const Type*> types;
  for (const sema::KernelParam& p : *params) types.push_back(p.pattern.type);
  KernelSignature& signature = family.signature(types);
  Data data;
  const ParamLayout layout = log_layout(signature.layout);
  std::vector<std::uint64_t> block(layout.size / 8 + 1);
  char* bytes = reinterpret_cast<char*>(block.data());
  Mirror x(data.x, device), y(data.y, device), n(data.n, device), out(data.out, device), x_grad(data.x_grad, device),
      y_grad(data.y_grad, device), out_grad(data.out_grad, device);
  const ArrayDesc descs[] = {desc_of(x.data(), x_grad.data(), 8), desc_of(y.data(), y_grad.data(), 8),
                             desc_of(n.data(), nullptr, 4), desc_of(out.data(), out_grad.data(), 8)};
  for (std::size_t k = 0; k < 4; ++k) std::memcpy(bytes + layout.params[k].offset, &descs[k], sizeof descs[k]);
  ArrayFacts form = array_facts(signature.layout, bytes);
  const TapeFacts& facts = family.tape_facts(signature, 1, form);
  EXPECT_EQ(facts.problem, "");
  runtime::TapeLog log;
  if (!facts.log.empty()) {
    form.taped = true;
    log = runtime::TapeLog(facts.log.fixed_words, facts.log.page_words, kThreads, device);
    ArrayDesc logs[runtime::TapeLog::kArrays];
    log.write_descs(logs);
    for (std::size_t k = 0; k < runtime::TapeLog::kArrays; ++k)
      std::memcpy(bytes + layout.params[4 + k].offset, &logs[k], sizeof logs[k]);
  }
  const std::int64_t dims[] = {kThreads};
  for (bool adjoint : {false, true}) {
    form.adjoint = adjoint;
    const KernelVariant* variant = family.variant(signature, 1, form, {}, sink, device);
    EXPECT_TRUE(variant) << sink.render_all();
    if (!variant) return data;
    family.run(*variant, bytes, {dims, {}});
    if (!adjoint) log.finish();
  }
  if (device) device->synchronize();
  for (Mirror* one : {&out, &x_grad, &y_grad, &out_grad}) one->take_back();
  return data;
}

void expect_near(const std::vector<double>& want, const std::vector<double>& got, const char* what,
                 const std::string& where) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    if (std::isnan(want[k]) && std::isnan(got[k])) continue;
    ASSERT_NEAR(want[k], got[k], 1e-9 * std::max(1.0, std::abs(want[k]))) << what << "[" << k << "] " << where;
  }
}

void expect_near(const Data& want, const Data& got, const std::string& where) {
  expect_near(want.out, got.out, "out", where);
  expect_near(want.x_grad, got.x_grad, "x.grad", where);
  expect_near(want.y_grad, got.y_grad, "y.grad", where);
  expect_near(want.out_grad, got.out_grad, "out.grad", where);
}

/// Compares random kernels at several lane counts, or on a GPU alone.
void compare_random_kernels(cuda::Device* device) {
  const char* asked = std::getenv("WEFT_GRADIENT_COUNT");
  const int count = asked ? std::atoi(asked) : 40;
  for (int seed = 0; seed < count; ++seed) {
    const std::string text = "import warp as wp\nd = wp.float64\n" +
                             autodiff::test::RandomDifferentiable(std::uint32_t(seed) + 5000).kernel();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    DiagnosticSink sink;
    auto tree = syntax::parse(std::make_shared<SourceFile>("random.py", text), sink);
    auto scope = sema::FileScope::make(tree, sink);
    auto decl = scope->find_kernel("k");
    ASSERT_TRUE(decl) << sink.render_all();
    const Data want = gradients(decl, 1, true);
    if (device) expect_near(want, gradients(decl, 0, false, device), "on the GPU");
    for (int lanes : {1, 4, 0})
      if (!device) expect_near(want, gradients(decl, lanes, false), "at " + std::to_string(lanes) + " lanes");
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Gradients, LanesAgreeWithTheInterpreter) { compare_random_kernels(nullptr); }

TEST(Gradients, TheGpuAgreesWithTheInterpreter) {
  cuda::System& system = cuda::System::shared();
  if (!system.available() || system.device_count() == 0) GTEST_SKIP() << "there is no CUDA device";
  compare_random_kernels(&system.device(0));
}

}  // namespace
}  // namespace weft::driver
