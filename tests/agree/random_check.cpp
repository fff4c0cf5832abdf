// Running random programs on several threads, comparing, shrinking.
#include "random_check.h"

#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include "executors.h"

namespace weft::agree {

namespace {

/// LLVM's levels that a program is compiled at. The work is LLVM's: most programs get no or little optimisation, some the
/// usual amount. WEFT_RANDOM_LEVELS=all: each at every level, for each has another instruction selector or other passes.
std::vector<int> levels_of(const RandomProgram& program) {
  static const char* const wanted = std::getenv("WEFT_RANDOM_LEVELS");
  if (wanted && std::string_view(wanted) == "all") return {0, 1, 2, 3};
  return {program.seed % 10 == 0 ? 2 : program.seed % 10 < 4 ? 1 : 0};
}

}  // namespace

Verdict judge(const RandomProgram& program, bool on_gpu) {
  Verdict verdict;
  try {
    const Case kernel_case = program.make_case();
    auto compare = [&](const Outcome& expected, const Executor& executor, const Grid& grid) {
      const Prepared prepared(kernel_case, executor);
      // ptxas takes selp of −1 and −0 for a comparison that gives 0: on GPUs the sign of a zero may be lost.
      const std::string text = first_difference(kernel_case, expected, prepared.run(grid), !on_gpu);
      if (!text.empty()) verdict.difference = executor.name() + ": " + text;
      return text.empty();
    };
    if (on_gpu) {
      compare(Prepared(kernel_case, Executor::interpreter()).run(), Executor::gpu(program.seed % 4 ? 1 : 2), {});
      return verdict;
    }
    const Outcome plain = Prepared(kernel_case, Executor::interpreter(false).unfused()).run();
    if (!plain.error.empty()) {
      verdict.difference = "the program fails: " + plain.error;
      return verdict;
    }
    if (!compare(plain, Executor::interpreter().unfused(), {})) return verdict;
    const Outcome expected = Prepared(kernel_case, Executor::interpreter()).run();
    const int wide = program.seed % 7 == 0   ? 4
                     : program.seed % 7 == 1 ? 8
                                             : codegen::natural_lanes(codegen::host_target());
    for (const int level : levels_of(program)) {
      if (!compare(expected, Executor::native(1, level), {})) return verdict;
      if (!compare(expected, Executor::native(wide, level), {true, program.seed % 3 ? 0 : 11})) return verdict;
    }
    // Bodies of processors with AVX-512, which no emulator has.
    if (program.seed % 3 == 1 &&
        !compare(expected, Executor::native(program.seed % 2 ? wide : 16, 1).with_free_masks(), {}))
      return verdict;
    if (program.seed % 16 == 3) {
      const Outcome debug = Prepared(kernel_case, Executor::interpreter().debug()).run();
      // Divisions by zero are reported by whichever thread comes first.
      if (debug.error.empty()) compare(debug, Executor::native(wide, 1).debug(), {});
    }
  } catch (const CaseError& error) {
    verdict.rejected = true;
    verdict.difference = std::string("does not compile: ") + error.what();
  } catch (const std::exception& error) {
    verdict.thrown = true;
    verdict.difference = std::string("exception: ") + error.what();
  }
  return verdict;
}

namespace {

struct Manner {
  bool on_gpu, thrown;
};

bool still_fails(const RandomProgram& program, Manner manner, int& budget) {
  --budget;
  const Verdict verdict = judge(program, manner.on_gpu);
  return !verdict.rejected && !verdict.difference.empty() && verdict.thrown == manner.thrown;
}

/// Tries to drop each line of a list, last first, then those inside. `whole` is the program that the list is part of.
void shrink_lines(RandomProgram& whole, std::vector<Line>& lines, Manner manner, int& budget) {
  for (std::size_t k = lines.size(); k-- > 0 && budget > 0;) {
    if (lines[k].text.starts_with("@") || lines[k].text.starts_with("def k(")) {
      shrink_lines(whole, lines[k].body, manner, budget);
      continue;
    }
    const bool decorated = k > 0 && lines[k - 1].text.starts_with("@");
    std::vector<Line> kept = lines;
    lines.erase(lines.begin() + std::ptrdiff_t(decorated ? k - 1 : k), lines.begin() + std::ptrdiff_t(k) + 1);
    if (still_fails(whole, manner, budget)) {
      if (decorated) --k;
      continue;
    }
    lines = std::move(kept);
    shrink_lines(whole, lines[k].body, manner, budget);
  }
}

}  // namespace

RandomProgram shrink(RandomProgram program, bool on_gpu) {
  int budget = 400;
  const Manner manner{on_gpu, judge(program, on_gpu).thrown};
  for (int before = budget + 1; budget > 0 && budget < before;) {
    const std::string text = program.text();
    before = budget;
    shrink_lines(program, program.lines, manner, budget);
    if (program.text() == text) break;
  }
  return program;
}

std::uint64_t check_seeds(std::uint64_t first, std::uint64_t count, int max_failures,
                          const std::function<void(const std::string&)>& report, bool on_gpu) {
  std::atomic<std::uint64_t> next{0}, done{0};
  std::atomic<int> failures{0};
  std::mutex mutex;
  auto work = [&] {
    for (;;) {
      const std::uint64_t k = next.fetch_add(1);
      if ((count && k >= count) || failures.load() >= max_failures) return;
      const RandomProgram program = random_program(first + k);
      const Verdict verdict = judge(program, on_gpu);
      done.fetch_add(1);
      if (verdict.difference.empty()) continue;
      failures.fetch_add(1);
      const RandomProgram small = verdict.rejected ? program : shrink(program, on_gpu);
      std::lock_guard lock(mutex);
      report("seed " + std::to_string(first + k) + ": " + verdict.difference + "\n" +
             (verdict.rejected ? "" : "shrunk to: " + judge(small, on_gpu).difference + "\n") +
             "threads: " + std::to_string(small.threads) + "\n" + small.text());
    }
  };
  std::vector<std::thread> workers;
  for (unsigned k = std::max(1u, std::thread::hardware_concurrency()); k > 0; --k) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  return done.load();
}

}  // namespace weft::agree
