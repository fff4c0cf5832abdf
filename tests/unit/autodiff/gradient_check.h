// Judges derivatives: a kernel's adjoint, run by the interpreter, against central differences of the kernel itself in
// float64, and against its tangent, which must agree to rounding. Arrays of floats whose names begin with `out` are
// results, all others are inputs; int arrays carry no derivatives.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autodiff/adjoint.h"
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::autodiff::test {

/// A kernel and its data; arrays not given get `threads` elements of pleasant numbers.
struct Check {
  std::string text;  // "import warp as wp" and "d = wp.float64" stand before it; the kernel is `k`
  std::vector<std::int64_t> dims = {3};
  std::map<std::string, std::vector<double>> floats = {};
  std::map<std::string, std::vector<int>> ints = {};
  std::int64_t elements = 0;  // elements of arrays not given; 0: the threads
  std::uint64_t slot_bytes = 8 << 10;
  bool slots_are_far = false;
  double tolerance = 1e-6;
  double steepest = 1e300;  // steeper slopes are left to forward mode: differences can't follow them
  int records = -1;         // sites that the taped launch must write down; −1: any number
  bool overlap = false;     // the form in which arrays may overlap
  bool tangent = true;      // forward mode takes the kernel as well
  bool ordered = false;     // what is exact for threads in their order alone is no error
  bool custom = false;      // gradients that functions were given count, those of the library too
};

/// The adjoint must agree with the difference along one direction and with the tangent; cheaper than the other. False,
/// and nothing is compared: the kernel's results are not finite, or so large that differences can't see its slopes.
bool expect_slope(const Check& check, bool unroll, bool optimised);
/// The adjoint must agree with differences, before and after optimisation.
void expect_gradient(const Check& check);
/// The adjoint is refused; gives the message.
std::string refused(const Check& check);
/// The optimised adjoint as text.
std::string adjoint_text(const Check& check);

}  // namespace weft::autodiff::test
