// What a build asks of the front end and of LLVM: a source key that is known skips both, in the process and on disk.
#include <gtest/gtest.h>

#include "support.h"

namespace weft::agree {
namespace {

using driver::BinaryStore;
using driver::BuildReport;

const char* kText = R"(
import warp as wp
@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 2.0
)";

TEST(SourceKey, SecondBuildComesFromTheProcess) {
  TempFolder folder;
  BinaryStore store(cache_options(folder.path));
  ParsedKernel kernel(kText);
  BuildReport first, second;
  auto a = kernel.build(store, &first);
  auto b = kernel.build(store, &second);
  EXPECT_EQ(a, b);
  EXPECT_EQ(first.source, BuildReport::Source::compiled);
  EXPECT_FALSE(first.source_key_hit);
  EXPECT_EQ(second.source, BuildReport::Source::process);
  EXPECT_TRUE(second.source_key_hit);
  EXPECT_EQ(second.seconds_front, 0);
}

TEST(SourceKey, AnotherProcessFindsTheObjectWithoutFrontEnd) {
  TempFolder folder;
  ParsedKernel kernel(kText);
  {
    BinaryStore store(cache_options(folder.path));
    ASSERT_TRUE(kernel.build(store));
  }
  BinaryStore store(cache_options(folder.path));  // a new store knows what a new process knows
  BuildReport report;
  auto binary = kernel.build(store, &report);
  ASSERT_TRUE(binary);
  EXPECT_EQ(report.source, BuildReport::Source::disk);
  EXPECT_TRUE(report.source_key_hit);
  EXPECT_EQ(report.seconds_front + report.seconds_passes + report.seconds_emit + report.seconds_llvm_opt +
                report.seconds_codegen,
            0);
  EXPECT_EQ(run_doubling(*binary), "");
}

TEST(SourceKey, OtherOptionsAndTextsAreOtherKeys) {
  TempFolder folder;
  BinaryStore store(cache_options(folder.path));
  ParsedKernel kernel(kText);
  auto kept = kernel.build(store);  // the store holds what somebody uses
  ASSERT_TRUE(kept);
  for (int change = 0; change < 6; ++change) {
    driver::BuildRequest request = kernel.request();
    switch (change) {
      case 0: request.options.debug = true; break;
      case 1: request.options.fuse_fp = false; break;
      case 2: request.options.lanes = 1; break;
      case 3: request.options.opt_level = 1; break;
      case 4: request.form.rank = 2; break;
      case 5: request.form.no_overlap = false; break;
    }
    BuildReport report;
    DiagnosticSink sink;
    ASSERT_TRUE(store.get(request, sink, &report));
    EXPECT_EQ(report.source, BuildReport::Source::compiled) << change;
    EXPECT_FALSE(report.source_key_hit) << change;
  }
  // Another text of the same meaning: the front end runs, the object is shared.
  ParsedKernel spaced(std::string(kText) + "\n# a comment\n");
  BuildReport report;
  ASSERT_TRUE(spaced.build(store, &report));
  EXPECT_EQ(report.source, BuildReport::Source::process);
  EXPECT_FALSE(report.source_key_hit);
}

TEST(SourceKey, CacheOffCompilesButSharesInTheProcess) {
  TempFolder folder;
  BinaryStore store(cache_options(folder.path));
  ParsedKernel kernel(kText);
  driver::BuildRequest request = kernel.request();
  request.options.use_cache = false;
  DiagnosticSink sink;
  BuildReport report;
  auto kept = store.get(request, sink, &report);
  ASSERT_TRUE(kept);
  EXPECT_EQ(report.source, BuildReport::Source::compiled);
  EXPECT_TRUE(entries(folder.path).empty());
  ASSERT_TRUE(store.get(request, sink, &report));
  EXPECT_EQ(report.source, BuildReport::Source::process);
}

}  // namespace
}  // namespace weft::agree
