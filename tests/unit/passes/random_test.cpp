// Thousands of random programs: every pass alone, and all of them together, must leave the results as they were.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/clone.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/bounds_check.h"
#include "passes/contract.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/fold.h"
#include "passes/inline_calls.h"
#include "passes/join_branches.h"
#include "passes/licm.h"
#include "passes/raw_locals.h"
#include "passes/simplify.h"
#include "passes/unroll.h"
#include "passes/unroll_while.h"
#include "random_ir.h"

namespace weft::testing {
namespace {

using Pass = void (*)(ir::Module&);

template <bool (*function_pass)(ir::Function&, analysis::Effects*)>
void each_with_effects(ir::Module& module) {
  for (auto& function : module.functions) function_pass(*function, nullptr);
}
template <bool (*function_pass)(ir::Function&)>
void each(ir::Module& module) {
  for (auto& function : module.functions) function_pass(*function);
}

void run_all(ir::Module& module) {
  passes::inline_calls(module);
  for (int round = 0; round < 2; ++round) {
    each<passes::fold>(module);
    each<passes::simplify>(module);
    each_with_effects<passes::cse>(module);
    each_with_effects<passes::licm>(module);
    for (auto& function : module.functions) passes::unroll(*function);
    each_with_effects<passes::dce>(module);
  }
}

struct Row {
  const char* name;
  Pass run;
  bool settles = false;  // a second run finds nothing more to do
};

const Row kPasses[] = {
    {"fold", each<passes::fold>, true},
    {"simplify", each<passes::simplify>, true},
    {"cse", each_with_effects<passes::cse>, true},
    {"dce", each_with_effects<passes::dce>, true},
    {"licm", each_with_effects<passes::licm>, true},
    {"inline", [](ir::Module& m) { passes::inline_calls(m); }, true},
    {"unroll",
     [](ir::Module& m) {
       for (auto& f : m.functions) passes::unroll(*f);
     },
     true},
    {"bounds_check",
     [](ir::Module& m) {
       for (auto& f : m.functions) passes::bounds_check(*f, {.divisions = false});
     }},
    {"unroll_while",
     [](ir::Module& m) {
       for (auto& f : m.functions) passes::unroll_while(*f);
     },
     true},
    {"join_branches", each<passes::join_branches>, true},
    {"sink_stores", each<passes::sink_stores>, true},
    {"raw_locals", each<passes::raw_locals>, true},
    {"all", run_all},
    {"all, then late",
     [](ir::Module& m) {
       run_all(m);
       for (auto& f : m.functions) passes::unroll_while(*f);
       each<passes::join_branches>(m);
       each<passes::fold>(m);
       each_with_effects<passes::dce>(m);
       each<passes::sink_stores>(m);
       each<passes::raw_locals>(m);
     }},
    {"checked, then all",
     [](ir::Module& m) {
       for (auto& f : m.functions) passes::bounds_check(*f);
       run_all(m);
     }},
};

std::uint64_t programs(std::uint64_t usual) {
  const char* given = std::getenv("WEFT_RANDOM_PROGRAMS");
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

TEST(RandomPrograms, AreWellFormedAndRun) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomProgram program = random_program(seed);
    ASSERT_EQ(ir::verify(*program.module), "") << "seed " << seed << "\n" << ir::print(*program.module);
    Outcome outcome = run_program(*program.module, *program.kernel, seed);
    ASSERT_EQ(outcome.error, "") << "seed " << seed << "\n" << ir::print(*program.module);
  }
}

TEST(RandomPrograms, PassesKeepResults) {
  std::size_t unchecked = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= programs(1500); ++seed) {
    RandomProgram program = random_program(seed);
    Outcome expected = run_program(*program.module, *program.kernel, seed);
    for (const Row& pass : kPasses) {
      std::unique_ptr<ir::Module> copy = ir::clone(*program.module);
      pass.run(*copy);
      ASSERT_EQ(ir::verify(*copy), "") << pass.name << ", seed " << seed << "\n"
                                       << ir::print(*program.module) << "\n→\n"
                                       << ir::print(*copy);
      Outcome got = run_program(*copy, *copy->functions.back(), seed);
      ++(got.check_failed ? unchecked : compared);
      if (got.check_failed) continue;  // a division by zero, for one: the launch stops where the unchecked one goes on
      ASSERT_EQ(difference(expected, got), "") << pass.name << ", seed " << seed << "\n"
                                               << ir::print(*program.module) << "\n→\n"
                                               << ir::print(*copy);
    }
  }
  EXPECT_GT(compared, unchecked * 8);  // most runs, those with checks included, get to the end
}

TEST(RandomPrograms, ChecksMakeWildIndicesHarmless) {
  std::size_t failed = 0;
  for (std::uint64_t seed = 1; seed <= programs(800); ++seed) {
    RandomProgram program = random_program(seed, {.wild_indices = true});
    for (auto& function : program.module->functions) passes::bounds_check(*function, {.not_finite = seed % 2 == 0});
    ASSERT_EQ(ir::verify(*program.module), "") << "seed " << seed;
    Outcome expected = run_program(*program.module, *program.kernel, seed);
    ASSERT_EQ(expected.error, "") << "seed " << seed << "\n" << ir::print(*program.module);
    failed += expected.check_failed;
    run_all(*program.module);
    ASSERT_EQ(ir::verify(*program.module), "") << "seed " << seed;
    Outcome got = run_program(*program.module, *program.kernel, seed);
    ASSERT_EQ(difference(expected, got), "") << "seed " << seed << "\n" << ir::print(*program.module);
    ASSERT_EQ(expected.check_failed, got.check_failed) << "seed " << seed;
  }
  EXPECT_GT(failed, 0u);
}

TEST(RandomPrograms, PassesSettle) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    RandomProgram program = random_program(seed, {.math = false});
    for (const Row& pass : kPasses) {
      if (!pass.settles) continue;
      std::unique_ptr<ir::Module> copy = ir::clone(*program.module);
      pass.run(*copy);
      std::string once = ir::print(*copy);
      pass.run(*copy);
      ASSERT_EQ(once, ir::print(*copy)) << pass.name << ", seed " << seed << "\n" << ir::print(*program.module);
    }
  }
}

bool contract_all(ir::Function& function) { return passes::contract(function); }

TEST(RandomPrograms, ContractionIsWellFormedAndSettles) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomProgram program = random_program(seed);
    each<contract_all>(*program.module);
    ASSERT_EQ(ir::verify(*program.module), "") << "seed " << seed;
    EXPECT_EQ(run_program(*program.module, *program.kernel, seed).error, "");
    std::string once = ir::print(*program.module);
    each<contract_all>(*program.module);
    ASSERT_EQ(once, ir::print(*program.module)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::testing
