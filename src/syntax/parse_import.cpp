// import a.b as c and from m import x as y.
#include "syntax/parser_impl.h"

namespace weft::syntax {

// a.b.c; the tokens usually stand together, so the name is a view of the source, else it is put together.
bool Parser::parse_dotted_name(std::string_view& name) {
  const Token* part;
  if (!expect_name("a module name", part)) return false;
  std::size_t begin = part->offset;
  std::size_t end = begin + part->length;
  std::string joined(text(*part));
  while (accept(K::dot)) {
    if (!expect_name("a module name after '.'", part)) return false;
    joined += '.';
    joined += text(*part);
    end = part->offset + part->length;
  }
  name = source_text_.substr(begin, end - begin);
  if (name != joined) name = tree_.arena.copy(std::string_view(joined));
  return true;
}

bool Parser::parse_import_name(Gather<ImportStmt::Name>& names, bool dotted) {
  ImportStmt::Name item;
  const Token* token;
  if (dotted) {
    if (!parse_dotted_name(item.name)) return false;
  } else {
    if (!expect_name("a name to import", token)) return false;
    item.name = text(*token);
  }
  item.alias = item.name.substr(0, item.name.find('.'));
  if (accept(K::kw_as)) {
    if (!expect_name("a name after 'as'", token)) return false;
    item.alias = text(*token);
  }
  names.add(item);
  return true;
}

Stmt* Parser::parse_import() {
  const Token& start = cur();
  advance();
  Gather<ImportStmt::Name> names(import_names_);
  do {
    if (!parse_import_name(names, true)) return nullptr;
  } while (accept(K::comma));
  ImportStmt* node = make_stmt<ImportStmt>(start);
  node->names = names.take(tree_.arena);
  return end_here(node);
}

Stmt* Parser::parse_from_import() {
  const Token& start = cur();
  advance();
  std::string dots;
  while (at(K::dot) || at(K::ellipsis)) {
    dots += text(cur());
    advance();
  }
  std::string_view module;
  if ((dots.empty() || !at(K::kw_import)) && !parse_dotted_name(module)) return nullptr;
  if (!dots.empty()) module = tree_.arena.copy(std::string_view(dots + std::string(module)));
  if (!expect(K::kw_import, "after the module name")) return nullptr;
  Gather<ImportStmt::Name> names(import_names_);
  if (at(K::star)) {
    std::string_view star = text(cur());
    names.add({star, star});
    advance();
  } else if (at(K::lparen)) {
    const Token& opener = cur();
    advance();
    do {
      if (names.size() != 0 && at(K::rparen)) break;
      if (!parse_import_name(names, false)) return nullptr;
    } while (accept(K::comma));
    if (!expect_closer(opener, "','")) return nullptr;
  } else {
    do {
      if (!parse_import_name(names, false)) return nullptr;
    } while (accept(K::comma));
  }
  ImportStmt* node = make_stmt<ImportStmt>(start);
  node->from = module;
  node->names = names.take(tree_.arena);
  return end_here(node);
}

}  // namespace weft::syntax
