// Printing of the compiler's stages.
#pragma once
#include "arguments.h"

namespace weftc {

/// Prints the stage that was asked for; the process's exit status.
int emit_stage(const Arguments& args);
/// Lists the kernels of a file.
int list_kernels(const Arguments& args);
/// Writes to the file that was asked for, or to standard output.
void write_output(const Arguments& args, const std::string& bytes);
/// The text of a file, or of standard input for "-".
std::string read_text(const std::string& path);

}  // namespace weftc
