// Line structure: which physical lines form one logical line, and what indentation says about blocks. Brackets are
// paired first, so that one that is never closed does not swallow the rest of the text: it only joins following lines
// that are indented further than its own. Every error here leaves a sensible structure behind, so it is told just once.
#include "syntax/lexer.h"

namespace weft::syntax {
namespace {

class Layout {
 public:
  Layout(RawTokens raw, const SourceFile& source, DiagnosticSink& sink)
      : raw_(std::move(raw)), source_(source), sink_(sink) {}

  std::vector<Token> run() {
    pair_brackets();
    out_.reserve(raw_.tokens.size() + 2 * raw_.lines.size() + 2);
    std::size_t next_line = 0;
    for (std::uint32_t i = 0; i < raw_.tokens.size(); ++i) {
      if (next_line < raw_.lines.size() && raw_.lines[next_line].token == i) {
        start_physical_line(raw_.lines[next_line++]);
      }
      emit(raw_.tokens[i]);
    }
    if (!out_.empty()) end_logical_line();
    for (; levels_.size() > 1; levels_.pop_back()) add_layout(TokenKind::dedent, raw_.end);
    add_layout(TokenKind::end, raw_.end);
    return std::move(out_);
  }

 private:
  struct Level {
    std::uint32_t col;
    std::uint32_t alt_col;
  };

  static int family(TokenKind bracket) { return (int(bracket) - int(TokenKind::lparen)) / 2; }

  // Marks the opening brackets that nothing closes. A closing bracket takes the nearest opening one of its kind; what
  // was opened in between is unclosed.
  void pair_brackets() {
    std::vector<Token*> open;
    std::size_t open_of[3] = {0, 0, 0};
    auto abandon_top = [&] {
      open.back()->unclosed = true;
      --open_of[family(open.back()->kind)];
      open.pop_back();
    };
    std::size_t next_line = 0;
    for (std::uint32_t i = 0; i < raw_.tokens.size(); ++i) {
      Token& token = raw_.tokens[i];
      bool first = next_line < raw_.lines.size() && raw_.lines[next_line].token == i;
      next_line += first;
      if (first && only_begins_statement(token.kind)) {
        while (!open.empty()) abandon_top();
      }
      if (is_opener(token.kind)) {
        open.push_back(&token);
        ++open_of[family(token.kind)];
      } else if (is_closer(token.kind) && open_of[family(token.kind)] != 0) {
        while (family(open.back()->kind) != family(token.kind)) abandon_top();
        open.pop_back();
        --open_of[family(token.kind)];
      }
    }
    while (!open.empty()) abandon_top();
  }

  // Only a closer that pairs with an opener ends a level; a stray one is the parser's to report.
  void emit(const Token& token) {
    if (is_opener(token.kind)) {
      if (!token.unclosed) {
        closers_.push_back(closer_of(token.kind));
      } else if (closers_.empty()) {
        dangling_ = true;
      }
    } else if (!closers_.empty() && closers_.back() == token.kind) {
      closers_.pop_back();
    }
    out_.push_back(token);
  }

  void start_physical_line(const LineStart& line) {
    const Token& first = raw_.tokens[line.token];
    if (out_.empty()) {
      levels_.push_back({line.col, line.alt_col});
      return;
    }
    if (!closers_.empty()) return;
    bool continues = dangling_ && line.col > levels_.back().col && out_.back().kind != TokenKind::colon &&
                     !only_begins_statement(first.kind);
    if (continues) return;
    end_logical_line();
    indent_to(line, first);
  }

  void end_logical_line() {
    Token end = out_.back();
    end.unclosed = false;
    end.kind = TokenKind::newline;
    end.offset += end.length;
    end.length = 0;
    end.line = end.end_line;
    end.col = end.end_col;
    out_.push_back(end);
    dangling_ = false;
  }

  void add_layout(TokenKind kind, const Token& place) {
    Token token = place;
    token.kind = kind;
    token.unclosed = false;
    token.length = 0;
    token.end_line = token.line;
    token.end_col = token.col;
    out_.push_back(token);
  }

  void indent_to(const LineStart& line, const Token& first) {
    check_tabs(line, first);
    if (line.col > levels_.back().col) {
      levels_.push_back({line.col, line.alt_col});
      add_layout(TokenKind::indent, first);
      return;
    }
    while (levels_.size() > 1 && line.col < levels_.back().col) {
      bool between = line.col > levels_[levels_.size() - 2].col;
      if (between) {
        report(first, "this line's indentation matches no block above it", "align it with the block it belongs to");
        levels_.back() = {line.col, line.alt_col};
        return;
      }
      levels_.pop_back();
      add_layout(TokenKind::dedent, first);
    }
    if (line.col < levels_.back().col) {
      report(first, "this line is indented less than the first one", "indent all lines of the text alike");
      levels_.back() = {line.col, line.alt_col};
    }
  }

  // Python's rule: two lines must compare alike whether a tab counts for eight columns or for one.
  void check_tabs(const LineStart& line, const Token& first) {
    if (tabs_reported_) return;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      const Level& level = levels_[i];
      bool same_order = (line.col < level.col) == (line.alt_col < level.alt_col) &&
                        (line.col == level.col) == (line.alt_col == level.alt_col);
      if (!same_order) {
        report(first, "tabs and spaces are mixed in the indentation", "indent with spaces only");
        tabs_reported_ = true;
        return;
      }
      if (line.col >= level.col) return;
    }
  }

  void report(const Token& at, std::string text, std::string cure) {
    sink_.report(DiagCode::bad_indentation, {&source_, at.line, at.col}, std::move(text), std::move(cure));
  }

  RawTokens raw_;
  const SourceFile& source_;
  DiagnosticSink& sink_;
  std::vector<Token> out_;
  std::vector<Level> levels_;
  std::vector<TokenKind> closers_;  // of the open brackets that join lines
  bool dangling_ = false;           // the logical line holds an unclosed bracket
  bool tabs_reported_ = false;
};

}  // namespace

std::vector<Token> lay_out(RawTokens raw, const SourceFile& source, DiagnosticSink& sink) {
  return Layout(std::move(raw), source, sink).run();
}

}  // namespace weft::syntax
