// Random kernels without end, for `make fuzz` and for reproducing a seed.
//
//   weft_agree_fuzz [--seed N] [--count M] [--seconds S] [--print]     count 0: until stopped
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "random_check.h"

int main(int argc, char** argv) {
  std::uint64_t seed = 1, count = 0, seconds = 0;
  bool print = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--print") {
      print = true;
      continue;
    }
    const bool known = name == "--seed" || name == "--count" || name == "--seconds";
    if (!known || i + 1 >= argc) {
      std::fprintf(stderr, "usage: weft_agree_fuzz [--seed N] [--count M] [--seconds S] [--print]\n");
      return 2;
    }
    const std::uint64_t value = std::strtoull(argv[++i], nullptr, 10);
    (name == "--seed" ? seed : name == "--count" ? count : seconds) = value;
  }
  if (print) {
    std::printf("%s", weft::agree::random_program(seed).text().c_str());
    return 0;
  }
  int failures = 0;
  std::uint64_t checked = 0;
  auto report = [&](const std::string& text) {
    ++failures;
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  };
  // Batches keep the run answerable to the clock.
  const auto start = std::chrono::steady_clock::now();
  for (constexpr std::uint64_t kBatch = 500; failures == 0 && (count == 0 || checked < count);) {
    const std::uint64_t batch = count == 0 ? kBatch : std::min(kBatch, count - checked);
    checked += weft::agree::check_seeds(seed + checked, batch, 5, report);
    if (seconds && std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds)) break;
  }
  std::printf("%llu programs from seed %llu, %d failures\n", static_cast<unsigned long long>(checked),
              static_cast<unsigned long long>(seed), failures);
  return failures ? 1 : 0;
}
