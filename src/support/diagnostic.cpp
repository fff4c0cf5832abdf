// Collecting and rendering of diagnostics.
#include "support/diagnostic.h"

#include <algorithm>

namespace weft {
namespace {

struct Row {
  std::string_view name;
  Severity severity;
  DiagCategory category;
};

constexpr Row kRows[] = {
#define DIAG(id, severity, category) {#id, Severity::severity, DiagCategory::category},
#include "support/diagnostics.def"
#undef DIAG
};

constexpr std::size_t kMaxErrors = 100;  // enough to mend a file by; a fuzzer's garbage must not fill memory

std::string_view label(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return "error";
}

void append_source_line(std::string& out, const SourceLoc& loc, std::uint32_t length) {
  if (!loc.file || !loc.line) return;
  std::string_view line = loc.file->line(loc.line);
  constexpr std::size_t kWidest = 400;  // a pathological line is cut
  if (line.size() > kWidest) line = line.substr(0, kWidest);
  out += "    ";
  for (char c : line) out += (static_cast<unsigned char>(c) < 0x20 && c != '\t') ? '?' : c;
  out += "\n";
  if (!loc.col || loc.col > line.size() + 1) return;
  out += "    ";
  for (std::size_t i = 0; i + 1 < loc.col; ++i) {
    unsigned char c = static_cast<unsigned char>(line[i]);
    if ((c & 0xC0) == 0x80) continue;  // UTF-8 continuation bytes take no column on screen
    out += c == '\t' ? '\t' : ' ';
  }
  out += '^';
  std::size_t rest = line.size() - std::min<std::size_t>(line.size(), loc.col - 1);
  for (std::size_t i = 1; i < length && i < rest; ++i) out += '~';
  out += "\n";
}

}  // namespace

std::string_view name_of(DiagCode code) { return kRows[std::size_t(code)].name; }
Severity severity_of(DiagCode code) { return kRows[std::size_t(code)].severity; }
DiagCategory category_of(DiagCode code) { return kRows[std::size_t(code)].category; }

std::string render(const Diagnostic& d) {
  std::string out = to_string(d.loc) + ": " + std::string(label(d.severity())) + ": " + d.text + " [" +
                    std::string(name_of(d.code)) + "]\n";
  append_source_line(out, d.loc, d.length);
  for (const Diagnostic::Note& note : d.notes) {
    if (note.loc.known() && note.loc != d.loc) {
      out += to_string(note.loc) + ": note: " + note.text + "\n";
      append_source_line(out, note.loc, 1);
    } else {
      out += "    note: " + note.text + "\n";
    }
  }
  return out;
}

Diagnostic& DiagnosticSink::report(DiagCode code, SourceLoc loc, std::string text, std::uint32_t length) {
  bool is_error = severity_of(code) == Severity::error;
  bool repeated = std::any_of(list_.rbegin(), list_.rend(),
                              [&](const Diagnostic& d) { return d.code == code && d.loc == loc && d.text == text; });
  if (is_error) ++errors_;
  // Errors have room of their own: a file full of remarks must not hide what is wrong with it.
  std::size_t shown = is_error ? shown_errors_ : list_.size() - shown_errors_;
  if (repeated || shown >= kMaxErrors) {
    scratch_ = Diagnostic{code, loc, length, {}, {}};
    return scratch_;
  }
  if (is_error) ++shown_errors_;
  list_.push_back(Diagnostic{code, loc, std::max<std::uint32_t>(length, 1), std::move(text), {}});
  return list_.back();
}

Diagnostic& DiagnosticSink::report(DiagCode code, SourceLoc loc, std::string text, std::string cure,
                                   std::uint32_t length) {
  Diagnostic& d = report(code, loc, std::move(text), length);
  d.notes.push_back({{}, std::move(cure)});
  return d;
}

std::string DiagnosticSink::render_all() const {
  std::string out;
  for (const Diagnostic& d : list_) out += render(d);
  return out;
}

void DiagnosticSink::clear() {
  list_.clear();
  files_.clear();
  errors_ = shown_errors_ = 0;
}

}  // namespace weft
