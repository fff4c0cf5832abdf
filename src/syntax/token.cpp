// Names of token kinds, keyword lookup, and tokens in the words of a message.
#include "syntax/token.h"

#include <array>
#include <iterator>

namespace weft::syntax {
namespace {

constexpr std::string_view kSpellings[] = {"<end>",
                                           "<newline>",
                                           "<indent>",
                                           "<dedent>",
                                           "<error>",
                                           "<name>",
                                           "<integer>",
                                           "<float>",
                                           "<imaginary>",
                                           "<string>",
                                           "<bytes>",
                                           "<f-string>",
#define X(id, text) text,
                                           WEFT_SYNTAX_PUNCTUATION(X) WEFT_SYNTAX_KEYWORDS(X)
#undef X
};

constexpr std::size_t kFirstKeyword = std::size_t(TokenKind::kw_false);
constexpr std::size_t kKeywordCount = std::size(kSpellings) - kFirstKeyword;
constexpr std::size_t kLongestKeyword = 8;

// Keywords grouped by length: a name is compared with the few of its own length that share its first letter.
struct KeywordIndex {
  std::array<std::array<std::uint8_t, 12>, kLongestKeyword + 1> rows{};
  std::array<std::uint8_t, kLongestKeyword + 1> counts{};
};

constexpr KeywordIndex make_index() {
  KeywordIndex index;
  for (std::size_t i = 0; i < kKeywordCount; ++i) {
    std::size_t length = kSpellings[kFirstKeyword + i].size();
    index.rows[length][index.counts[length]++] = std::uint8_t(kFirstKeyword + i);
  }
  return index;
}

constexpr KeywordIndex kIndex = make_index();

}  // namespace

std::string_view spelling(TokenKind kind) { return kSpellings[std::size_t(kind)]; }

std::string_view name_of(TokenKind kind) {
  if (is_keyword(kind)) return "keyword";
  if (kind >= TokenKind::lparen) return "operator";
  std::string_view text = spelling(kind);
  return text.substr(1, text.size() - 2);
}

TokenKind keyword_or_name(std::string_view word) {
  if (word.size() > kLongestKeyword) return TokenKind::name;
  const auto& row = kIndex.rows[word.size()];
  for (std::size_t i = 0; i < kIndex.counts[word.size()]; ++i) {
    std::string_view keyword = kSpellings[row[i]];
    if (keyword[0] == word[0] && keyword == word) return TokenKind(row[i]);
  }
  return TokenKind::name;
}

bool only_begins_statement(TokenKind kind) {
  switch (kind) {
    case TokenKind::kw_assert:
    case TokenKind::kw_break:
    case TokenKind::kw_class:
    case TokenKind::kw_continue:
    case TokenKind::kw_def:
    case TokenKind::kw_del:
    case TokenKind::kw_elif:
    case TokenKind::kw_except:
    case TokenKind::kw_finally:
    case TokenKind::kw_global:
    case TokenKind::kw_import:
    case TokenKind::kw_nonlocal:
    case TokenKind::kw_pass:
    case TokenKind::kw_raise:
    case TokenKind::kw_return:
    case TokenKind::kw_try:
    case TokenKind::kw_while:
    case TokenKind::kw_with: return true;
    default: return false;
  }
}

std::string shorten(std::string_view text) {
  constexpr std::size_t kMost = 40;
  if (text.size() <= kMost) return std::string(text);
  std::size_t cut = kMost;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return std::string(text.substr(0, cut)) + "...";
}

std::string describe(const Token& token, std::string_view source_text) {
  std::string_view text = source_text.substr(token.offset, token.length);
  switch (token.kind) {
    case TokenKind::end: return "the end of the text";
    case TokenKind::newline: return "the end of the line";
    case TokenKind::indent: return "an indented line";
    case TokenKind::dedent: return "the end of the block";
    case TokenKind::error: return "an invalid character";
    case TokenKind::name: return "name '" + shorten(text) + "'";
    case TokenKind::integer:
    case TokenKind::floating:
    case TokenKind::imaginary: return "number '" + shorten(text) + "'";
    case TokenKind::string: return "a string";
    case TokenKind::bytes: return "a bytes literal";
    case TokenKind::format_string: return "an f-string";
    default: break;
  }
  std::string quoted = "'" + std::string(spelling(token.kind)) + "'";
  return is_keyword(token.kind) ? "keyword " + quoted : quoted;
}

}  // namespace weft::syntax
