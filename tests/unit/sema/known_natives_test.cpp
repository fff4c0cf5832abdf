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
  EXPECT_EQ(across->mask, 0xffffffffu);
  EXPECT_EQ(across->distance, 16u);
  auto chosen = known("#ifdef __CUDA_ARCH__\nreturn __shfl_sync(-1, x, mask, 32);\n#else\nreturn x;\n#endif");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->from, From::lane);
  EXPECT_EQ(chosen->mask, 0xffffffffu);
  EXPECT_EQ(chosen->distance_param, 1u);
  for (const char* text : {"return __shfl_xor_sync(0xffffffff, x, 16, 8);", "return __shfl_sync(y, x, 1);",
                           "return __shfl_sync(-1, x + 1, 1);", "return __shfl_down_sync(-1, x);",
                           "#ifdef __CUDA_ARCH__\nreturn __shfl_sync(-1, x, 1);\n#else\nreturn mask;\n#endif"})
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
