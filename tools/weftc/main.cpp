// weftc: shows every stage of the compiler and runs kernels, without Python.
#include <cstdio>
#include <iostream>

#include "arguments.h"
#include "driver/pipeline.h"
#include "emit.h"
#include "library_kernels.h"
#include "run.h"
#include "support/check.h"
#include "weft/weft.h"

int main(int argc, char** argv) {
  using weftc::Arguments;
  try {
    Arguments args = weftc::parse_arguments(argc, argv);
    switch (args.command) {
      case Arguments::Command::help: std::cout << weftc::help_text(); return 0;
      case Arguments::Command::version: std::cout << "weftc " << weft::version() << "\n"; return 0;
      case Arguments::Command::list: return weftc::list_kernels(args);
      case Arguments::Command::library_kernels: return weftc::write_library_kernels(args);
      case Arguments::Command::run: return weftc::run_kernel(args);
      case Arguments::Command::emit: return weftc::emit_stage(args);
    }
  } catch (const weftc::UsageError& error) {
    std::cerr << "weftc: " << error.what() << "\n'weftc --help' shows what it can do\n";
    return 2;
  } catch (const weft::CompileError& error) {
    std::cerr << error.what();
    return 1;
  } catch (const weft::Error& error) {
    std::cerr << "weftc: error: " << error.what() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "weftc: " << error.what() << "\n";
    return 3;
  }
  return 0;
}
