// Cache keys and the store of kernels: what makes two kernels the same.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <set>

#include "driver/kernel_keys.h"
#include "driver/pipeline.h"
#include "ir/verify.h"
#include "sema/file_scope.h"
#include "syntax/parser.h"

namespace weft::driver {
namespace {

struct Source {
  DiagnosticSink sink;
  std::shared_ptr<sema::FileScope> scope;

  explicit Source(const std::string& text) {
    auto tree = syntax::parse(std::make_shared<SourceFile>("keys.py", "import warp as wp\n" + text), sink);
    scope = sema::FileScope::make(tree, sink);
  }
  BuildRequest request(const std::string& kernel = "k") const {
    BuildRequest r;
    r.kernel = scope->find_kernel(kernel).get();
    DiagnosticSink quiet;
    for (const sema::KernelParam& p : sema::kernel_params(*r.kernel, quiet)) r.arg_types.push_back(p.pattern.type);
    return r;
  }
  Hash128 key(const std::function<void(BuildRequest&)>& change = {}) {
    BuildRequest r = request();
    if (change) change(r);
    auto module = front_end(r, sink);
    EXPECT_TRUE(module) << sink.render_all();
    return content_key(*module, r, codegen::host_target());
  }
};

const char* kText =
    "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    v = x[i] * 2.0\n    x[i] = v\n";

TEST(ContentKey, IgnoresNamesCommentsAndPlace) {
  Source a(kText);
  Source b(
      "# a comment\n\n@wp.kernel\ndef k(data: wp.array(dtype=float)):\n    index = wp.tid()\n    w = data[index] * 2.0  # twice\n    data[index] = w\n");
  EXPECT_EQ(a.key(), b.key());
}

TEST(ContentKey, DependsOnMeaningOptionsAndForm) {
  Source a(kText);
  Source b("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    v = x[i] * 3.0\n    x[i] = v\n");
  Hash128 key = a.key();
  EXPECT_NE(key, b.key());
  EXPECT_NE(key, a.key([](BuildRequest& r) { r.options.debug = true; }));
  EXPECT_NE(key, a.key([](BuildRequest& r) { r.options.fuse_fp = false; }));
  EXPECT_NE(key, a.key([](BuildRequest& r) { r.options.lanes = 1; }));
  EXPECT_NE(key, a.key([](BuildRequest& r) { r.form.rank = 2; }));
  EXPECT_NE(key, a.key([](BuildRequest& r) { r.form.no_overlap = false; }));
  EXPECT_EQ(key, a.key());
}

TEST(ContentKey, DebugBuildsRememberPlaces) {
  Source a(kText);
  Source b("\n\n" + std::string(kText));
  auto debug = [](BuildRequest& r) { r.options.debug = true; };
  EXPECT_NE(a.key(debug), b.key(debug));
  EXPECT_EQ(a.key(), b.key());
}

TEST(BuildId, IsStableAndNotEmpty) {
  EXPECT_EQ(build_id().size(), 32u);
  EXPECT_EQ(build_id(), build_id());
}

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("weft_keys_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<BinaryStore> store() {
    runtime::CacheOptions options;
    options.folder = folder_.string();
    options.build_id = build_id();
    return std::make_unique<BinaryStore>(std::move(options));
  }
  std::filesystem::path folder_;
};

TEST_F(StoreTest, FindsKernelsInTheProcessThenOnDisk) {
  Source source(kText);
  BuildRequest request = source.request();
  request.source_hash = Hasher().text(kText).finish();
  BuildReport report;
  {
    auto first = store();
    auto binary = first->get(request, source.sink, &report);
    ASSERT_TRUE(binary) << source.sink.render_all();
    EXPECT_EQ(report.source, BuildReport::Source::compiled);
    auto again = first->get(request, source.sink, &report);
    EXPECT_EQ(again, binary);
    EXPECT_EQ(report.source, BuildReport::Source::process);
    EXPECT_TRUE(report.source_key_hit);
  }
  auto second = store();
  auto binary = second->get(request, source.sink, &report);
  ASSERT_TRUE(binary);
  EXPECT_EQ(report.source, BuildReport::Source::disk);
  EXPECT_TRUE(report.source_key_hit);
  EXPECT_EQ(report.seconds_front, 0);
  EXPECT_EQ(report.seconds_passes, 0);
  EXPECT_EQ(report.seconds_llvm_opt, 0);
}

TEST_F(StoreTest, CodeIsFreedWithItsLastKernel) {
  Source source(kText);
  auto s = store();
  std::weak_ptr<const KernelBinary> watch;
  {
    auto binary = s->get(source.request(), source.sink);
    ASSERT_TRUE(binary);
    watch = binary;
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Pipeline, NamesAreUniqueAndEveryStageKeepsTheIrValid) {
  std::set<std::string_view> names;
  for (std::string_view name : stage_names()) EXPECT_TRUE(names.insert(name).second) << name;
  Source source(kText);
  auto module = front_end(source.request(), source.sink);
  std::size_t stages = 0;
  optimize(*module, {}, [&](std::string_view stage, const ir::Module& now, double) {
    ++stages;
    EXPECT_EQ(ir::verify(now), "") << stage;
  });
  EXPECT_EQ(stages, names.size());
}

TEST(Pipeline, GrowthIsBounded) {
  // A 20-level tree of functions that call the next one twice, and three nested loops of 16 trips.
  std::string tree = "@wp.func\ndef f0(x: float):\n    return x * 1.5 + 0.25\n";
  for (int k = 1; k <= 20; ++k) {
    std::string inner = "f" + std::to_string(k - 1);
    tree +=
        "@wp.func\ndef f" + std::to_string(k) + "(x: float):\n    return " + inner + "(x) + " + inner + "(x * 0.5)\n";
  }
  Source calls(tree + "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = f20(x[i])\n");
  auto module = front_end(calls.request(), calls.sink);
  ASSERT_TRUE(module) << calls.sink.render_all();
  optimize(*module, {});
  EXPECT_LT(count_ops(*module), 20000u);

  Source loops(R"(
@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for a in range(16):
        for b in range(16):
            for c in range(16):
                s += x[a] * float(b) + float(c)
    x[i] = s
)");
  module = front_end(loops.request(), loops.sink);
  ASSERT_TRUE(module);
  optimize(*module, {});
  EXPECT_LT(count_ops(*module), 2000u);
}

}  // namespace
}  // namespace weft::driver
