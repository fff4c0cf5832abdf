// Loads that move up, and those that must stay.
#include "passes/early_loads.h"
#include "ir_text.h"

namespace weft::testing {
namespace {

std::string moved(const std::string& body, const std::string& form = "no_overlap, rank 1") {
  auto module = parse_ir("kernel @k(%x: array<f32,1>, %y: array<f32,1>, %z: array<f32,1>) form(" + form + ") {\n" +
                         body + "return\n}\n");
  passes::early_loads(*module->functions.back());
  EXPECT_EQ(ir::verify(*module), "");
  return ir::print(*module);
}

/// Whether one piece of the text comes before the other.
bool ahead(const std::string& text, const std::string& first, const std::string& second) {
  return text.find(first) < text.find(second);
}

const std::string kQuotient = "%i = tid 0\n%a = load %x[%i]\n%q = div 1.0f32, %a\n";

TEST(EarlyLoads, BeforeDivisions) {
  const std::string body = kQuotient + "%b = load %y[%i]\n%s = add %q, %b\nstore %z[%i], %s\n";
  EXPECT_TRUE(ahead(moved(body), "load %y", "div"));
  EXPECT_FALSE(ahead(moved(body, "rank 1"), "load %y", "div")) << "arrays may share memory";
}

TEST(EarlyLoads, NotWhatIsWritten) {
  EXPECT_FALSE(ahead(moved(kQuotient + "store %y[%i], %q\n%b = load %y[%i]\nstore %z[%i], %b\n"), "load %y", "div"));
}

TEST(EarlyLoads, BehindWhatTheyNeed) {
  const std::string code = moved(kQuotient + "%j = cast %q : i32\n%b = load %y[%j~]\nstore %z[%i], %b\n");
  EXPECT_TRUE(ahead(code, "cast", "load %y"));
  const std::string chain =
      moved(kQuotient + "%b = load %y[%i]\n%j = cast %b : i32\n%c = load %y[%j~]\nstore %z[%i], %c\n");
  EXPECT_TRUE(ahead(chain, "= cast", "load %y[%j"));
}

TEST(EarlyLoads, InTheirRegion) {
  const std::string code = moved(
      "%i = tid 0\n%t = gt %i, 3i32\nif %t {\n%a = load %x[%i]\n%q = sqrt %a\n%b = load %y[%i]\n"
      "%s = add %q, %b\nstore %z[%i], %s\nyield\n} else {\nyield\n}\n");
  EXPECT_TRUE(ahead(code, "load %y", "sqrt"));
  EXPECT_TRUE(ahead(code, "if %t", "load %y")) << "it may not be wanted";
}

TEST(EarlyLoads, NotTooMany) {
  std::string body = kQuotient;
  for (int k = 0; k < 40; ++k)
    body += "%b" + std::to_string(k) + " = load %y[" + std::to_string(k) + "i32]\nstore %z[" + std::to_string(k) +
            "i32], %b" + std::to_string(k) + "\n";
  const std::string code = moved(body);
  EXPECT_TRUE(ahead(code, "load %y[0i32]", "div"));
  EXPECT_FALSE(ahead(code, "load %y[39i32]", "div"));
}

}  // namespace
}  // namespace weft::testing
