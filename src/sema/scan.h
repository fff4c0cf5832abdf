// A look at a function's statements before they are lowered: which names a loop assigns, which statements may leave
// their block early, where a name is read last, and which loops hold wp.static. One walk, linear in the text.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "syntax/ast.h"

namespace weft::sema {

/// Ways to leave a block early; a statement has the union of what is inside it (a loop keeps its own break and continue
/// to itself).
enum Exit : std::uint8_t { kExitBreak = 1, kExitContinue = 2, kExitReturn = 4 };

/// A name that a loop assigns. `whole`: by a plain assignment; otherwise only parts of it are written or it is passed to a
/// call that may update it, neither of which changes which array a name stands for. `in_body`: not by the loop's first line
/// alone.
struct AssignedName {
  std::string_view name;
  bool whole;
  bool in_body = true;
};

struct LoopInfo {
  std::vector<AssignedName> assigned;  // each name once, in order; the loop's target included
  std::uint8_t exits = 0;              // inside the body, aimed at this loop or further out
  bool has_static = false;             // a wp.static(…) inside that may name what the loop assigns
  std::uint32_t end = 0;               // position behind the loop, comparable with last_read

  bool body_assigns(std::string_view name) const;
};

struct FunctionScan {
  std::unordered_map<const syntax::Stmt*, LoopInfo> loops;
  std::unordered_map<const syntax::Stmt*, std::uint8_t> exits;    // only statements with some
  std::unordered_map<const syntax::Stmt*, std::uint32_t> ends;    // position behind each statement
  std::unordered_map<std::string_view, std::uint32_t> last_read;  // position of a name's last read
  std::unordered_set<std::string_view> assigned;                  // names that some statement assigns as a whole
  std::vector<const syntax::CallExpr*> statics;                   // calls of wp.static, by the look of them
  int tid_names = 1;                                              // most names that take the results of one tid()

  std::uint8_t exits_of(const syntax::Stmt* stmt) const {
    auto it = exits.find(stmt);
    return it == exits.end() ? 0 : it->second;
  }
  std::uint32_t end_of(const syntax::Stmt* stmt) const {
    auto it = ends.find(stmt);
    return it == ends.end() ? 0 : it->second;
  }
  bool read_after(std::string_view name, std::uint32_t position) const {
    auto it = last_read.find(name);
    return it != last_read.end() && it->second > position;
  }
};

FunctionScan scan(const syntax::FunctionDef& def);
/// What stands left of all subscripts and attributes: p in p[i].v.x.
const syntax::Expr& root_of(const syntax::Expr& expr);
/// Other text for a part of an expression that stands on one line.
struct TextEdit {
  const syntax::Expr* at;
  std::string text;
};
/// The text of an expression as written, in parentheses if it has several lines: what a host evaluates for wp.static.
/// `edits`: what is to stand in it instead, from left to right.
std::string source_text(const syntax::Expr& expr, std::span<const TextEdit> edits = {});
/// Every call inside an expression, from the outside in and from left to right.
void for_each_call(const syntax::Expr& expr, const std::function<void(const syntax::CallExpr&)>& visit);
/// True if the name occurs in the expression.
bool mentions(const syntax::Expr& expr, std::string_view name);

}  // namespace weft::sema
