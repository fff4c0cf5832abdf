// What kernels tell the outside: failed checks, prints, the stop flag; and what the back end refuses.
#include "harness.h"

#include <atomic>
#include <thread>

#include "codegen/cpu/lane_choice.h"
#include "codegen/cpu/spin_loops.h"
#include "codegen/target.h"
#include "runtime/print_buffer.h"

namespace weft::codegen::test {
namespace {

TEST(Effect, FirstFailingLaneIsRecorded) {
  Program program(R"(
kernel @k(%x: array<i32,1>, %n: i32) form(rank 1) {
  %i = tid 0
  %v = load %x[%i]
  %fine = gt %n, 0i32
  assert %fine, "n"
  %ok = lt %v, %n
  check bounds %ok, "x", %v, %n
  return
}
)");
  for (int lanes : {1, 2, 4, 8, 16}) {
    std::vector<std::int32_t> x(50, 0);
    x[23] = 77;
    x[24] = 99;
    Failure none = run(program, Block(program).array(x).scalar(std::int32_t(100)), {50}, {.lanes = lanes});
    EXPECT_EQ(none.state, 0);
    Failure bad = run(program, Block(program).array(x).scalar(std::int32_t(50)), {50}, {.lanes = lanes});
    EXPECT_EQ(bad.state, 2);
    EXPECT_EQ(bad.site, 1);
    EXPECT_EQ(bad.linear, 23) << lanes;
    EXPECT_EQ(bad.index, 77);
    EXPECT_EQ(bad.extent, 50);
    Failure uniform = run(program, Block(program).array(x).scalar(std::int32_t(-1)), {50}, {.lanes = lanes});
    EXPECT_EQ(uniform.site, 0);
    EXPECT_EQ(uniform.linear, 0);
  }
}

TEST(Effect, PrintsInLaneOrder) {
  Program program(R"(
kernel @k(%x: array<vec<f32,2>,1>) form(rank 1) {
  %i = tid 0
  %odd = bit_and %i, 1i32
  %c = eq %odd, 1i32
  if %c {
    %v = load %x[%i]
    print "at ", %i, %v
    printf "%d %s\n", %i
    yield
  } else { yield }
  return
}
)");
  EXPECT_THROW(emit(*program.module, program.kernel(), host_target(), {}, Output::object), Error);
  Program good(R"(
kernel @k(%x: array<vec<f32,2>,1>) form(rank 1) {
  %i = tid 0
  %odd = bit_and %i, 1i32
  %c = eq %odd, 1i32
  if %c {
    %v = load %x[%i]
    print "at ", %v
    printf "<%d>\n", %i
    yield
  } else { yield }
  return
}
)");
  std::string first;
  for (int lanes : {1, 4}) {
    EmitOptions options;
    options.lanes = lanes;
    options.verify = true;
    Emitted code = emit(*good.module, good.kernel(), host_target(), options, Output::object);
    auto loaded = load_object(code.bytes, code.entry);
    std::string text;
    runtime::PrintSink sink = [&](std::string_view piece) { text += piece; };
    {
      runtime::PrintBuffer buffer(1, &sink);
      runtime::LaunchContext context;
      context.dims[0] = 7;
      context.print = &buffer;
      std::vector<float> x = {0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0};
      Block block(good);
      block.array(x, {7});
      loaded->entry()(0, 7, block.data(), &context);
    }
    EXPECT_NE(text.find("at 1 2"), std::string::npos) << text;
    EXPECT_NE(text.find("<5>"), std::string::npos) << text;
    if (lanes == 1) first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(Effect, StopFlagEndsLoops) {
  Program program(R"(
kernel @k(%x: array<i32,1>) form(rank 1) {
  %i = tid 0
  %k = while (%k1 = 0i32) {
    %r = running
    test %r
  } do {
    %k2 = add %k1, 1i32
    yield %k2
  }
  store %x[%i], %k
  return
}
)");
  EmitOptions options;
  options.lanes = 4;
  Emitted code = emit(*program.module, program.kernel(), host_target(), options, Output::object);
  auto loaded = load_object(code.bytes, code.entry);
  runtime::LaunchContext context;
  context.dims[0] = 4;
  std::vector<std::int32_t> x(4, -1);
  Block block(program);
  block.array(x);
  std::thread other([&] { loaded->entry()(0, 4, block.data(), &context); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  context.stop = 1;
  other.join();
  EXPECT_NE(x[3], 0);  // -1 if the loop counted its turns just then, and left the kernel
}

TEST(Effect, SpinLoopsRunOnOneLane) {
  Program spin(R"(
kernel @k(%lock: array<i32,1>, %sum: array<f32,1>) form(no_overlap, rank 1) {
  %done = while (%go = true) {
    test %go
  } do {
    %old = atomic cas %lock[0i32], 0i32, 1i32
    %free = eq %old, 0i32
    if %free {
      %s = load %sum[0i32]
      %t = add %s, 1.0f32
      store %sum[0i32], %t
      %u = atomic exch %lock[0i32], 0i32
      yield
    } else { yield }
    %again = bit_not %free
    yield %again
  }
  return
}
)");
  EXPECT_TRUE(has_spin_loop(spin.kernel()));
  EXPECT_EQ(choose_lanes(spin.kernel(), host_target()), 1);
  EmitOptions wide;
  wide.lanes = 8;
  EXPECT_EQ(emit(*spin.module, spin.kernel(), host_target(), wide, Output::llvm_ir).lanes, 1);
  std::vector<std::int32_t> lock(1, 0);
  std::vector<float> sum(1, 0.0f);
  run(spin, Block(spin).array(lock).array(sum), {64}, {.lanes = 8});
  EXPECT_EQ(sum[0], 64.0f);

  Program walk(R"(
kernel @k(%next: array<i32,1>, %out: array<i32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %at = while (%a = %i) {
    %more = ge %a, 0i32
    test %more
  } do {
    %b = load %next[%a]
    store %out[%i], %a
    yield %b
  }
  return
}
)");
  EXPECT_FALSE(has_spin_loop(walk.kernel())) << "a list that the kernel only reads can't change";

  Program adjoint(R"(
kernel @k(%x: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %a = load %x[%i]
  %s, %n = while (%b = %a, %c = 0i32) {
    %more = lt %b, 9.0f32
    test %more
  } do {
    %d = add %b, 1.0f32
    %e = add %c, 1i32
    yield %d, %e
  }
  %g = gradient %x
  store %g[%i], %s
  return
}
)");
  EXPECT_FALSE(has_spin_loop(adjoint.kernel())) << "values don't change with gradients";
}

TEST(Effect, OnlyMemoryThatMayChangeIsWaitedFor) {
  // A walk along a list that lies in `list`, in a kernel that writes to an array.
  auto walk = [](const std::string& list) {
    return Program(
        "struct %S { n: i32, next: array<i32,1>, seen: array<i32,1> }\n"
        "kernel @k(%s: %S, %all: array<%S,1>, %p: u64, %out: array<i32,1>) form(no_overlap, rank 1) {\n"
        "  %i = tid 0\n" +
        list +
        "\n  %at = while (%a = %i) {\n    %more = ge %a, 0i32\n    test %more\n  } do {\n"
        "    %b = load %next[%a]\n    store %out[%i], %a\n    yield %b\n  }\n  return\n}\n");
  };
  Program field = walk("%next = extract %s.1");
  EXPECT_FALSE(has_spin_loop(field.kernel())) << "an array of a struct lies apart like any other";
  EmitOptions wide;
  wide.lanes = 4;
  EXPECT_EQ(emit(*field.module, field.kernel(), host_target(), wide, Output::llvm_ir).lanes, 4);
  EXPECT_FALSE(has_spin_loop(walk("%next = from_ptr(fixed) %p, 9i64 : array<i32,1>").kernel()));
  // Another thread may write there: in lockstep it would never come to do so.
  Program unknown = walk("%next = from_ptr %p, 9i64 : array<i32,1>");
  EXPECT_TRUE(has_spin_loop(unknown.kernel()));
  EXPECT_EQ(emit(*unknown.module, unknown.kernel(), host_target(), wide, Output::llvm_ir).lanes, 1);
  EXPECT_TRUE(has_spin_loop(walk("%next = load %all[0i32].1").kernel()));
  Program written = walk("%next = extract %s.1\n%seen = extract %s.2\nstore %seen[%i], 1i32\nstore %next[%i], 1i32");
  EXPECT_TRUE(has_spin_loop(written.kernel()));
  EXPECT_FALSE(has_spin_loop(walk("%next = extract %s.1\n%seen = extract %s.2\nstore %seen[%i], 1i32").kernel()));
}

TEST(Effect, LoopsOfFunctionsWaitForWhatTheirCallersStore) {
  // Each thread waits for the one before it, in a function that stores nothing itself.
  const std::string wait = R"(
struct %S { n: i32, list: array<i32,1>, seen: array<i32,1> }
func @wait(%flag: array<i32,1>, %i: i32) -> (i32) {
  %v = while (%a = 0i32) {
    %z = eq %a, 0i32
    test %z
  } do {
    %b = load %flag[%i]
    yield %b
  }
  return %v
}
func @read(%flag: array<i32,1>, %i: i32) -> (i32) {
  %v = load %flag[%i]
  return %v
}
)";
  auto kernel = [&](const std::string& body, const std::string& to = "flag") {
    return Program(wait + R"(
kernel @k(%flag: array<i32,1>, %out: array<i32,1>, %s: %S) form(no_overlap, rank 1) {
  %i = tid 0
  %later = gt %i, 0i32
  %list = extract %s.1
  %seen = extract %s.2
  %p = if %later : i32 {
    %j = sub %i, 1i32
)" + body + R"(
    yield %w
  } else { yield 0i32 }
  %q = add %p, 1i32
  store %)" + to + R"([%i], %q
  return
}
)");
  };
  const std::string loads = R"(
    %w = while (%a = 0i32) {
      %z = eq %a, 0i32
      test %z
    } do {
      %b = call @read(%flag, %j)
      yield %b
    })";
  const std::string stored = R"(
    %l = local : array<i32,1> [1]
    %n = while (%a = 0i32) {
      %z = eq %a, 0i32
      test %z
    } do {
      %b = load %flag[%j]
      %c = ne %b, 0i32
      if %c {
        store %l[0i32], 1i32
        yield
      } else { yield }
      %y = load %l[0i32]
      yield %y
    }
    %w = load %flag[%j])";
  for (const std::string& body : {std::string("    %w = call @wait(%flag, %j)"), loads, stored}) {
    Program spins = kernel(body);
    EXPECT_TRUE(has_spin_loop(spins.kernel())) << body;
    std::vector<std::int32_t> flag(64, 0), out(64, 0);
    struct {
      std::int32_t n = 0;
      ArrayDesc list, seen;
    } s;
    run(spins, Block(spins).array(flag).array(out).scalar(s), {64}, {.lanes = 8});
    EXPECT_EQ(flag[63], 64);
    EXPECT_FALSE(has_spin_loop(kernel(body, "out").kernel())) << "nobody writes to the flags";
  }
  EXPECT_TRUE(has_spin_loop(kernel("    %w = call @wait(%list, %j)", "list").kernel()));
  EXPECT_FALSE(has_spin_loop(kernel("    %w = call @wait(%list, %j)", "seen").kernel()));
}

TEST(Effect, TreesOfCallsAreLookedThroughOnce) {
  std::string text = "func @f0(%x: array<i32,1>) {\n  %v = load %x[0i32]\n  store %x[1i32], %v\n  return\n}\n";
  for (int k = 1; k < 200; ++k) {
    text += "func @f" + std::to_string(k) + "(%x: array<i32,1>) {\n";
    for (int back : {1, 1, 2})
      if (k >= back) text += "  call @f" + std::to_string(k - back) + "(%x)\n";
    text += "  return\n}\n";
  }
  Program calls(text + "kernel @k(%x: array<i32,1>) form(rank 1) {\n  call @f199(%x)\n  return\n}\n");
  EXPECT_FALSE(has_spin_loop(calls.kernel()));
}

TEST(Effect, AnyIsTheSameForAllLanes) {
  Program program(R"(
kernel @k(%n: array<i32,1>, %own: array<i32,1>, %most: array<i32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %m = load %n[%i]
  %mine, %all = while (%a = 0i32, %b = 0i32) {
    %go = lt %b, %m
    %some = any %go
    test %some
  } do {
    %in = lt %b, %m
    %next = add %b, 1i32
    %c = select %in, %next, %a
    yield %c, %next
  }
  store %own[%i], %mine
  store %most[%i], %all
  return
}
)");
  std::vector<std::int32_t> n;
  for (int i = 0; i < 50; ++i) n.push_back(i * 7 % 11);
  for (int lanes : {1, 2, 4, 8, 16}) {
    std::vector<std::int32_t> own(50), most(50);
    run(program, Block(program).array(n).array(own).array(most), {50}, {.lanes = lanes});
    EXPECT_EQ(own, n) << lanes;
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_GE(most[i], n[i]);
      if (lanes == 1) {
        EXPECT_EQ(most[i], n[i]);
      }
    }
    const auto group = std::size_t(lanes);
    for (std::size_t i = 0; i < 50 / group * group; ++i) EXPECT_EQ(most[i], most[i / group * group]) << lanes;
  }
}

TEST(Effect, LanesAreChosenByWhatTheyGain) {
  auto kernel = [](const std::string& type, const std::string& body) {
    return Program("kernel @k(%x: array<" + type +
                   ",1>) form(no_overlap, rank 1) {\n  %i = tid 0\n  %v = load %x[%i]\n" + body +
                   "  store %x[%i], %w\n  return\n}\n");
  };
  int natural = natural_lanes(host_target());
  // Several registers for a value where that is cheap, up to 16 lanes, with AVX2 and AVX-512 32.
  int wide = natural >= 8 ? 32 : 16;
  EXPECT_EQ(choose_lanes(kernel("f32", "  %w = mul %v, %v\n").kernel(), host_target()), wide);
  EXPECT_EQ(choose_lanes(kernel("f32", "  %s = sin %v\n  %w = exp %s\n").kernel(), host_target()), wide);
  EXPECT_EQ(choose_lanes(kernel("f64", "  %w = mul %v, %v\n").kernel(), host_target()), natural);
  std::string much = "  %a0 = mul %v, %v\n";
  for (int k = 0; k < 900; ++k) much += "  %a" + std::to_string(k + 1) + " = add %a" + std::to_string(k) + ", %v\n";
  EXPECT_EQ(choose_lanes(kernel("f32", much + "  %w = add %a900, %v\n").kernel(), host_target()), natural);
  EXPECT_EQ(choose_lanes(kernel("f32", "  %w = mul %v, %v\n").kernel(), nvptx_target(80)), 1);
}

TEST(Effect, ManyBranchesTakeOneRegisterOfLanesWithAvx512) {
  TargetSpec xeon;
  xeon.triple = "x86_64-unknown-linux-gnu";
  xeon.cpu_name = "sapphirerapids";
  xeon.features = "+avx2,+avx512f";
  auto lanes = [&](int branches) {
    std::string body = "  %v0 = load %x[%i]\n";
    for (int k = 0; k < branches; ++k) {
      const std::string n = std::to_string(k), v = "%v" + n;
      body += "  %c" + n + " = gt " + v + ", 1.0f32\n  %v" + std::to_string(k + 1) + " = if %c" + n +
              " : f32 {\n    %s" + n + " = sin " + v + "\n    yield %s" + n + "\n  } else {\n    yield " + v +
              "\n  }\n";
    }
    Program program("kernel @k(%x: array<f32,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n" + body +
                    "  store %x[%i], %v" + std::to_string(branches) + "\n  return\n}\n");
    return choose_lanes(program.kernel(), xeon);
  };
  EXPECT_EQ(lanes(0), 32);
  EXPECT_EQ(lanes(3), 32);
  EXPECT_EQ(lanes(4), 16);
}

/// Branches that all lanes take together are no code under masks.
TEST(Effect, BranchesOfTheWholeLaunchDontCount) {
  TargetSpec xeon;
  xeon.triple = "x86_64-unknown-linux-gnu";
  xeon.cpu_name = "sapphirerapids";
  xeon.features = "+avx2,+avx512f";
  std::string body;
  for (int k = 0; k < 5; ++k)
    body += "  if %also {\n    %v" + std::to_string(k) + " = load %x[%i]\n    %s" + std::to_string(k) + " = sin %v" +
            std::to_string(k) + "\n    store %x[%i], %s" + std::to_string(k) +
            "\n    yield\n  } else {\n    yield\n  }\n";
  Program program("kernel @k(%x: array<f32,1>, %also: bool) form(no_overlap, rank 1) {\n  %i = tid 0\n" + body +
                  "  return\n}\n");
  EXPECT_EQ(choose_lanes(program.kernel(), xeon), 32);
}

/// Reads of places apart cost lanes what they cost a thread alone where gathers are slow, and more where loops are of different lengths.
TEST(Effect, LoopsOverPlacesApartTakeOneLaneWhereGathersAreSlow) {
  Program program(
      R"(kernel @k(%x: array<f32,1>, %at: array<i32,1>, %first: array<i32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {
  %i = tid 0
  %begin = load %first[%i]
  %j = add %i, 1i32
  %end = load %first[%j]
  %sum = for %k = %begin to %end step 1i32 (%s = 0.0f32) {
    %a = load %at[%k]
    %v = load %x[%a]
    %t = add %s, %v
    yield %t
  }
  store %out[%i], %sum
  return
}
)");
  auto lanes = [&](const char* name) {
    TargetSpec xeon;
    xeon.triple = "x86_64-unknown-linux-gnu";
    xeon.cpu_name = name;
    xeon.features = "+avx2,+avx512f,+fast-gather";
    return choose_lanes(program.kernel(), xeon);
  };
  EXPECT_GT(lanes("sapphirerapids"), 1);
  EXPECT_EQ(lanes("cascadelake"), 1);
}

/// Elements that stream through registers wait for memory alone: two registers' worth and four are code that nothing is gained by.
TEST(Effect, StreamsOfElementsTakeSixteenLanes) {
  auto lanes = [](const std::string& middle, const char* features) {
    Program program(
        "kernel @k(%x: array<vec<f32,3>,1>, %y: array<vec<f32,3>,1>, %at: array<i32,1>, %f: f32) "
        "form(no_overlap, rank 1) {\n  %i = tid 0\n" +
        middle + "  store %y[%i], %w\n  return\n}\n");
    TargetSpec target;
    target.triple = "x86_64-unknown-linux-gnu";
    target.cpu_name = "sapphirerapids";
    target.features = features;
    return choose_lanes(program.kernel(), target);
  };
  const std::string stream = "  %v = load %x[%i]\n  %w = scale %v, %f\n";
  const std::string waves =
      "  %v = load %x[%i]\n  %s = sin %f\n  %g = sin %s\n  %h = extract %v[0]\n  %c = cos %h\n  %w = scale %v, %c\n";
  const std::string apart = "  %a = load %at[%i]\n  %v = load %x[%a]\n  %w = scale %v, %f\n";
  std::vector<const char*> wide = {"+avx2,+avx512f,+fast-gather"};
#if defined(__x86_64__)
  wide.push_back(
      "+avx2,+fast-gather");  // LLVM's x86 is asked whether gathers are worth it, and other machines lack that
#endif
  for (const char* features : wide) {
    EXPECT_EQ(lanes(stream, features), 16) << features;
    EXPECT_EQ(lanes(waves, features), 32) << features;
  }
  EXPECT_EQ(lanes(apart, "+avx2,+avx512f,+fast-gather"), 32);
  EXPECT_EQ(lanes(stream, "+sse4.2"), 16);
}

TEST(Effect, BlocksWithTrianglesRunSideBySideWithAvx512) {
  const std::string begin =
      "kernel @k(%a: array<f32,3>) form(no_overlap, rank 2) {\n  %w = tid 0\n  %m = local(tile) : array<f32,1> [256]\n"
      "  for %i = 0i32 to 16i32 step 1i32 {\n    %r = mul %i, 16i32\n    for %j = 0i32 to 16i32 step 1i32 {\n"
      "      %x = load %a[%w, %i, %j]\n      %p = add %r, %j\n      store %m[%p], %x\n      yield\n    }\n    yield\n  }\n";
  const std::string end = "  %s = load %m[17i32]\n  store %a[%w, 0i32, 0i32], %s\n  return\n}\n";
  // What stands behind and below each pivot takes it in.
  const std::string triangle =
      "  for %k = 0i32 to 16i32 step 1i32 {\n    %n = add %k, 1i32\n    %t = mul %k, 16i32\n    %kk = add %t, %k\n"
      "    %v = load %m[%kk]\n    %d = sqrt %v\n    for %i2 = %n to 16i32 step 1i32 {\n      %r2 = mul %i2, 16i32\n"
      "      %ik = add %r2, %k\n      %l = load %m[%ik]\n      %q = div %l, %d\n      for %j2 = %n to 16i32 step 1i32 {\n"
      "        %kj = add %t, %j2\n        %u = load %m[%kj]\n        %ij = add %r2, %j2\n        %o = load %m[%ij]\n"
      "        %z = fma %q, %u, %o\n        store %m[%ij], %z\n        yield\n      }\n      yield\n    }\n    yield\n  }\n";
  const std::string rows =
      "  for %k = 0i32 to 16i32 step 1i32 {\n    %t = mul %k, 16i32\n    %v = load %m[%t]\n"
      "    for %i2 = 0i32 to 16i32 step 1i32 {\n      %r2 = mul %i2, 16i32\n      for %j2 = 0i32 to 16i32 step 1i32 {\n"
      "        %kj = add %t, %j2\n        %u = load %m[%kj]\n        %ij = add %r2, %j2\n        %o = load %m[%ij]\n"
      "        %z = fma %v, %u, %o\n        store %m[%ij], %z\n        yield\n      }\n      yield\n    }\n    yield\n  }\n";
  auto lanes = [&](const std::string& body, const std::string& features) {
    TargetSpec target;
    target.triple = "x86_64-unknown-linux-gnu";
    target.cpu_name = "cascadelake";
    target.features = features;
    return choose_lanes(Program(begin + body + end).kernel(), target);
  };
  const std::string avx512 = "+avx2,+avx512f,+avx512bw,+avx512vl,+avx512dq";
  EXPECT_EQ(lanes(triangle, avx512), 16);
  EXPECT_EQ(lanes(rows, avx512), 1);
  EXPECT_EQ(lanes(triangle, "+avx2,-avx512f"), 1);
}

TEST(Effect, LanesAreChosenByPlaces) {
  auto kernel = [](const std::string& body) {
    return Program(
        "kernel @k(%x: array<f32,1>, %at: array<i32,1>, %out: array<f32,1>) form(no_overlap, rank 1) {\n  %i = tid 0\n" +
        body + "  return\n}\n");
  };
  int natural = natural_lanes(host_target());
  // Lanes that add to one place are summed up first; from a place each, without quick gathers, one lane is as fast.
  Program sum = kernel("  %v = load %x[%i]\n  %old = atomic add %out[0i32], %v\n");
  EXPECT_GE(choose_lanes(sum.kernel(), host_target()), natural);
  Program gather = kernel("  %a = load %at[%i]\n  %v = load %x[%a]\n  store %out[%i], %v\n");
  EXPECT_EQ(choose_lanes(gather.kernel(), host_target()) > 1, traits_of(host_target()).quick_gathers);
}

TEST(Effect, PrivateMemoryHasLimits) {
  auto with = [](const std::string& shape) {
    return "kernel @k(%out: array<f32,1>) form(rank 1) {\n  %i = tid 0\n  %a = local : array<f32,2> [" + shape +
           "]\n  %v = load %a[0i32, %i]\n  store %out[%i], %v\n  return\n}\n";
  };
  Program large(with("100, 1000"));
  EXPECT_EQ(choose_lanes(large.kernel(), host_target()), 1);
  Program huge(with("4096, 4096"));
  try {
    emit(*huge.module, huge.kernel(), host_target(), {}, Output::object);
    FAIL() << "64 MiB of locals must be refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("private memory"), std::string::npos);
    EXPECT_EQ(error.loc().line, 3u);
  }
}

TEST(Effect, DamagedObjectsAreErrors) {
  EXPECT_THROW(load_object(std::string("not an object"), "k"), Error);
  Program program(
      "kernel @k(%x: array<f32,1>) form(rank 1) {\n  %i = tid 0\n  %v = load %x[%i]\n  %s = sin %v\n  store %x[%i], %s\n  return\n}\n");
  Emitted code = emit(*program.module, program.kernel(), host_target(), {}, Output::object);
  EXPECT_THROW(load_object(code.bytes, "other"), Error);
  for (std::size_t cut : {16u, 64u, 200u, 600u}) {
    ASSERT_LT(cut, code.bytes.size());
    EXPECT_THROW(load_object(std::span(code.bytes).first(cut), code.entry), Error) << cut;
  }
}

TEST(Effect, ThreadsCompileAndLoadAtOnce) {
  Program program(
      "kernel @k(%x: array<f32,1>) form(rank 1) {\n  %i = tid 0\n  %v = load %x[%i]\n  %s = exp %v\n  store %x[%i], %s\n  return\n}\n");
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        std::vector<float> x(20, 0.0f);
        run(program, Block(program).array(x), {20}, {.lanes = k % 2 ? 8 : 1});
        good += x == std::vector<float>(20, 1.0f);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 20);
}

}  // namespace
}  // namespace weft::codegen::test
