// BENCH_QUICK=1: every program measures less, for a look at all of them in minutes. Figures vary more.
#pragma once
#include <algorithm>
#include <cstdlib>

namespace weft::bench {

inline bool is_quick() {
  const char* asked = std::getenv("BENCH_QUICK");
  return asked && *asked && *asked != '0';
}
inline int repetitions(int usual) { return is_quick() ? std::min(usual, 2) : usual; }
inline double least_seconds(double usual) { return is_quick() ? usual / 5 : usual; }

}  // namespace weft::bench
