// Private arrays at the end of the pipeline: those that need no clearing, and loops over them that are unrolled.
#include "ir/clone.h"
#include "ir_text.h"
#include "passes/dce.h"
#include "passes/fold.h"
#include "passes/join_branches.h"
#include "passes/raw_locals.h"
#include "passes/unroll_while.h"
#include "random_ir.h"

namespace weft::testing {
namespace {

int count(const std::string& text, const std::string& piece) {
  int found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

/// The kernel after raw_locals; it must give what it gave. The interpreter fills raw arrays with rubbish.
std::string made_raw(const std::string& lines) {
  auto module = parse_ir(in_kernel(lines));
  auto copy = ir::clone(*module);
  passes::raw_locals(*copy->functions.back());
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(difference(run_program(*module, *module->functions.back(), seed),
                         run_program(*copy, *copy->functions.back(), seed)),
              "")
        << lines;
  return ir::print(*copy);
}

bool is_raw(const std::string& lines) { return count(made_raw(lines), "local(raw)") == 1; }

const std::string kStack =
    "%s = local : array<i32,1> [32]\nstore %s[0i32], 3i32\n"
    "%d, %sum = while (%d1 = 1i32, %sum1 = 0i32) {\n  %t = gt %d1, 0i32\n  test %t\n} do {\n"
    "  %d2 = sub %d1, 1i32\n  %node = load %s[%d2]\n  %sum2 = add %sum1, %node\n  %more = gt %node, 0i32\n";
const std::string kPush =
    "  %d3 = if %more : i32 {\n    %l = sub %node, 1i32\n    store %s[%d2], %l\n    %r = sub %node, 2i32\n"
    "    %e = add %d2, 1i32\n    store %s[%e], %r\n    %d4 = add %d2, 2i32\n    yield %d4\n  } else {\n    yield %d2\n  }\n"
    "  yield %d3, %sum2\n}\nstore %n[0i32], %sum";

TEST(RawLocals, Stacks) {
  EXPECT_TRUE(is_raw(kStack + kPush));
  std::string popped = kStack + kPush;
  popped.replace(popped.find("store %s[%d2], %l"), 17, "%u = add %l, 0i32");
  auto endless = parse_ir(in_kernel(popped));
  EXPECT_TRUE(passes::raw_locals(*endless->functions.back())) << "what was popped is still there";
  std::string hole = kStack + kPush;
  hole.replace(hole.find("store %s[%e], %r"), 16, "%u = add %r, 0i32");
  EXPECT_FALSE(is_raw(hole));
  std::string start = kStack + kPush;
  start.replace(start.find("store %s[0i32], 3i32"), 20, "store %s[1i32], 3i32");
  EXPECT_FALSE(is_raw(start));
  std::string deep = kStack + kPush;
  deep.replace(deep.find("%d4 = add %d2, 2i32"), 19, "%d4 = add %d2, 3i32");
  EXPECT_FALSE(is_raw(deep));
}

TEST(RawLocals, WrittenByConstants) {
  const std::string four =
      "%s = local : array<f32,1> [4]\nstore %s[0i32], %a\nstore %s[2i32], %b\nstore %s[1i32], %b\n";
  EXPECT_TRUE(is_raw(four + "%v = load %s[2i32]\nstore %x[0i32], %v"));
  EXPECT_FALSE(is_raw(four + "%v = load %s[3i32]\nstore %x[0i32], %v"));
  const std::string any = "%k = bit_and %i, 3i32\n%v = load %s[%k]\nstore %x[0i32], %v";
  EXPECT_FALSE(is_raw(four + any));
  EXPECT_TRUE(is_raw(four + "store %s[3i32], %b\n" + any));
  EXPECT_FALSE(
      is_raw("%s = local : array<f32,1> [2]\nif %c {\n  store %s[0i32], %a\n  yield\n} else {\n  yield\n}\n"
             "%v = load %s[0i32]\nstore %x[0i32], %v"));
  EXPECT_TRUE(
      is_raw("%s = local : array<f32,1> [2]\nif %c {\n  store %s[0i32], %a\n  yield\n} else {\n"
             "  store %s[0i32], %b\n  yield\n}\n%v = load %s[0i32]\nstore %x[0i32], %v"));
}

TEST(RawLocals, WrittenByCounting) {
  auto filled = [](const std::string& lo, const std::string& hi, const std::string& step, const std::string& inside) {
    return "%s = local : array<f32,1> [64]\nfor %k = " + lo + " to " + hi + " step " + step + " {\n" + inside +
           "  yield\n}\n%w = bit_and %i, 63i32\n%v = load %s[%w]\nstore %x[0i32], %v";
  };
  const std::string store = "  store %s[%k], %a\n";
  EXPECT_TRUE(is_raw(filled("0i32", "64i32", "1i32", store)));
  EXPECT_FALSE(is_raw(filled("0i32", "63i32", "1i32", store)));
  EXPECT_FALSE(is_raw(filled("1i32", "64i32", "1i32", store)));
  EXPECT_FALSE(is_raw(filled("0i32", "64i32", "2i32", store)));
  EXPECT_FALSE(
      is_raw(filled("0i32", "64i32", "1i32", "  if %c {\n  " + store + "    yield\n  } else {\n    yield\n  }\n")));
  // As many as there are, read as far as they go.
  const std::string some =
      "%s = local : array<f32,1> [64]\n%h = bit_and %i, 31i32\nfor %k = 0i32 to %h step 1i32 {\n  store %s[%k], %a\n"
      "  yield\n}\n%t = for %q = 0i32 to %h step 1i32 (%z = 0.0f32) {\n  ";
  EXPECT_FALSE(is_raw(some + "%v = load %s[%q]\n  %z1 = add %z, %v\n  yield %z1\n}\nstore %x[0i32], %t"))
      << "how far a loop's own index reaches is not followed";
}

TEST(RawLocals, WhoeverHandsItOnMayReadIt) {
  EXPECT_FALSE(
      is_raw("%s = local : array<f32,1> [2]\nstore %s[0i32], %a\nstore %s[1i32], %a\n"
             "%p = select %c, %s, %x\n%v = load %p[0i32]\nstore %x[0i32], %v"));
  EXPECT_FALSE(
      is_raw("%s = local : array<f32,1> [2]\nstore %s[0i32], %a\n%o = atomic add %s[1i32], %a\n"
             "store %x[0i32], %o"));
}

TEST(RawLocals, EachTurnHasItsOwn) {
  EXPECT_TRUE(
      is_raw("for %k = 0i32 to 3i32 step 1i32 {\n  %s = local : array<f32,1> [4]\n  store %s[0i32], %a\n"
             "  %v = load %s[0i32]\n  store %x[%k], %v\n  yield\n}"));
  EXPECT_FALSE(
      is_raw("for %k = 0i32 to 3i32 step 1i32 {\n  %s = local : array<f32,1> [4]\n  %v = load %s[0i32]\n"
             "  store %s[0i32], %a\n  store %x[%k], %v\n  yield\n}"));
  EXPECT_FALSE(
      is_raw("%s = local : array<f32,1> [4]\nfor %k = 0i32 to 3i32 step 1i32 {\n  %v = load %s[0i32]\n"
             "  store %s[0i32], %a\n  store %x[%k], %v\n  yield\n}"));
}

/// Loops that push and pop at random: some read only what they wrote, some don't.
class RandomStacks {
 public:
  explicit RandomStacks(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    std::string out = "%s = local : array<i32,1> [96]\n";
    for (std::uint64_t k = random_.below(4); k > 0; --k)
      out += "store %s[" + std::to_string(random_.below(3)) + "i32], %j\n";
    out += "%d, %z, %f = while (%d0 = " + std::to_string(random_.below(3)) + "i32, %z0 = 0i32, %f0 = 0i32) {\n" +
           "  %p = gt %d0, 0i32\n  %q = lt %f0, 12i32\n  %t = bit_and %p, %q\n  test %t\n} do {\n"
           "  %f1 = add %f0, 1i32\n  %g = bit_and %f0, " +
           std::to_string(1 + random_.below(3)) + "i32\n  %h = gt %g, 0i32\n";
    depth_ = "%d0";
    sum_ = "%z0";
    statements(out, 3);
    return out + "  yield " + depth_ + ", " + sum_ + ", %f1\n}\nstore %n[0i32], %z\nstore %n[1i32], %d";
  }

 private:
  std::string name() { return "%v" + std::to_string(next_++); }

  std::string offset(std::string& out) {
    const std::int64_t by = std::int64_t(random_.below(4)) - 1;
    const std::string at = name();
    // Never below zero: the depth is at least as much as was taken away.
    out += at + (by < 0 ? " = max " + depth_ + ", 0i32\n" : " = add " + depth_ + ", " + std::to_string(by) + "i32\n");
    if (by >= 0) return at;
    const std::string below = name();
    out += below + " = sub " + at + ", 1i32\n";
    const std::string safe = name();
    out += safe + " = max " + below + ", 0i32\n";
    return random_.chance(60) && depth_ == "%d0" ? below : safe;
  }

  void statements(std::string& out, int depth) {
    for (std::uint64_t k = 1 + random_.below(4); k > 0; --k) switch (random_.below(depth > 0 ? 5 : 4)) {
        case 0: {
          const std::string at = offset(out), value = name(), sum = name();
          out += value + " = load %s[" + at + "]\n" + sum + " = add " + sum_ + ", " + value + "\n";
          sum_ = sum;
          break;
        }
        case 1: {
          const std::string at = offset(out);
          out += "store %s[" + at + "], %f1\n";
          break;
        }
        case 2: {
          const std::string moved = name();
          const bool up = random_.chance(50) || depth_ != "%d0";
          out += moved + (up ? " = add " : " = sub ") + depth_ + ", 1i32\n";
          depth_ = moved;
          break;
        }
        case 3: {
          const std::string moved = name(), chosen = name();
          out += moved + " = add " + depth_ + ", 1i32\n" + chosen + " = select %h, " + moved + ", " + depth_ + "\n";
          depth_ = chosen;
          break;
        }
        default: {
          const std::string d = depth_, z = sum_, rd = name(), rz = name();
          out += rd + ", " + rz + " = if %h : i32, i32 {\n";
          statements(out, depth - 1);
          out += "yield " + depth_ + ", " + sum_ + "\n} else {\n";
          depth_ = d, sum_ = z;
          statements(out, depth - 1);
          out += "yield " + depth_ + ", " + sum_ + "\n}\n";
          depth_ = rd, sum_ = rz;
        }
      }
  }

  Random random_;
  std::string depth_, sum_;
  int next_ = 0;
};

TEST(RawLocals, RandomStacks) {
  int raw = 0;
  for (std::uint64_t seed = 1; seed <= 2000 && !::testing::Test::HasFailure(); ++seed)
    raw += is_raw(RandomStacks(seed).program());
  EXPECT_GT(raw, 200);
  EXPECT_LT(raw, 1800);
}

std::string unrolled(const std::string& lines) {
  auto module = parse_ir(in_kernel(lines));
  auto copy = ir::clone(*module);
  ir::Function& kernel = *copy->functions.back();
  if (passes::unroll_while(kernel)) {
    EXPECT_EQ(ir::verify(*copy), "");
    passes::join_branches(kernel);
    EXPECT_EQ(ir::verify(*copy), "");
    passes::fold(kernel);
    passes::dce(kernel, nullptr);
    passes::sink_stores(kernel);
    passes::dce(kernel, nullptr);
    EXPECT_EQ(ir::verify(*copy), "") << ir::print(*copy);
  }
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(difference(run_program(*module, *module->functions.back(), seed), run_program(*copy, kernel, seed)), "")
        << lines;
  return ir::print(*copy);
}

/// One step of an insertion sort, as the front end writes `while k > 0 and best[k - 1] > d`.
std::string insertion(const std::string& start, const std::string& guard) {
  return "%s = local : array<f32,1> [8]\n%u = load %y[0i32]\n%v = load %y[1i32]\n%w = load %y[2i32]\n"
         "store %s[0i32], %u\nstore %s[1i32], %v\nstore %s[2i32], %w\n"
         "%k, %go = while (%k1 = " +
         start + ", %go1 = true) {\n  test %go1\n} do {\n  %p = gt %k1, " + guard +
         "\n  %q = if %p : bool {\n    %l = sub %k1, 1i32\n    %o = load %s[%l]\n    %r = gt %o, %a\n    yield %r\n"
         "  } else {\n    yield false\n  }\n  %k2 = if %q : i32 {\n    %l2 = sub %k1, 1i32\n    %o2 = load %s[%l2]\n"
         "    store %s[%k1], %o2\n    yield %l2\n  } else {\n    yield %k1\n  }\n  yield %k2, %q\n}\n"
         "store %s[%k], %a\n%e = load %s[0i32]\n%f = load %s[3i32]\n%g = load %s[1i32]\nstore %x[0i32], %e\n"
         "store %x[1i32], %f\nstore %x[2i32], %g";
}

TEST(UnrollWhile, StepsOfASortAreBranches) {
  const std::string code = unrolled(insertion("3i32", "0i32"));
  EXPECT_EQ(count(code, "while"), 0) << code;
  EXPECT_EQ(count(code, "if %"), 3) << code;
  EXPECT_EQ(count(code, "store %s["), 3 + 3 + 4) << code;
  for (const char* dynamic : {"%s[%", "%k"}) EXPECT_EQ(count(code, dynamic), 0) << code;
}

TEST(UnrollWhile, ListsSideBySide) {
  std::string two = insertion("3i32", "0i32");
  two.insert(two.find("%u = load"), "%t = local : array<i32,1> [8]\nstore %t[0i32], %i\n");
  two.insert(two.find("    yield %l2"), "    %o3 = load %t[%l2]\n    store %t[%k1], %o3\n");
  two.insert(two.find("%e = load"), "store %t[%k], %j\n");
  two += "\n%t0 = load %t[0i32]\n%t1 = load %t[2i32]\nstore %n[0i32], %t0\nstore %n[1i32], %t1";
  const std::string code = unrolled(two);
  for (const char* dynamic : {"while", "%s[%", "%t[%"}) EXPECT_EQ(count(code, dynamic), 0) << code;
}

TEST(UnrollWhile, OnlyWhatEndsSoon) {
  EXPECT_EQ(count(unrolled(insertion("3i32", "-1i32")), "while"), 0) << "one round more";
  EXPECT_EQ(count(unrolled(insertion("3i32", "%i")), "while"), 1) << "who knows when";
  const std::string plain =
      "%k = while (%k1 = 3i32) {\n  %p = gt %k1, 0i32\n  test %p\n} do {\n"
      "  %v = load %x[%k1]\n  %w = add %v, %a\n  store %x[%k1], %w\n  %k2 = sub %k1, 1i32\n"
      "  yield %k2\n}\nstore %n[0i32], %k";
  EXPECT_EQ(count(unrolled(plain), "while"), 1) << "no private array";
  auto long_loop = [](int rounds) {
    return "%s = local : array<f32,1> [64]\n%k, %z = while (%k1 = " + std::to_string(rounds) +
           "i32, %z1 = 0.0f32) {\n  %p = gt %k1, 0i32\n  test %p\n} do {\n  store %s[%k1], %a\n  %k2 = sub %k1, 1i32\n"
           "  %v = load %s[%k1]\n  %z2 = add %z1, %v\n  yield %k2, %z2\n}\nstore %n[0i32], %k\nstore %x[0i32], %z";
  };
  EXPECT_EQ(count(unrolled(long_loop(16)), "while"), 0);
  EXPECT_EQ(count(unrolled(long_loop(17)), "while"), 1);
}

TEST(UnrollWhile, OneLoopAfterTheOther) {
  std::string twice = insertion("3i32", "0i32");
  twice +=
      "\n%mm, %h = while (%m1 = 2i32, %h1 = 0.0f32) {\n  %mp = gt %m1, 0i32\n  test %mp\n} do {\n"
      "  %mv = load %s[%m1]\n  %mk = cast %k : f32\n  %mw = add %mv, %mk\n  %h2 = add %h1, %mw\n"
      "  %m2 = sub %m1, 1i32\n  yield %m2, %h2\n}\nstore %x[3i32], %h";
  EXPECT_EQ(count(unrolled(twice), "while"), 0);
}

/// A loop of loops over the numbers of a vector, left as soon as one of them is too large; `part` takes or puts one.
std::string over_numbers(const std::string& part, int outer, int inner) {
  return "%u = load %y[0i32]\n%w = load %y[1i32]\n%vv = construct vec<f32,6> %u, %a, %w, %u, 2.0f32, %w\n"
         "%rounds, %go, %sum, %v = while (%j1 = 0i32, %go1 = true, %s1 = 0.0f32, %v1 = %vv) {\n  %jp = lt %j1, " +
         std::to_string(outer) +
         "i32\n  %jq = bit_and %go1, %jp\n  test %jq\n} do {\n  %from = mul %j1, 3i32\n"
         "  %k, %ko, %ks, %kv = while (%k1 = 0i32, %o1 = true, %s2 = %s1, %v2 = %v1) {\n    %kp = lt %k1, " +
         std::to_string(inner) +
         "i32\n    %kq = bit_and %o1, %kp\n    test %kq\n  } do {\n    %place = add %from, %k1\n"
         "    %at = bit_and %place, 3i32\n" +
         part +
         "    %fits = lt %e, 1.5f32\n    %s3 = add %s2, %e\n    %k2 = add %k1, 1i32\n"
         "    yield %k2, %fits, %s3, %v3\n  }\n  %j2 = add %j1, 1i32\n  yield %j2, %ko, %ks, %kv\n}\n"
         "store %x[0i32], %sum\nstore %n[0i32], %rounds\n%last = extract %v[5]\nstore %x[1i32], %last";
}

TEST(UnrollWhile, NumbersOfVectors) {
  const std::string taken = "    %e = extract %v2[%at]\n    %v3 = add %v2, %vv\n";
  const std::string put = "    %e = mul %a, %s2\n    %v3 = insert %v2, %e, [%at]\n";
  for (const std::string& part : {taken, put}) {
    const std::string code = unrolled(over_numbers(part, 2, 3));
    for (const char* gone : {"while", "[%at"}) EXPECT_EQ(count(code, gone), 0) << code;
    EXPECT_EQ(count(unrolled(over_numbers(part, 2, 17)), "while"), 2) << "too many rounds";
    EXPECT_EQ(count(unrolled(over_numbers(part, 16, 3)), "while"), 1) << "the inner one alone is small enough";
  }
}

TEST(JoinBranches, OfOneCondition) {
  auto join = [](ir::Module& module) {
    for (auto& function : module.functions) passes::join_branches(*function);
  };
  expect_rewrite(join,
                 in_kernel("%p = if %c : i32 {\n  yield %i\n} else {\n  yield 1i32\n}\n"
                           "%q = if %c : i32 {\n  %r = add %p, %j\n  yield %r\n} else {\n  yield %p\n}\n"
                           "store %n[0i32], %p\nstore %n[1i32], %q"),
                 in_kernel("%p, %q = if %c : i32, i32 {\n  %r = add %i, %j\n  yield %i, %r\n} else {\n"
                           "  yield 1i32, 1i32\n}\nstore %n[0i32], %p\nstore %n[1i32], %q"));
  const std::string apart = in_kernel(
      "%p = if %c : i32 {\n  store %n[2i32], %i\n  yield %i\n} else {\n  yield 1i32\n}\n%u = load %n[2i32]\n"
      "if %c {\n  store %n[0i32], %u\n  yield\n} else {\n  yield\n}\nstore %n[1i32], %p");
  expect_rewrite(join, apart, apart);
}

TEST(SinkStores, IndicesThatOthersWantStay) {
  auto sink = [](ir::Module& module) {
    for (auto& function : module.functions) passes::sink_stores(*function);
  };
  const std::string made =
      "%s = local : array<f32,1> [4]\n%k = if %c : i32 {\n  yield 1i32\n} else {\n  yield 2i32\n}\n";
  expect_rewrite(sink, in_kernel(made + "store %s[%k], %a\n%v = load %s[1i32]\nstore %x[0i32], %v"),
                 in_kernel("%s = local : array<f32,1> [4]\nif %c {\n  store %s[1i32], %a\n  yield\n} else {\n"
                           "  store %s[2i32], %a\n  yield\n}\n%v = load %s[1i32]\nstore %x[0i32], %v"));
  const std::string other = "%p = local : array<i32,1> [4]\n";
  expect_rewrite(
      sink,
      in_kernel(other + made +
                "store %s[%k], %a\nstore %p[%k], %i\n%v = load %s[1i32]\nstore %x[0i32], %v\n"
                "%w = load %p[1i32]\nstore %n[0i32], %w"),
      in_kernel(other + "%s = local : array<f32,1> [4]\nif %c {\n  store %s[1i32], %a\n  store %p[1i32], %i\n"
                        "  yield\n} else {\n  store %s[2i32], %a\n  store %p[2i32], %i\n  yield\n}\n"
                        "%v = load %s[1i32]\nstore %x[0i32], %v\n%w = load %p[1i32]\nstore %n[0i32], %w"));
  const std::string used = in_kernel(made + "store %s[%k], %a\n%v = load %s[%k]\nstore %x[0i32], %v");
  expect_rewrite(sink, used, used);
  const std::string of_others =
      in_kernel("%k = if %c : i32 {\n  yield 1i32\n} else {\n  yield 2i32\n}\nstore %x[%k], %a");
  expect_rewrite(sink, of_others, of_others);
}

}  // namespace
}  // namespace weft::testing
