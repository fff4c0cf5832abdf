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

/// The largest resident set of this process so far, in bytes.
std::size_t peak_memory();

}  // namespace weft::bench
