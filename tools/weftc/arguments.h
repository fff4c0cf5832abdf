// weftc's command line: what was asked for, and errors that say how to ask.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/options.h"

namespace weftc {

/// A command line that makes no sense; what() says why.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Arguments {
  enum class Command { emit, list, run, library_kernels, help, version } command = Command::emit;
  std::string file;    // "-": standard input
  std::string kernel;  // empty: the only one, or all where that makes sense
  std::string emit = "ir";
  std::string after;                // stop after this stage and print the IR
  std::vector<std::string> passes;  // run these stages alone, in this order, and print the IR
  std::string target = "cpu";       // cpu, or sm_70 … sm_90
  std::string output;               // empty: standard output
  std::vector<std::string> types;   // of generic parameters: name=type
  bool time = false;
  bool locations = false;
  bool no_overlap = true;
  bool strided = false;
  bool aligned = false;
  bool taped = false;
  bool adjoint = false;
  int rank = 1;
  weft::driver::CompileOptions options;
  // run
  std::vector<std::string> values;  // name=description
  std::vector<std::string> prints;  // names to print afterwards; empty: all arrays
  std::vector<long long> dims;
  bool interpret = false;
  bool serial = false;
};

Arguments parse_arguments(int argc, char** argv);
std::string help_text();

}  // namespace weftc
