// Errors inside become the public exceptions here, and nowhere else.
#pragma once
#include "support/diagnostic.h"
#include "weft/weft.h"

namespace weft::driver {

/// Throws the public exception for the one in flight; to be called inside of a catch block.
[[noreturn]] void throw_public();

/// Calls a function of the library's inside, its errors turned into public ones.
template <class F>
auto guarded(F&& f) {
  try {
    return f();
  } catch (...) {
    throw_public();
  }
}

/// Messages in public form.
std::vector<Message> to_messages(const DiagnosticSink& sink);
/// Throws CompileError if the sink holds errors.
void throw_on_errors(const DiagnosticSink& sink);

}  // namespace weft::driver
