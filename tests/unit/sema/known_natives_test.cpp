// Which native snippets are taken for an operation, and which are left to a compiler.
#include "sema/known_natives.h"

#include <gtest/gtest.h>

namespace weft::sema {
namespace {

using Kind = KnownNative::Kind;

std::optional<KnownNative> known(const std::string& text) {
  const std::string params[] = {"x", "mask"};
  return known_native(text, params);
}

TEST(KnownNatives, Barriers) {
  for (const char* text : {"WP_TILE_SYNC();", "  WP_TILE_SYNC ( ) ;\n", "// wait\n__syncthreads();",
                           "#if defined(__CUDA_ARCH__)\n__syncthreads();\n#endif\n",
                           "#ifndef __CUDA_ARCH__\n#else\nWP_TILE_SYNC(); /* all */\n#endif"}) {
    auto got = known(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(got->kind, Kind::barrier) << text;
  }
}

TEST(KnownNatives, Nothing) {
  for (const char* text : {"", " \n", "// nothing", "/* nothing */", "#ifdef __CUDA_ARCH__\n#endif"}) {
    auto got = known(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(got->kind, Kind::nothing) << text;
  }
}

TEST(KnownNatives, Bits) {
  auto zeros = known(
      "#if defined(__CUDA_ARCH__)\n  return __ffsll((long long)mask) - 1;\n#else\n"
      "  return __builtin_ctzll((unsigned long long)mask);\n#endif");
  ASSERT_TRUE(zeros);
  EXPECT_EQ(zeros->kind, Kind::trailing_zeros);
  EXPECT_EQ(zeros->param, 1u);
  auto count = known("return __builtin_popcountll(x);");
  ASSERT_TRUE(count);
  EXPECT_EQ(count->kind, Kind::bit_count);
  EXPECT_EQ(count->param, 0u);
}

TEST(KnownNatives, Shuffles) {
  using From = KnownNative::From;
  auto across = known("return __shfl_xor_sync(0xffffffffu, x, 16);");
  ASSERT_TRUE(across);
  EXPECT_EQ(across->kind, Kind::shuffle);
  EXPECT_EQ(across->from, From::across);
  EXPECT_EQ(across->mask.bits, 0xffffffffu);
  EXPECT_EQ(across->distance, 16u);
  auto chosen = known("#ifdef __CUDA_ARCH__\nreturn __shfl_sync(-1, x, mask, 32);\n#else\nreturn x;\n#endif");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->from, From::lane);
  EXPECT_EQ(chosen->mask.bits, 0xffffffffu);
  EXPECT_EQ(chosen->distance_param, 1u);
  for (const char* text : {"return __shfl_xor_sync(0xffffffff, x, 16, 8);", "return __shfl_sync(y, x, 1);",
                           "return __shfl_sync(-1, x + 1, 1);", "return __shfl_down_sync(-1, x);",
                           "#ifdef __CUDA_ARCH__\nreturn __shfl_sync(-1, x, 1);\n#else\nreturn mask;\n#endif"})
    EXPECT_FALSE(known(text)) << text;
}

TEST(KnownNatives, VotesOfWarps) {
  auto ballot = known("return __ballot_sync(0xffff, x);");
  ASSERT_TRUE(ballot);
  EXPECT_EQ(ballot->kind, Kind::ballot);
  EXPECT_EQ(ballot->mask.bits, 0xffffu);
  EXPECT_EQ(ballot->condition.param, 0u);
  EXPECT_FALSE(ballot->condition.compared);
  auto any = known("return __any_sync(mask, x == 0);");
  ASSERT_TRUE(any);
  EXPECT_EQ(any->kind, Kind::any_of_warp);
  EXPECT_EQ(any->mask.param, 1u);
  EXPECT_TRUE(any->condition.negated && any->condition.compared);
  auto all = known("#ifdef __CUDA_ARCH__\nreturn __all_sync(__activemask(), x != 0);\n#else\nreturn x != 0;\n#endif");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->kind, Kind::all_of_warp);
  EXPECT_TRUE(all->mask.active);
  EXPECT_FALSE(all->of_bool);
  auto of_bool = known("#ifdef __CUDA_ARCH__\nreturn __any_sync(-1, x);\n#else\nreturn x;\n#endif");
  ASSERT_TRUE(of_bool);
  EXPECT_TRUE(of_bool->of_bool);
  EXPECT_TRUE(known("return (unsigned)__ballot_sync(-1, 1);")->narrowed);
  for (const char* text : {"return __ballot_sync(x);", "return __ballot_sync(-1, x + 1);", "return __any_sync(y, x);",
                           "return __any_sync(-1, x) && x;", "__ballot_sync(-1, x);",
                           "#ifdef __CUDA_ARCH__\nreturn __any_sync(-1, x);\n#else\nreturn 1;\n#endif"})
    EXPECT_FALSE(known(text)) << text;
}

TEST(KnownNatives, VotesOfBlocks) {
  EXPECT_EQ(known("return __syncthreads_count(!x);")->kind, Kind::count);
  EXPECT_TRUE(known("return __syncthreads_count(!x);")->condition.negated);
  EXPECT_EQ(known("return __syncthreads_or(x);")->kind, Kind::any_of_block);
  EXPECT_EQ(known("return __syncthreads_and(mask);")->condition.param, 1u);
  EXPECT_TRUE(known("return __syncthreads_and(1);")->condition.constant);
  EXPECT_FALSE(known("return __syncthreads_or(x, mask);"));
}

TEST(KnownNatives, WaitingForAWarp) {
  EXPECT_EQ(known("__syncwarp();")->mask.bits, 0xffffffffu);
  EXPECT_EQ(known("#ifdef __CUDA_ARCH__\n__syncwarp(0xff);\n#endif")->mask.bits, 0xffu);
  EXPECT_EQ(known("__syncwarp(mask);")->mask.param, 1u);
  EXPECT_FALSE(known("__syncwarp(); x = 1;"));
  EXPECT_FALSE(known("#ifdef __CUDA_ARCH__\n__syncwarp();\n#else\nx = 1;\n#endif"));
}

TEST(KnownNatives, NumbersOfThreads) {
  EXPECT_EQ(known("return threadIdx.x;")->kind, Kind::thread);
  EXPECT_EQ(known("return int(threadIdx.x);")->kind, Kind::thread);
  EXPECT_EQ(known("#ifdef __CUDA_ARCH__\nreturn threadIdx.x;\n#else\nreturn 0;\n#endif")->kind, Kind::thread);
  EXPECT_EQ(known("return WP_TILE_THREAD_IDX;")->kind, Kind::thread);
  EXPECT_EQ(known("return WP_TILE_BLOCK_DIM;")->kind, Kind::threads);
  EXPECT_EQ(known("#ifdef __CUDA_ARCH__\nreturn blockDim.x;\n#else\nreturn 1;\n#endif")->kind, Kind::threads);
  EXPECT_EQ(known("return threadIdx.x & 31;")->kind, Kind::lane);
  EXPECT_EQ(known("return threadIdx.x / 32;")->kind, Kind::number_of_warp);
  EXPECT_EQ(known("return __activemask();")->kind, Kind::active);
  for (const char* text : {"return threadIdx.y;", "return threadIdx.x + 1;", "return threadIdx.x % 16;", "threadIdx.x;",
                           "#ifdef __CUDA_ARCH__\nreturn threadIdx.x;\n#else\nreturn 1;\n#endif"})
    EXPECT_FALSE(known(text)) << text;
}

TEST(KnownNatives, EverythingElseIsCompiled) {
  for (const char* text :
       {"return x;", "WP_TILE_SYNC(); x = 1;", "return __builtin_ctzll(y);", "return __builtin_ctzll(x) + 1;",
        "return __builtin_ctzll((int)x);", "#ifdef OTHER\n#endif", "#ifdef __CUDA_ARCH__\nWP_TILE_SYNC();", "#endif",
        "#ifdef __CUDA_ARCH__\nreturn __ffsll(x) - 1;\n#else\nreturn __builtin_ctzll(mask);\n#endif",
        "#ifdef __CUDA_ARCH__\nx = 1;\n#else\nWP_TILE_SYNC();\n#endif", "/", "x = 1; /* open", "return__ffsll()-1;"})
    EXPECT_FALSE(known(text)) << text;
}

}  // namespace
}  // namespace weft::sema
