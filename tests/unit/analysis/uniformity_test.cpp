// Lane shapes of values: what stays scalar, what is linear, what must be a vector.
#include "analysis/uniformity.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "ir/text.h"

namespace weft::analysis {
namespace {

struct Analysed {
  explicit Analysed(const std::string& body, LaneShape outer = kUniform) {
    std::string text =
        "kernel @k(%x: array<f32,2>, %n: i32, %p: array<i32,1>) form(rank 2) {\n  %o = tid 0\n  %i = tid 1\n" + body +
        "  return\n}\n";
    DiagnosticSink sink;
    module = ir::parse_module(std::make_shared<SourceFile>("t.wir", text), sink);
    if (!module) throw std::runtime_error(sink.render_all());
    entry.tids[0] = outer;
    entry.tids[1] = 1;
    shapes.emplace(*module->functions[0], entry);
    collect(*module->functions[0]->body);
  }
  void collect(const ir::Region& region) {
    for (const ir::Value* v : region.args) named[std::string(v->name)] = v;
    for (const ir::Op& op : region) {
      for (const ir::Value* v : op.results) named[std::string(v->name)] = v;
      for (const ir::Region* inner : op.regions) collect(*inner);
      if (!op.regions.empty()) loops.push_back(&op);
    }
  }
  LaneShape operator()(const std::string& name, std::uint32_t unit = 0) { return shapes->shape(named.at(name), unit); }

