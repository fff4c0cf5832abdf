// Handlers of XLA driven by call frames made by hand, without XLA: values, derivatives, batches, and frames that are wrong.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "driver/kernel_from_ir.h"
#include "driver/program_impl.h"
#include "interop/xla_handlers.h"
#include "sema/file_scope.h"
#include "syntax/parser.h"

namespace weft::interop {
namespace {

const char* kKernels = R"(
import warp as wp

@wp.kernel
def square(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * s

@wp.kernel
def turn(v: wp.array(dtype=wp.vec2), w: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    w[i] = wp.vec2(-v[i][1], v[i][0])

@wp.kernel
def power(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
    for k in range(3):
        y[i] = y[i] * y[i]

@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=(1, 40), offset=(i, 0))
    own = float(0.0)
    for k in range(lane, 40, wp.block_dim()):
        own += 1.0
    y[i] = wp.tile_sum(t * t)[0] + wp.tile_sum(wp.tile(own))[0]

@wp.kernel
def grow(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 3.0
)";

std::shared_ptr<driver::Kernel> kernel(const char* name, bool tangent = false) {
  static auto* kept = new std::deque<std::shared_ptr<driver::Kernel>>;
  static const std::shared_ptr<sema::FileScope> scope = [] {
    DiagnosticSink sink;
    auto source = std::make_shared<SourceFile>("xla.py", kKernels);
    auto made = sema::FileScope::make(syntax::parse(source, sink), sink);
    EXPECT_FALSE(sink.has_errors()) << sink.render_all();
    return made;
  }();
  driver::CompileOptions options;
  options.use_cache = false;
  options.tangent = tangent;
  kept->push_back(std::make_shared<driver::Kernel>(scope->find_kernel(name), options, Hash128{}, false));
  return kept->back();
}

/// A record that names a kernel, and the kernel with its signature.
struct Prepared {
  CallRecord record;
  std::shared_ptr<driver::Kernel> kernel;
  driver::KernelSignature* signature = nullptr;
};
Prepared prepare(const char* name, CallRecord record) {
  CallTable& table = CallTable::shared();
  if (!table.host.locked)
    table.host.locked = [](const std::function<void()>& work) {
      static std::recursive_mutex lock;  // as the interpreter's
      const std::lock_guard held(lock);
      work();
    };
  Prepared made;
  made.record = std::move(record);
  made.kernel = kernel(name, made.record.direction == Direction::tangent);
  DiagnosticSink sink;
  std::vector<const Type*> types;
  for (const sema::KernelParam& p : *made.kernel->params(sink)) types.push_back(p.pattern.type);
  made.signature = &made.kernel->signature(types);
  made.record.kernel = name;
  for (std::size_t i = 0; i < made.record.params.size(); ++i) made.record.params[i].type = types[i]->text();
  return made;
}

/// Makes a target of a record, as the binding does, and registers it. Returns the record's bytes.
std::string make_call(const char* name, CallRecord record) {
  Prepared made = prepare(name, std::move(record));
  std::unique_ptr<CallTarget> target = make_target(std::move(made.record), made.kernel, *made.signature);
  const std::string bytes = target->record.encode();
  target->digest = *digest_of(bytes);
  CallTable::shared().add(std::move(target));
  return bytes;
}

/// The same record with the kernel in it, which nobody registers.
CallRecord portable_record(const char* name, CallRecord record) {
  Prepared made = prepare(name, std::move(record));
  DiagnosticSink sink;
  made.record.portable = make_portable(*made.kernel, *made.signature, made.record, sink);
  EXPECT_FALSE(sink.has_errors()) << sink.render_all();
  return made.record;
}

CallParam value(float number) {
  CallParam p;
  p.value.assign(reinterpret_cast<const char*>(&number), reinterpret_cast<const char*>(&number) + sizeof number);
  return p;
}

CallParam array(Role role, int arg, int ret, int arg_dot = -1, int ret_dot = -1) {
  CallParam p;
  p.role = role;
  p.zeroed = role == Role::output;
  p.arg = std::int16_t(arg), p.ret = std::int16_t(ret);
  p.arg_dot = std::int16_t(arg_dot), p.ret_dot = std::int16_t(ret_dot);
  return p;
}

struct Failure {
  std::string text;
  xla::ErrorCode code;
};
xla::Error* create_error(xla::ErrorCreateArgs* args) {
  return reinterpret_cast<xla::Error*>(new Failure{args->message, args->code});
}

/// A call frame, made as XLA makes one.
class Frame {
 public:
  explicit Frame(std::string record) : record_(std::move(record)) {
    api_.struct_size = sizeof api_;
    api_.error_create = &create_error;
    frame_.struct_size = sizeof frame_;
    frame_.api = &api_;
    frame_.stage = xla::kExecute;
  }
  Frame& arg(std::vector<float>& data, std::vector<std::int64_t> dims) { return add(args_, data.data(), dims); }
  Frame& ret(std::vector<float>& data, std::vector<std::int64_t> dims) { return add(rets_, data.data(), dims); }
  Frame& arg(const Array& data, std::vector<std::int64_t> dims) { return add(args_, memory(data), dims); }
  Frame& ret(const Array& data, std::vector<std::int64_t> dims) { return add(rets_, memory(data), dims); }
  xla::Buffer& last() { return buffers_.back(); }
  xla::CallFrame& raw() { return frame_; }
  xla::Api& api() { return api_; }

  /// Empty: all went well.
  Failure run(XlaHandler handler = &launch_on_host) {
    types_.assign(std::max(args_.size(), rets_.size()) + 1, xla::kBufferArgument);
    frame_.arguments = {sizeof(xla::Arguments), nullptr, std::int64_t(args_.size()), types_.data(), args_.data()};
    frame_.results = {sizeof(xla::Arguments), nullptr, std::int64_t(rets_.size()), types_.data(), rets_.data()};
    array_ = {xla::kU8, record_.size(), record_.data()};
    attribute_ = &array_;
    name_ = {"weft", 4};
    names_ = &name_;
    kind_ = xla::kArrayAttribute;
    frame_.attributes = {sizeof(xla::Attributes), nullptr, 1, &kind_, &names_, &attribute_};
    std::unique_ptr<Failure> failed(reinterpret_cast<Failure*>(handler(&frame_)));
    return failed ? *failed : Failure{};
  }

 private:
  static float* memory(const Array& array) { return static_cast<float*>(array.internal()->array.data()); }
  Frame& add(std::vector<void*>& list, float* data, const std::vector<std::int64_t>& dims) {
    dims_.push_back(dims);
    buffers_.push_back({sizeof(xla::Buffer), nullptr, xla::kF32, data, std::int64_t(dims.size()), dims_.back().data()});
    list.push_back(&buffers_.back());
    return *this;
  }
  std::string record_;
  xla::Api api_{};
  xla::CallFrame frame_{};
  std::deque<xla::Buffer> buffers_;
  std::deque<std::vector<std::int64_t>> dims_;
  std::vector<void*> args_, rets_;
  std::vector<std::int32_t> types_;
  xla::ArrayValue array_{};
  void* attribute_ = nullptr;
  xla::ByteSpan name_{};
  xla::ByteSpan* names_ = nullptr;
  xla::AttributeType kind_{};
};

using Floats = std::vector<float>;

CallRecord square_record(std::int64_t n, int batch = 0) {
  CallRecord record;
  record.dims = {n};
  record.batch_rank = std::uint8_t(batch);
  record.params = {array(Role::input, 0, -1), value(2), array(Role::output, -1, 0)};
  return record;
}

TEST(XlaHandlers, RunsAKernelOnBuffers) {
  Floats x = {1, 2, 3}, y(3, 99);
  EXPECT_EQ(Frame(make_call("square", square_record(3))).arg(x, {3}).ret(y, {3}).run().text, "");
  EXPECT_EQ(y, (Floats{2, 8, 18}));
}

/// Lanes are neighbours in the last dimension that has several threads. An adjoint keeps the grid that its facts were found for.
TEST(XlaHandlers, GridsOnTheHostLoseLastDimensionsOfOneThread) {
  CallRecord record = square_record(3);
  record.dims = {3, 1, 1};
  const Prepared made = prepare("square", record);
  EXPECT_EQ(make_target(made.record, made.kernel, *made.signature)->form(nullptr).rank, 1);
  Floats x = {1, 2, 3}, y(3, 99);
  const std::string call = make_call("square", record);
  for (int turn = 0; turn < 2; ++turn) {  // the second one is quick
    EXPECT_EQ(Frame(call).arg(x, {3}).ret(y, {3}).run().text, "");
    EXPECT_EQ(y, (Floats{2, 8, 18}));
    y.assign(3, 99);
  }
  record.direction = Direction::adjoint;
  record.params = {array(Role::input, 0, -1, -1, 0), value(2), array(Role::output, -1, -1, 1, 1)};
  const Prepared back = prepare("square", record);
  EXPECT_EQ(make_target(back.record, back.kernel, *back.signature)->form(nullptr).rank, 3);
  Floats seed = {1, 1, 1}, gradient(3, 99), copy(3);
  EXPECT_EQ(Frame(make_call("square", record)).arg(x, {3}).arg(seed, {3}).ret(gradient, {3}).ret(copy, {3}).run().text,
            "");
  EXPECT_EQ(gradient, (Floats{4, 8, 12}));
}

TEST(XlaHandlers, ComponentsAreTheLastDimension) {
  CallRecord record;
  record.dims = {2};
  record.params = {array(Role::input, 0, -1), array(Role::output, -1, 0)};
  const std::string call = make_call("turn", record);
  Floats v = {1, 2, 3, 4}, w(4);
  EXPECT_EQ(Frame(call).arg(v, {2, 2}).ret(w, {2, 2}).run().text, "");
  EXPECT_EQ(w, (Floats{-2, 1, -4, 3}));
  Floats wide(6);
  const Failure failure = Frame(call).arg(wide, {2, 3}).ret(w, {2, 2}).run();
  EXPECT_NE(failure.text.find("other components"), std::string::npos) << failure.text;
  EXPECT_EQ(failure.code, xla::kInvalidArgument);
}

TEST(XlaHandlers, ChangesInPlaceWhetherXlaAliasesOrNot) {
  CallRecord record;
  record.dims = {2};
  record.params = {array(Role::in_out, 0, 0)};
  const std::string call = make_call("grow", record);
  Floats x = {1, 2}, y(2);
  EXPECT_EQ(Frame(call).arg(x, {2}).ret(y, {2}).run().text, "");
  EXPECT_EQ(y, (Floats{3, 6}));
  EXPECT_EQ(x, (Floats{1, 2}));
  EXPECT_EQ(Frame(call).arg(x, {2}).ret(x, {2}).run().text, "");
  EXPECT_EQ(x, (Floats{3, 6}));
}

TEST(XlaHandlers, BatchesRunSampleBySample) {
  Floats x = {1, 2, 3, 4, 5, 6}, y(6, 99);
  EXPECT_EQ(Frame(make_call("square", square_record(2, 1))).arg(x, {3, 2}).ret(y, {3, 2}).run().text, "");
  EXPECT_EQ(y, (Floats{2, 8, 18, 32, 50, 72}));
  Floats one = {1, 2}, out(12);
  EXPECT_EQ(Frame(make_call("square", square_record(2, 2))).arg(one, {1, 1, 2}).ret(out, {2, 3, 2}).run().text, "");
  EXPECT_EQ(out[10], 2);
  EXPECT_EQ(out[11], 8);
  const Failure failure = Frame(make_call("square", square_record(2, 1))).arg(x, {3, 2}).ret(out, {2, 2}).run();
  EXPECT_NE(failure.text.find("batch"), std::string::npos) << failure.text;
}

TEST(XlaHandlers, TangentAndAdjoint) {
  CallRecord tangent = square_record(2);
  tangent.direction = Direction::tangent;
  tangent.params = {array(Role::input, 0, -1, 1, -1), value(2), array(Role::output, -1, 1, -1, 0)};
  Floats x = {1, 2}, dx = {1, 10}, y(2), dy(2);
  EXPECT_EQ(Frame(make_call("square", tangent)).arg(x, {2}).arg(dx, {2}).ret(dy, {2}).ret(y, {2}).run().text, "");
  EXPECT_EQ(dy, (Floats{4, 80}));
  CallRecord adjoint = square_record(2);
  adjoint.direction = Direction::adjoint;
  adjoint.params = {array(Role::input, 0, -1, -1, 0), value(2), array(Role::output, -1, -1, 1, 1)};
  Floats seed = {1, 1}, gradient(2, 99), copy(2);
  EXPECT_EQ(Frame(make_call("square", adjoint)).arg(x, {2}).arg(seed, {2}).ret(gradient, {2}).ret(copy, {2}).run().text,
            "");
  EXPECT_EQ(gradient, (Floats{4, 8}));
  EXPECT_EQ(seed, (Floats{1, 1})) << "XLA's";
}

TEST(PortableRecords, RunWithoutTheirKernel) {
  Floats x = {1, 2, 3}, y(3, 99);
  EXPECT_EQ(Frame(portable_record("square", square_record(3)).encode()).arg(x, {3}).ret(y, {3}).run().text, "");
  EXPECT_EQ(y, (Floats{2, 8, 18}));
}

TEST(PortableRecords, HaveDerivatives) {
  CallRecord tangent = square_record(2);
  tangent.direction = Direction::tangent;
  tangent.params = {array(Role::input, 0, -1, 1, -1), value(2), array(Role::output, -1, 1, -1, 0)};
  Floats x = {1, 2}, dx = {1, 10}, y(2), dy(2);
  Frame forward(portable_record("square", tangent).encode());
  EXPECT_EQ(forward.arg(x, {2}).arg(dx, {2}).ret(dy, {2}).ret(y, {2}).run().text, "");
  EXPECT_EQ(dy, (Floats{4, 80}));
  CallRecord adjoint;
  adjoint.direction = Direction::adjoint;
  adjoint.dims = {2};
  adjoint.params = {array(Role::input, 0, -1, -1, 0), array(Role::output, -1, 2, 1, 1)};
  Floats seed = {1, 1}, gradient(2), copy(2), values(2);
  Frame back(portable_record("power", adjoint).encode());
  EXPECT_EQ(back.arg(x, {2}).arg(seed, {2}).ret(gradient, {2}).ret(copy, {2}).ret(values, {2}).run().text, "");
  EXPECT_EQ(gradient, (Floats{8, 8 * 128}));
}

TEST(PortableRecords, AreNotBelieved) {
  auto refusal = [](const CallRecord& record) {
    Floats x(3), y(3);
    const Failure failure = Frame(record.encode()).arg(x, {3}).ret(y, {3}).run();
    EXPECT_EQ(failure.code, xla::kInvalidArgument) << failure.text;
    return failure.text;
  };
  const CallRecord good = portable_record("square", square_record(3));
  CallRecord bad = good;
  bad.portable->ir = "kernel @square(%0: array<f32,1>) form(rank 1) {";
  EXPECT_NE(refusal(bad).find("can't be read"), std::string::npos);
  bad = good;
  bad.portable->ir = "func @f(%0: f32) -> (f32) {\n  return %0\n}\n";
  EXPECT_NE(refusal(bad).find("no kernel"), std::string::npos) << refusal(bad);
  bad = good;
  bad.params.pop_back();
  EXPECT_NE(refusal(bad).find("other things"), std::string::npos);
  bad = good;
  bad.params[0].type = "array<f32,2>";
  EXPECT_NE(refusal(bad).find("other things"), std::string::npos);
  bad = good;
  bad.params[0].arg = -1;
  EXPECT_NE(refusal(bad).find("other things"), std::string::npos);
  bad = good;
  bad.params[1].value.resize(2);
  EXPECT_NE(refusal(bad).find("other things"), std::string::npos);
  bad = good;
  bad.direction = Direction::tangent;
  EXPECT_NE(refusal(bad).find("other things"), std::string::npos);
  bad = good;
  bad.dims = {-3};
  EXPECT_NE(refusal(bad).find("damaged"), std::string::npos);
}

TEST(XlaHandlers, AddsUpTheGradientThatSamplesShare) {
  CallRecord adjoint = square_record(2, 1);
  adjoint.direction = Direction::adjoint;
  adjoint.params = {array(Role::input, 0, -1, -1, 0), value(2), array(Role::output, -1, -1, 1, 1)};
  Floats x = {1, 2}, seeds = {1, 1, 2, 2, 3, 3}, gradient(2, 99), copy(6);
  EXPECT_EQ(Frame(make_call("square", adjoint))
                .arg(x, {1, 2})
                .arg(seeds, {3, 2})
                .ret(gradient, {1, 2})
                .ret(copy, {3, 2})
                .run()
                .text,
            "");
  EXPECT_EQ(gradient, (Floats{24, 48}));
}

TEST(XlaHandlers, AdjointsThatNeedALogRunTheKernelAgain) {
  CallRecord adjoint;
  adjoint.direction = Direction::adjoint;
  adjoint.dims = {2};
  adjoint.params = {array(Role::input, 0, -1, -1, 0), array(Role::output, -1, 2, 1, 1)};
  Floats x = {1, 2}, seed = {1, 1}, gradient(2), copy(2), values(2);
  EXPECT_EQ(Frame(make_call("power", adjoint))
                .arg(x, {2})
                .arg(seed, {2})
                .ret(gradient, {2})
                .ret(copy, {2})
                .ret(values, {2})
                .run()
                .text,
            "");
  EXPECT_EQ(gradient, (Floats{8, 8 * 128}));
}

TEST(XlaOnCuda, KernelsWithTilesRunInTheirBlocks) {
  if (Device::cuda_count() == 0) GTEST_SKIP() << Device::why_no_cuda();
  const char* runs = std::getenv("WEFT_FAKE_CUDA_RUNS");
  const bool computes = Device::cuda().model().find("Fake") == std::string::npos || (runs && *runs == '1');
  const Device gpu = Device::cuda();
  const cuda::ContextScope current(*gpu.internal());
  static cuda::StreamHandle stream;
  stream = gpu.stream().internal()->handle();
  const auto on_stream = [](Frame&& frame) {
    frame.api().stream_get = [](xla::StreamGetArgs* args) -> xla::Error* {
      args->stream = stream;
      return nullptr;
    };
    return frame.run(&launch_on_cuda).text;
  };
  const Array x = Array::zeros("float32", {3, 40}, gpu), y = Array::zeros("float32", {3}, gpu);
  x.fill(2);
  for (const int block : {32, 48, 0}) {  // 0: as many as is usual
    CallRecord record;
    record.dims = {3, block ? block : 256};
    record.block_dim = block;
    record.params = {array(Role::input, 0, -1), array(Role::output, -1, 0)};
    const std::string call = make_call("rows", record);
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_EQ(on_stream(std::move(Frame(call).arg(x, {3, 40}).ret(y, {3}))), "");
      if (computes) EXPECT_EQ(y.read<float>(), Floats(3, 200.0f)) << block;
    }
    record.direction = Direction::adjoint;
    record.params = {array(Role::input, 0, -1, -1, 0), array(Role::output, -1, -1, 1, 1)};
    const Array seed = Array::zeros("float32", {3}, gpu), gradient = Array::zeros("float32", {3, 40}, gpu),
                copy = Array::zeros("float32", {3}, gpu);
    seed.fill(1);
    Frame back(make_call("rows", record));
    back.arg(x, {3, 40}).arg(seed, {3}).ret(gradient, {3, 40}).ret(copy, {3});
    EXPECT_EQ(on_stream(std::move(back)), "");
    if (computes) EXPECT_EQ(gradient.read<float>(), Floats(120, 4.0f)) << block;
  }
  // The same where nobody has made the kernel.
  for (const auto& [dims, block] : {std::pair(std::vector<std::int64_t>{3, 32}, 32), {{3, 256}, 0}}) {
    CallRecord record;
    record.dims = dims;
    record.block_dim = block;
    record.params = {array(Role::input, 0, -1), array(Role::output, -1, 0)};
    y.fill(0);
    const std::string text =
        on_stream(std::move(Frame(portable_record("rows", record).encode()).arg(x, {3, 40}).ret(y, {3})));
    EXPECT_EQ(text, "");
    if (computes) EXPECT_EQ(y.read<float>(), Floats(3, 200.0f)) << block;
  }
}

TEST(XlaHandlers, NoThreadsAndNoElements) {
  Floats none(1);
  EXPECT_EQ(Frame(make_call("square", square_record(0))).arg(none, {0}).ret(none, {0}).run().text, "");
}

TEST(XlaHandlers, WrongFramesAreErrors) {
  const std::string call = make_call("square", square_record(3));
  Floats x(3), y(3);
  EXPECT_NE(Frame(call).arg(x, {3}).run().text.find("1 arguments and 0 results"), std::string::npos);
  EXPECT_NE(Frame(call).arg(x, {3}).arg(x, {3}).ret(y, {3}).run().text.find("2 arguments"), std::string::npos);
  EXPECT_NE(Frame(call).arg(x, {3, 1}).ret(y, {3}).run().text.find("2 dimensions"), std::string::npos);
  Frame integers(call);
  integers.arg(x, {3}).ret(y, {3});
  integers.last().dtype = xla::kS32;
  EXPECT_NE(integers.run().text.find("another type"), std::string::npos);
  Frame small(call);
  small.arg(x, {3}).ret(y, {3});
  small.last().struct_size = 8;
  EXPECT_NE(small.run().text.find("another XLA"), std::string::npos);
  EXPECT_NE(Frame("short").arg(x, {3}).ret(y, {3}).run().text.find("attribute 'weft'"), std::string::npos);
  std::string damaged = call;
  damaged[20] ^= 1;
  damaged[0] ^= 1;
  EXPECT_NE(Frame(damaged).arg(x, {3}).ret(y, {3}).run().text.find("damaged"), std::string::npos);
  CallRecord nobodys = square_record(3);
  nobodys.kernel = "nobody";
  const Failure failure = Frame(nobodys.encode()).arg(x, {3}).ret(y, {3}).run();
  EXPECT_NE(failure.text.find("kernel 'nobody'"), std::string::npos);
  EXPECT_EQ(failure.code, xla::kNotFound);
}

TEST(XlaHandlers, ShortStructsAndUnknownExtensions) {
  const std::string call = make_call("square", square_record(3));
  Floats x(3), y(3, 99);
  Frame old(call);
  old.arg(x, {3}).ret(y, {3});
  old.raw().struct_size = 16;
  EXPECT_NE(old.run().text, "");
  EXPECT_EQ(y[0], 99);
  Frame without_errors("short");
  without_errors.api().struct_size = 16;
  EXPECT_EQ(without_errors.run().text, "") << "there is no way to tell it";
  Frame extended(call);
  xla::Extension unknown{sizeof unknown, xla::ExtensionType(77), nullptr};
  extended.arg(x, {3}).ret(y, {3}).raw().extensions = &unknown;
  EXPECT_EQ(extended.run().text, "");
  EXPECT_EQ(y[0], 0);
}

TEST(XlaHandlers, OtherStagesDoNothing) {
  Floats x(3), y(3, 99);
  Frame frame(make_call("square", square_record(3)));
  frame.arg(x, {3}).ret(y, {3}).raw().stage = xla::kInstantiate;
  EXPECT_EQ(frame.run().text, "");
  EXPECT_EQ(y[0], 99);
}

TEST(XlaHandlers, MetadataSaysWhatMayBeCaptured) {
  auto traits = [](XlaHandler handler) {
    xla::Metadata metadata{sizeof metadata, {}, 77};
    xla::MetadataExtension extension{{sizeof extension, xla::kMetadataExtension, nullptr}, &metadata};
    xla::CallFrame frame{};
    frame.struct_size = sizeof frame;
    frame.extensions = &extension.base;
    EXPECT_EQ(handler(&frame), nullptr);
    EXPECT_EQ(metadata.version.major_version, 0);
    EXPECT_EQ(metadata.version.minor_version, 1);
    return metadata.traits;
  };
  EXPECT_EQ(traits(&launch_on_host), 0u);
  EXPECT_EQ(traits(&launch_on_cuda), xla::kCommandBufferCompatible);
  EXPECT_EQ(traits(&launch_on_cuda_uncaptured), 0u);
}

TEST(XlaHandlers, ManyThreadsAtOnce) {
  const std::string call = make_call("square", square_record(64));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&call, t] {
      Floats x(64, float(t)), y(64);
      for (int k = 0; k < 100; ++k) {
        Frame frame(call);
        EXPECT_EQ(frame.arg(x, {64}).ret(y, {64}).run().text, "");
        EXPECT_EQ(y[63], 2 * float(t * t));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

/// Every direction, batches, and kernels that come with their record: nothing of it was compiled or read before the threads come.
TEST(XlaHandlers, EightThreadsDoEverythingForTheFirstTime) {
  constexpr int kSize = 33;
  CallRecord tangent = square_record(kSize), adjoint = square_record(kSize), logged;
  tangent.direction = Direction::tangent;
  tangent.params = {array(Role::input, 0, -1, 1, -1), value(2), array(Role::output, -1, 1, -1, 0)};
  adjoint.direction = Direction::adjoint;
  adjoint.params = {array(Role::input, 0, -1, -1, 0), value(2), array(Role::output, -1, -1, 1, 1)};
  logged.direction = Direction::adjoint;
  logged.dims = {kSize};
  logged.params = {array(Role::input, 0, -1, -1, 0), array(Role::output, -1, 2, 1, 1)};
  const std::string forward_call = make_call("square", square_record(kSize)),
                    batch_call = make_call("square", square_record(kSize, 1)),
                    tangent_call = make_call("square", tangent), adjoint_call = make_call("square", adjoint),
                    logged_call = make_call("power", logged),
                    portable_call = portable_record("square", square_record(kSize)).encode(),
                    portable_logged = portable_record("power", logged).encode();
  const std::vector<std::int64_t> dims = {kSize}, batch = {4, kSize};
  const auto work = [&](int first) {
    Floats x(kSize, 2), ones(kSize, 1), y(kSize), z(kSize), w(kSize), many(4 * kSize, 3), more(4 * kSize);
    for (int k = 0; k < 70; ++k) switch ((first + k) % 7) {
        case 0:
        case 1: {
          const std::string& call = (first + k) % 7 ? portable_call : forward_call;
          EXPECT_EQ(Frame(call).arg(x, dims).ret(y, dims).run().text, "");
          EXPECT_EQ(y, Floats(kSize, 8));
          break;
        }
        case 2:
          EXPECT_EQ(Frame(batch_call).arg(many, batch).ret(more, batch).run().text, "");
          EXPECT_EQ(more, Floats(4 * kSize, 18));
          break;
        case 3:
          EXPECT_EQ(Frame(tangent_call).arg(x, dims).arg(ones, dims).ret(y, dims).ret(z, dims).run().text, "");
          EXPECT_EQ(y, Floats(kSize, 8));
          break;
        case 4:
          EXPECT_EQ(Frame(adjoint_call).arg(x, dims).arg(ones, dims).ret(y, dims).ret(z, dims).run().text, "");
          EXPECT_EQ(y, Floats(kSize, 8));
          break;
        default: {
          Frame frame((first + k) % 7 == 5 ? logged_call : portable_logged);
          EXPECT_EQ(frame.arg(x, dims).arg(ones, dims).ret(y, dims).ret(z, dims).ret(w, dims).run().text, "");
          EXPECT_EQ(y, Floats(kSize, 8 * 128));
        }
      }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

TEST(CallRecord, ComesBackAsItWas) {
  CallRecord record = square_record(7, 2);
  record.kernel = "square";
  record.block_dim = 64;
  record.source = {1, 2};
  record.params[0].type = "array<f32,1>";
  const std::string bytes = record.encode();
  EXPECT_EQ(bytes, record.encode());
  const auto back = CallRecord::decode(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->encode(), bytes);
  record.portable = PortableKernel{"kernel @k() form(rank 1) {\n  return\n}\n", {}};
  record.portable->options.tangent = 2;
  const auto portable = CallRecord::decode(record.encode());
  ASSERT_TRUE(portable && portable->portable);
  EXPECT_EQ(portable->encode(), record.encode());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(CallRecord::decode(bytes.substr(0, cut)));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = char(changed[at] + 1);
    EXPECT_FALSE(CallRecord::decode(changed)) << at;
  }
}

}  // namespace
}  // namespace weft::interop
