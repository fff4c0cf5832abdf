// Print formats and their output, and the order in which a buffer writes.
#include "runtime/print_buffer.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "runtime/half.h"

namespace weft::runtime {
namespace {

/// Operands laid out as weft_rt_print takes them.
class Values {
 public:
  template <class T>
  Values& add(const Type* type, const T& value) {
    EXPECT_EQ(sizeof value, type->size());
    types_.push_back(type);
    words_.resize(words_.size() + (sizeof value + 7) / 8);
    std::memcpy(words_.data() + words_.size() - (sizeof value + 7) / 8, &value, sizeof value);
    return *this;
  }
  std::string print(std::string_view text = "") const {
    return format_values(compile_print_format(text, types_), words_.data());
  }
  std::string printf(std::string_view format) const {
    return format_values(compile_printf_format(format, types_), words_.data());
  }

 private:
  std::vector<const Type*> types_;
  std::vector<std::uint64_t> words_;
};

template <class T>
Values one(const Type* type, const T& value) {
  return Values().add(type, value);
}

TEST(PrintFormat, scalars) {
  EXPECT_EQ(one(types::i32(), -5).print(), "-5\n");
  EXPECT_EQ(one(types::scalar(ScalarKind::u8), std::uint8_t(200)).print(), "200\n");
  EXPECT_EQ(one(types::scalar(ScalarKind::i8), std::int8_t(-1)).print(), "-1\n");
  EXPECT_EQ(one(types::u64(), UINT64_MAX).print(), "18446744073709551615\n");
  EXPECT_EQ(one(types::boolean(), std::uint8_t(1)).print(), "True\n");
  EXPECT_EQ(one(types::boolean(), std::uint8_t(0)).print(), "False\n");
  EXPECT_EQ(one(types::f32(), 0.1f).print(), "0.1\n");
  EXPECT_EQ(one(types::f64(), 1234567.0).print(), "1.23457e+06\n");
  EXPECT_EQ(one(types::f64(), 1.0).print(), "1\n");
  EXPECT_EQ(one(types::scalar(ScalarKind::f16), f16_from_double(1.5)).print(), "1.5\n");
  EXPECT_EQ(one(types::scalar(ScalarKind::bf16), bf16_from_double(-2)).print(), "-2\n");
  EXPECT_EQ(one(types::f32(), -INFINITY).print(), "-inf\n");
  EXPECT_EQ(one(types::f32(), std::copysign(NAN, -1.0f)).print(), "nan\n");
  EXPECT_EQ(Values().print("hello"), "hello\n");
  EXPECT_EQ(one(types::i32(), 3).print("x = "), "x = 3\n");
  EXPECT_EQ(one(types::i32(), 3).add(types::f32(), 0.5f).print(), "3 0.5\n");
}

TEST(PrintFormat, floatsPrintAsByPercentG) {
  for (double v : {0.0, -0.0, 1e-5, 1e-4, 123456.0, 999999.5, 1e100, 5e-324, 1.0 / 3, 100000.0, 1e6, -12.25}) {
    char expected[64];
    std::snprintf(expected, sizeof expected, "%g\n", v);
    EXPECT_EQ(one(types::f64(), v).print(), expected);
  }
}

TEST(PrintFormat, composites) {
  struct V3 {
    float v[3];
  };
  struct M23 {
    float v[6];
  };
  struct T7 {
    float v[7];
  };
  EXPECT_EQ(one(types::vec(types::f32(), 3), V3{{1, 2.5, -3}}).print(), "1 2.5 -3 \n");
  EXPECT_EQ(one(types::mat(types::f32(), 2, 3), M23{{1, 2, 3, 4, 5, 6}}).print(), "1 2 3 \n4 5 6 \n");
  EXPECT_EQ(one(types::transform(types::f32()), T7{{1, 2, 3, 0, 0, 0, 1}}).print(), "(1 2 3) (0 0 0 1)\n");
  EXPECT_EQ(one(types::vec(types::boolean(), 2), std::uint16_t(0x0100)).print(), "False True \n");
  EXPECT_EQ(one(types::vec(types::f32(), 3), V3{{1, 2, 3}}).add(types::i32(), 7).print("v: "), "v: 1 2 3 7\n");
}

TEST(PrintFormat, structsAndArrays) {
  struct P {
    float x[3];
    double mass;
    ArrayDesc a;
  };
  const Field fields[] = {
      {"x", types::vec(types::f32(), 3)}, {"mass", types::f64()}, {"a", types::array(types::f32(), 2)}};
  const Field outer[] = {{"p", types::structure("P", fields)}, {"on", types::boolean()}};
  struct O {
    P p;
    std::uint8_t on;
  } o{};
  int cell = 0;
  o.p = {{1, 2, 3}, 0.5, {}};
  o.p.a.data = &cell;
  o.p.a.ndim = 2;
  o.p.a.shape[0] = 3, o.p.a.shape[1] = 4;
  o.on = 1;
  EXPECT_EQ(one(types::structure("O", outer), o).print(),
            "O(p=P(x=1 2 3, mass=0.5, a=array2d(dtype=float32, shape=(3, 4))), on=True)\n");
  EXPECT_EQ(one(types::array(types::f32(), 1), ArrayDesc{}).print(), "array(dtype=float32, shape=null)\n");
  EXPECT_THROW(compile_print_format("", std::vector{types::string()}), std::invalid_argument);
}

TEST(PrintFormat, hugeStructsAreCutShort) {
  std::vector<Field> fields(5000, Field{"f", types::f32()});
  const Type* type = types::structure("Huge", fields);
  const std::vector<char> zero(type->size());
  const std::string text = format_values(compile_print_format("", std::vector{type}), zero.data());
  EXPECT_TRUE(text.ends_with("f=...)\n")) << text.substr(text.size() - 20);
}

TEST(PrintFormat, literalsAreSafeWithPercentAndNul) {
  EXPECT_EQ(Values().print(std::string_view("100% %d %0:A \0x", 15)), std::string("100% %d %0:A \0x\n", 16));
  const std::string compiled = compile_print_format(std::string_view("a\0b", 3), {});
  EXPECT_EQ(compiled.find('\0'), std::string::npos);
  EXPECT_EQ(one(types::i32(), 0).printf(std::string_view("\0%c%%", 5)), std::string("\0\0%", 3));
}

TEST(PrintfFormat, conversionsFollowTheOperandsType) {
  EXPECT_EQ(one(types::i32(), 42).printf("[%5d]"), "[   42]");
  EXPECT_EQ(one(types::i64(), INT64_MIN).printf("%d %%"), "-9223372036854775808 %");
  EXPECT_EQ(one(types::u64(), UINT64_MAX).printf("%lu"), "18446744073709551615");
  EXPECT_EQ(one(types::i32(), -1).printf("%x"), "ffffffff");
  EXPECT_EQ(one(types::i32(), -1).printf("%u"), "4294967295");
  EXPECT_EQ(one(types::scalar(ScalarKind::i8), std::int8_t(-1)).printf("%hhd"), "-1");
  EXPECT_EQ(one(types::boolean(), std::uint8_t(1)).printf("%d"), "1");
  EXPECT_EQ(one(types::f32(), 0.5f).printf("%.3f|"), "0.500|");
  EXPECT_EQ(one(types::f64(), 0.5).printf("%+08.2e"), "+5.00e-01");
  EXPECT_EQ(one(types::f64(), 255.0).printf("%a"), "0x1.fep+7");
  EXPECT_EQ(one(types::f32(), std::copysign(NAN, -1.0f)).printf("%f"), "nan");
  EXPECT_EQ(one(types::i32(), 65).printf("%-3c|"), "A  |");
  EXPECT_EQ(one(types::u64(), std::uint64_t(0x10)).printf("%p"), "0x10");
  EXPECT_EQ(one(types::i32(), 1).add(types::f32(), 2.0f).printf("%d and %g\n"), "1 and 2\n");
  EXPECT_EQ(one(types::f64(), 1e308).printf("%1000.700f").size(), 1010u);
  EXPECT_EQ(one(types::i32(), 1).printf("%600d").size(), 600u);
}

TEST(PrintfFormat, mismatchesAreExplained) {
  const auto error = [](std::string_view format, std::vector<const Type*> types) -> std::string {
    try {
      compile_printf_format(format, types);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("%f", {types::i32()}),
            "printf: value 1 is of type int32, which '%f' can't show: use '%d' or convert it with float()");
  EXPECT_EQ(error("%d", {types::f32()}),
            "printf: value 1 is of type float32, which '%d' can't show: use '%f' or convert it with int()");
  EXPECT_EQ(error("%d %d", {types::i32()}), "printf: the format asks for more than the 1 value given: '%d' has none");
  EXPECT_EQ(error("%d", {types::i32(), types::i32()}), "printf: 2 values are given, the format shows 1 of them");
  EXPECT_NE(error("%s", {types::i32()}).find("kernels have no strings"), std::string::npos);
  EXPECT_NE(error("%n", {types::i32()}).find("'%n' is not a conversion"), std::string::npos);
  EXPECT_NE(error("50%", {}).find("write '%%'"), std::string::npos);
  EXPECT_NE(error("%*d", {types::i32()}).find("'*' is not supported"), std::string::npos);
  EXPECT_NE(error("%99999d", {types::i32()}).find("too large"), std::string::npos);
  EXPECT_NE(error("%.2000f", {types::f32()}).find("too large"), std::string::npos);
  EXPECT_NE(error("%f", {types::vec(types::f32(), 3)}).find("components one by one"), std::string::npos);
  EXPECT_NE(error("%p", {types::i32()}).find("64-bit"), std::string::npos);
  for (std::string_view f : std::vector<std::string_view>{"%", "%-", "%5.", "%ll", "%.", {"%\0", 2}})
    EXPECT_NE(error(f, {}), "no error");
}

TEST(PrintfFormat, malformedCompiledFormatsStopQuietly) {
  const std::uint64_t zero[16] = {};
  for (const char* f : {"a%", "a%5", "a%0:", "a%0:Q", "a%0:A1", "a%0:A1x1", "a%0:A1x1q", "a%0:F=d", "a%99999999999:A"})
    EXPECT_EQ(format_values(std::string(f), zero).substr(0, 1), "a") << f;
}

TEST(PrintBuffer, ordersByThreadOrByGroup) {
  std::string out;
  const PrintSink sink = [&](std::string_view text) { out += text; };
  const std::string format = compile_print_format("", std::vector{types::i32()});
  const auto collect = [&](std::int64_t group) {
    out.clear();
    PrintBuffer buffer(group, &sink);
    for (int statement = 0; statement < 2; ++statement)
      for (int thread : {4, 5, 6, 7, 0, 1, 2, 3}) {
        const std::int64_t value = thread * 10 + statement;
        buffer.add(thread, format.c_str(), &value);
      }
    buffer.flush();
    return out;
  };
  EXPECT_EQ(collect(1), "0\n1\n10\n11\n20\n21\n30\n31\n40\n41\n50\n51\n60\n61\n70\n71\n");
  EXPECT_EQ(collect(4), "0\n10\n20\n30\n1\n11\n21\n31\n40\n50\n60\n70\n41\n51\n61\n71\n");
}

TEST(PrintBuffer, largeOutputIsWrittenEarlyAndThrowingSinksAreHarmless) {
  std::size_t calls = 0, bytes = 0;
  const PrintSink sink = [&](std::string_view text) {
    ++calls;
    bytes += text.size();
    throw std::runtime_error("closed");
  };
  const std::string format = compile_print_format(std::string(1000, 'x'), {});
  {
    PrintBuffer buffer(1000, &sink);
    for (int i = 0; i < 3000; ++i) buffer.add(i, format.c_str(), nullptr);
    EXPECT_GE(calls, 2u);
  }
  EXPECT_EQ(bytes, 3000u * 1001u);
}

TEST(PrintSinkTest, processSinkCanBeReplaced) {
  std::string out;
  set_print_sink([&](std::string_view text) { out += text; });
  print_to_sink("a");
  LaunchContext context;
  weft_rt_print(&context, "lost", 0, nullptr);
  {
    PrintBuffer buffer;
    context.print = &buffer;
    weft_rt_print(&context, "b\n", 0, nullptr);
  }
  set_print_sink({});
  EXPECT_EQ(out, "ab\n");
}

}  // namespace
}  // namespace weft::runtime
