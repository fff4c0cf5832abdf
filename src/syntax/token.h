// Tokens of the kernel language. A token is a range of the source text with its place; its value, if it has one, is
// decoded by the parser (literal.h). Besides what is written there are the layout tokens that Python's line structure
// implies: newline at the end of a logical line, indent and dedent around a block, end after everything.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::syntax {

// clang-format off
// X(enumerator, text)
#define WEFT_SYNTAX_PUNCTUATION(X)                                                                                   \
  X(lparen, "(") X(rparen, ")") X(lbracket, "[") X(rbracket, "]") X(lbrace, "{") X(rbrace, "}")                      \
  X(comma, ",") X(colon, ":") X(semicolon, ";") X(dot, ".") X(ellipsis, "...") X(arrow, "->") X(at, "@")             \
  X(assign, "=") X(walrus, ":=")                                                                                     \
  X(plus, "+") X(minus, "-") X(star, "*") X(slash, "/") X(double_slash, "//") X(percent, "%") X(double_star, "**")   \
  X(amp, "&") X(pipe, "|") X(caret, "^") X(tilde, "~") X(lshift, "<<") X(rshift, ">>")                               \
  X(eq, "==") X(ne, "!=") X(lt, "<") X(le, "<=") X(gt, ">") X(ge, ">=")                                              \
  X(plus_assign, "+=") X(minus_assign, "-=") X(star_assign, "*=") X(slash_assign, "/=")                              \
  X(double_slash_assign, "//=") X(percent_assign, "%=") X(double_star_assign, "**=") X(at_assign, "@=")              \
  X(amp_assign, "&=") X(pipe_assign, "|=") X(caret_assign, "^=") X(lshift_assign, "<<=") X(rshift_assign, ">>=")

#define WEFT_SYNTAX_KEYWORDS(X)                                                                                      \
  X(kw_false, "False") X(kw_none, "None") X(kw_true, "True") X(kw_and, "and") X(kw_as, "as") X(kw_assert, "assert")  \
  X(kw_async, "async") X(kw_await, "await") X(kw_break, "break") X(kw_class, "class") X(kw_continue, "continue")     \
  X(kw_def, "def") X(kw_del, "del") X(kw_elif, "elif") X(kw_else, "else") X(kw_except, "except")                     \
  X(kw_finally, "finally") X(kw_for, "for") X(kw_from, "from") X(kw_global, "global") X(kw_if, "if")                 \
  X(kw_import, "import") X(kw_in, "in") X(kw_is, "is") X(kw_lambda, "lambda") X(kw_nonlocal, "nonlocal")             \
  X(kw_not, "not") X(kw_or, "or") X(kw_pass, "pass") X(kw_raise, "raise") X(kw_return, "return") X(kw_try, "try")    \
  X(kw_while, "while") X(kw_with, "with") X(kw_yield, "yield")

enum class TokenKind : std::uint8_t {
  end, newline, indent, dedent,                                   // layout
  error,                                                          // not a token; already reported
  name, integer, floating, imaginary, string, bytes, format_string,
#define X(id, text) id,
  WEFT_SYNTAX_PUNCTUATION(X) WEFT_SYNTAX_KEYWORDS(X)
#undef X
};
// clang-format on

struct Token {
  TokenKind kind = TokenKind::end;
  bool unclosed = false;  // an opening bracket that nothing closes
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t line = 0;
  std::uint32_t col = 0;
  std::uint32_t end_line = 0;  // one past the last character
  std::uint32_t end_col = 0;
};

inline bool is_layout(TokenKind kind) { return kind <= TokenKind::dedent; }
inline bool is_keyword(TokenKind kind) { return kind >= TokenKind::kw_false; }
inline bool is_opener(TokenKind kind) {
  return kind == TokenKind::lparen || kind == TokenKind::lbracket || kind == TokenKind::lbrace;
}
inline bool is_closer(TokenKind kind) {
  return kind == TokenKind::rparen || kind == TokenKind::rbracket || kind == TokenKind::rbrace;
}
/// The bracket that closes an opening one.
inline TokenKind closer_of(TokenKind opener) { return TokenKind(int(opener) + 1); }

/// "+", "if"…; a word in angle brackets for tokens without a fixed text.
std::string_view spelling(TokenKind kind);
/// The name of the kind in --emit=tokens.
std::string_view name_of(TokenKind kind);
/// The keyword that `word` is, or TokenKind::name.
TokenKind keyword_or_name(std::string_view word);
/// True for keywords that can only begin a statement, so that in an open bracket they tell that it was never closed.
bool only_begins_statement(TokenKind kind);
/// For messages: "name 'x'", "keyword 'if'", "')'", "the end of the line"…; long texts are cut.
std::string describe(const Token& token, std::string_view source_text);
/// At most a message's worth of `text`, cut between characters.
std::string shorten(std::string_view text);

}  // namespace weft::syntax
