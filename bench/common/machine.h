// What every benchmark program shares: a main that records the machine beside the figures, and one way to be run.
#pragma once
#include <cstddef>
#include <string>

namespace weft::bench {

/// Google Benchmark's main with our context (processor, threads, lanes, who compiled the hand-written loops). Options of
/// ours go first, so that the command line overrides them. `hand` may be empty.
int run_main(int argc, char** argv, const std::string& hand, bool interleave);

/// A folder of its own for the object cache, removed at exit; the shared cache of the user is never touched. Call it
/// before anything is compiled.
const std::string& use_private_cache();

/// Makes OpenMP's idle threads spin for 20 ms at most instead of 200: they would keep a core from whoever is measured
/// next. Call it before the first hand-written loop.
void limit_spinning();
/// Waits until such threads sleep; call it before each measurement.
void let_others_sleep();

/// The largest resident set of this process so far, in bytes.
std::size_t peak_memory();

}  // namespace weft::bench
