// Structs as they are declared: the annotated fields of a class.
#include <algorithm>
#include <iterator>
#include <optional>

#include "ir/ir.h"
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;

namespace {

/// Levels of structs and arrays inside each other. Structs were checked when they were declared, so this ends soon.
int depth_of(const Type* type) {
  if (type->is_array()) return 1 + depth_of(type->element());
  int depth = 0;
  if (type->is_struct())
    for (const Field& field : type->fields()) depth = std::max(depth, 1 + depth_of(field.type));
  return depth;
}

/// What a class of the library says of loops: `__next__ = name` and the like.
struct LoopWord {
  std::string_view word, function;
};
std::optional<LoopWord> loop_word(const Stmt& stmt) {
  constexpr std::string_view kWords[] = {"__next__", "__runs__", "__run__", "__item__", "__rest__"};
  const auto* a = stmt.as_if<AssignStmt>();
  const auto* target = a && a->targets.size() == 1 ? a->targets[0]->as_if<NameExpr>() : nullptr;
  const auto* value = target ? a->value->as_if<NameExpr>() : nullptr;
  if (!value || std::find(std::begin(kWords), std::end(kWords), target->name) == std::end(kWords)) return std::nullopt;
  return LoopWord{target->name, value->name};
}

}  // namespace

const Type* struct_type(const ClassDef& def, Scope& scope, DiagnosticSink& sink, bool library) {
  std::vector<Field> fields;
  std::uint64_t bytes = 0;
  int depth = 0;
  bool ok = true;
  for (const Stmt* stmt : def.body) {
    const auto* field = stmt->as_if<AnnotatedAssignStmt>();
    if (!field || field->target->kind != ExprKind::name) {
      if (stmt->kind == StmtKind::pass_stmt || stmt->kind == StmtKind::expr || (library && loop_word(*stmt))) continue;
      sink.report(DiagCode::bad_struct, stmt->loc, "a struct holds only annotated fields", "write e.g. mass: float",
                  stmt->underline());
      ok = false;
      continue;
    }
    auto pattern = eval_annotation(*field->annotation, scope, sink);
    if (!pattern) {
      ok = false;
      continue;
    }
    if (pattern->kind != builtins::Pattern::Kind::exact) {
      sink.report(DiagCode::bad_struct, field->annotation->loc,
                  "a field can't have the generic type " + builtins::to_string(*pattern),
                  field->annotation->underline());
      ok = false;
      continue;
    }
    std::string_view name = field->target->as<NameExpr>().name;
    for (const Field& f : fields)
      if (f.name == name) {
        sink.report(DiagCode::redefinition, field->loc, "the field '" + std::string(name) + "' is there twice",
                    field->underline());
        ok = false;
      }
    bytes += pattern->type->size() + pattern->type->align();
    depth = std::max(depth, 1 + depth_of(pattern->type));
    fields.push_back({name, pattern->type, 0});
  }
  if (ok && (bytes > ir::kMaxTypeBytes || depth >= ir::kMaxTypeDepth)) {
    sink.report(DiagCode::bad_struct, def.name_loc,
                "the struct '" + std::string(def.name) + "' is too large or too deeply nested",
                "put large data into arrays", std::uint32_t(def.name.size()));
    ok = false;
  }
  if (!ok) return nullptr;
  return library ? types::library_structure(def.name, fields) : types::structure(def.name, fields);
}

std::string_view loop_function(const ClassDef& def, std::string_view word) {
  for (const Stmt* stmt : def.body)
    if (const auto found = loop_word(*stmt); found && found->word == word) return found->function;
  return {};
}

}  // namespace weft::sema
