// The text form of the IR: prints and parses back to an equal module.
#pragma once
#include <functional>
#include <string>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::ir {

struct PrintOptions {
  bool locations = false;                           // append "// file:line:col" to operations
  bool names = true;                                // use name hints; off gives canonical numbers only (cache keys)
  std::function<std::string(const Op&)> note = {};  // appended to operations as a comment
};

std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Function& function, const PrintOptions& options = {});
/// One operation (with its regions), for messages.
std::string print(const Op& op);
/// A type for messages: as in the text form, structs as %Name.
std::string short_text(const Type* type);

/// Parses a module; errors go to the sink and null is returned. Any text is safe.
std::unique_ptr<Module> parse_module(std::shared_ptr<const SourceFile> source, DiagnosticSink& sink);

}  // namespace weft::ir