  std::unique_ptr<ir::Module> module;
  LaneEntry entry;
  std::optional<Uniformity> shapes;
  std::map<std::string, const ir::Value*> named;
  std::vector<const ir::Op*> loops;
};

TEST(Uniformity, ArithmeticKeepsStrides) {
  Analysed a(R"(
  %a = add %i, %n
  %b = mul %i, 3i32
  %c = sub %n, %i
  %d = shl %b, 2i32
  %e = sub %b, %b
  %f = mul %i, %n
  %g = add %n, 4i32
  %h = rem %i, 4i32
  %w = cast %i : i64
  %v = cast %a : i64
  %s = cast %d : i16
  %q = cast %i : f32
)");
  EXPECT_EQ(a("a"), 1);
  EXPECT_EQ(a("b"), 3);
  EXPECT_EQ(a("c"), -1);
  EXPECT_EQ(a("d"), 12);
  EXPECT_EQ(a("e"), kUniform);
  EXPECT_EQ(a("f"), kVarying);
  EXPECT_EQ(a("g"), kUniform);
  EXPECT_EQ(a("h"), kVarying);
  EXPECT_EQ(a("w"), 1) << "a thread index never wraps";
  EXPECT_EQ(a("v"), kVarying) << "a sum may wrap at 32 bits";
  EXPECT_EQ(a("s"), 12);
  EXPECT_EQ(a("q"), kVarying);
  EXPECT_EQ(a("o"), kUniform);
}

TEST(Uniformity, MemoryAndDescriptors) {
  Analysed a(R"(
  %row = view %x[%o]
  %col = view %x[%i]
  %u = load %row[0i32]
  %v = load %row[%i]
  %w = load %col[0i32]
  %l = local : array<f32,1> [4]
  store %l[1i32], %v
  %z = load %l[0i32]
  %t = atomic add %p[0i32], 1i32
  %m = dim %col, 0 : i32
)");
  EXPECT_EQ(a("row", kUnitData), kUniform);
  EXPECT_EQ(a("col", kUnitData), kVarying);
  EXPECT_EQ(a("col", kUnitShape), kUniform);
  EXPECT_EQ(a("col", kUnitShape + 1), kUniform) << "a row view has uniform strides";
  EXPECT_EQ(a("u"), kUniform);
  EXPECT_EQ(a("v"), kVarying);
  EXPECT_EQ(a("w"), kVarying);
  EXPECT_EQ(a("z"), kVarying);
  EXPECT_EQ(a("t"), kVarying) << "every lane sees another old value";
  EXPECT_EQ(a("m"), kUniform);
}

TEST(Uniformity, LocalsThatAllLanesWriteAlike) {
  Analysed a(R"(
  %same = local : array<i32,1> [4]
  %counted = local : array<i32,1> [4]
  %indexed = local : array<i32,1> [4]
  %parted = local : array<i32,1> [4]
  %added = local : array<i32,1> [4]
  %viewed = local : array<i32,1> [4]
  store %same[0i32], %n
  %c = lt %i, %n
  for %k = 0i32 to 3i32 step 1i32 {
    %old = load %counted[%k]
    %new = add %old, %n
    store %counted[%k], %new
    yield
  }
  store %indexed[%i], 1i32
  if %c {
    store %parted[0i32], 1i32
    yield
  } else {
    yield
  }
  %before = atomic add %added[0i32], 1i32
  %all = slice %viewed, 0, 0i64, 4i64, 1i64
  store %all[0i32], 1i32
  %s = load %same[0i32]
  %t = load %counted[2i32]
  %u = load %same[%i]
)");
  EXPECT_EQ(a("same", kUnitData), kUniform);
  EXPECT_EQ(a("counted", kUnitData), kUniform);
  EXPECT_EQ(a("s"), kUniform);
  EXPECT_EQ(a("t"), kUniform);
  EXPECT_EQ(a("u"), kVarying);
  for (const char* own : {"indexed", "parted", "added", "viewed"}) EXPECT_EQ(a(own, kUnitData), kVarying) << own;
}

TEST(Uniformity, MergesUnderVaryingConditionsVary) {
  Analysed a(R"(
  %c = lt %i, %n
  %r = if %c : i32 { yield 1i32 } else { yield 2i32 }
  %d = lt %n, 5i32
  %s = if %d : i32 { yield 1i32 } else { yield 2i32 }
  %t, %g = if %d : i32, i32 {
    %j = add %i, 1i32
    yield %j, %i
  } else {
    %k = add %i, 2i32
    yield %k, %n
  }
)");
  EXPECT_EQ(a("r"), kVarying);
  EXPECT_EQ(a("s"), kUniform);
  EXPECT_EQ(a("t"), 1) << "both sides are linear";
  EXPECT_EQ(a("g"), kVarying);
}

TEST(Uniformity, LoopsReachAFixpoint) {
  Analysed a(R"(
  %s, %t, %u = for %j = 0i32 to %n step 1i32 (%a = 0i32, %b = %i, %c = 0i32) {
    %a2 = add %a, %j
    %b2 = add %b, 5i32
    %c2 = add %c, %a
    yield %a2, %b2, %c2
  }
  %r = for %k = 0i32 to %n step 1i32 (%e = 0i32) {
    %f = add %e, %i
    yield %f
  }
  %q = for %m = 0i32 to %i step 1i32 (%g = 0i32) {
    %h = add %g, 1i32
    yield %h
  }
)");
  EXPECT_EQ(a("s"), kUniform);
  EXPECT_EQ(a("t"), 1);
  EXPECT_EQ(a("u"), kUniform);
  EXPECT_EQ(a("r"), kVarying) << "a stride that grows from turn to turn";
  EXPECT_EQ(a("q"), kVarying) << "lanes leave at different times";
  EXPECT_EQ(a("m"), kUniform) << "but all that are in it are in the same turn";
  EXPECT_FALSE(a.shapes->divergent(*a.loops[0]));
  EXPECT_TRUE(a.shapes->divergent(*a.loops[2]));
  EXPECT_LT(a.shapes->rounds(), 8);
}

TEST(Uniformity, WhileTurnsVaryingWhenItsTestDoes) {
  Analysed a(R"(
  %s, %k = while (%s1 = 0i32, %k1 = 0i32) {
    %go = lt %k1, %n
    test %go
  } do {
    %w = load %p[%s1]
    %s2 = add %s1, %w
    %k2 = add %k1, 1i32
    yield %s2, %k2
  }
  %t, %m = while (%t1 = 0i32, %m1 = 0i32) {
    %lt = lt %t1, 10i32
    test %lt
  } do {
    %v = load %p[%i]
    %t2 = add %t1, %v
    %m2 = add %m1, 1i32
    yield %t2, %m2
  }
)");
  EXPECT_EQ(a("s"), kUniform);
  EXPECT_EQ(a("k"), kUniform);
  EXPECT_EQ(a("t"), kVarying);
  EXPECT_EQ(a("m"), kVarying);
}

TEST(Uniformity, LongRotationsEnd) {
  // Forty carried values passed along by one place each turn: more rounds than the analysis allows itself.
  std::string names, yields;
  for (int k = 0; k < 40; ++k) {
    names += (k ? ", %c" : "%c") + std::to_string(k) + " = " + (k == 39 ? "%f" : "0.0f32");
    yields += (k ? ", %c" : " %c") + std::to_string((k + 1) % 40);
  }
  std::string results;
  for (int k = 0; k < 40; ++k) results += (k ? ", %r" : "%r") + std::to_string(k);
  Analysed a("  %f = cast %i : f32\n  " + results + " = for %j = 0i32 to %n step 1i32 (" + names + ") {\n    yield" +
             yields + "\n  }\n");
  for (int k = 0; k < 40; ++k) EXPECT_EQ(a("r" + std::to_string(k)), kVarying);
  EXPECT_LT(a.shapes->rounds(), 40);
}

}  // namespace
}  // namespace weft::analysis
