// Diagnostics: what the compiler has to say to the user. They are collected in a sink, so that one compile reports all
// its errors; `render` turns one into the familiar form: place, text, the source line, a caret, and a note with the cure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace weft {

enum class Severity : std::uint8_t { error, warning, note };

enum class DiagCode : std::uint16_t {
#define DIAG(id, severity, category) id,
#include "support/diagnostics.def"
#undef DIAG
};

enum class DiagCategory : std::uint8_t {
  syntax,
  codegen,
  type,
  name,
  attribute,
  operand,
  value,
  ir,
  limit,
  note,
};

std::string_view name_of(DiagCode code);
Severity severity_of(DiagCode code);
DiagCategory category_of(DiagCode code);

/// One message. `length` is the number of columns to underline, at least one. `notes` say what to do.
struct Diagnostic {
  DiagCode code;
  SourceLoc loc;
  std::uint32_t length = 1;
  std::string text;
  struct Note {
    SourceLoc loc;  // may be unknown
    std::string text;
  };
  std::vector<Note> notes;

  Severity severity() const { return severity_of(code); }
};

/// The printed form, ending in a line end.
std::string render(const Diagnostic& diagnostic);

/// Collects diagnostics. Not thread-safe: one sink per compile job.
class DiagnosticSink {
 public:
  /// Adds a diagnostic and returns it, so that notes can be attached. Identical diagnostics at one place are kept once.
  Diagnostic& report(DiagCode code, SourceLoc loc, std::string text, std::uint32_t length = 1);
  /// As above with one note that says what to do.
  Diagnostic& report(DiagCode code, SourceLoc loc, std::string text, std::string cure, std::uint32_t length = 1);

  bool has_errors() const { return errors_ != 0; }
  /// Reports of errors, repeated ones included: a stage that finds a known mistake again has failed as well.
  std::size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return list_; }
  /// All rendered, in order of report.
  std::string render_all() const;
  void clear();
  /// Keeps source files alive that diagnostics point into.
  void keep(std::shared_ptr<const SourceFile> file) { files_.push_back(std::move(file)); }

 private:
  std::vector<Diagnostic> list_;
  std::vector<std::shared_ptr<const SourceFile>> files_;
  std::size_t errors_ = 0;
  std::size_t shown_errors_ = 0;  // of them in list_
  Diagnostic scratch_{};          // returned for a repeated report
};

}  // namespace weft
