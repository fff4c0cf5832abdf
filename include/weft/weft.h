// Weft from C++: compile kernel text, make arrays, launch on the CPU or a GPU, take gradients, read back. No Python, no LLVM
// and nothing of Weft's inside is needed to use this header.
//
//   weft::Program program = weft::Program::compile(R"(
//   import warp as wp
//   @wp.kernel
//   def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
//       i = wp.tid()
//       y[i] = a * x[i] + y[i]
//   )");
//   weft::Array x = weft::Array::from<float>({1, 2, 3}), y = weft::Array::zeros("float32", {3});
//   program.kernel("saxpy").launch({3}, 2.0, x, y);
//   std::span<const float> result = y.as<float>();
//
// Every object is a cheap handle; all of them may be used from any thread. Errors are exceptions derived from
// weft::Error.
#pragma once
#include <weft/array.h>
#include <weft/device.h>
#include <weft/errors.h>
#include <weft/graph.h>
#include <weft/program.h>
#include <weft/tape.h>

namespace weft {

/// Threads that a launch may use: 0 = all the machine gives, 1 = serial.
void set_thread_limit(int limit);
/// The version of the library, and the folder of its object cache (empty: none).
std::string version();
std::string cache_folder();

}  // namespace weft
