// One process of a race on a cold cache: runs the family of a variant; exit code 0 when all results are right. The cache
// folder comes from WEFT_CACHE_PATH, as for any program.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "racer.h"

int main(int argc, char** argv) {
  const int variant = argc > 1 ? std::atoi(argv[1]) : 1;
  try {
    for (int round = 0; round < 2; ++round)
      if (std::string problem = weft::agree::run_family(variant, 5000); !problem.empty()) {
        std::fprintf(stderr, "%s\n", problem.c_str());
        return 1;
      }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
