// The tree as indented text, one node per line: role, kind, fields, place. Its form is what golden tests compare, so it
// shows every field of every node and nothing that depends on the machine.
#include "syntax/print.h"

#include "syntax/lexer.h"

namespace weft::syntax {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      static constexpr char kHex[] = "0123456789abcdef";
      out += "\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

class TreePrinter {
 public:
  std::string take() { return std::move(out_); }

  void block(std::string_view role, Block statements) {
    for (const Stmt* statement : statements) print_stmt(role, *statement);
  }

 private:
  class Deeper {
   public:
    explicit Deeper(TreePrinter& printer) : printer_(printer) { ++printer_.depth_; }
    ~Deeper() { --printer_.depth_; }

   private:
    TreePrinter& printer_;
  };

  void line(std::string_view role, std::string_view kind, std::string_view fields, const SourceLoc& loc) {
    out_.append(std::size_t(depth_) * 2, ' ');
    if (!role.empty()) {
      out_ += role;
      out_ += ": ";
    }
    out_ += kind;
    if (!fields.empty()) {
      out_ += ' ';
      out_ += fields;
    }
    out_ += ' ' + std::to_string(loc.line) + ':' + std::to_string(loc.col) + '\n';
  }

  void expr(std::string_view role, const Expr* node) {
    if (node) print_expr(role, *node);
  }
  void exprs(std::string_view role, std::span<Expr* const> nodes) {
    for (const Expr* node : nodes) print_expr(role, *node);
  }

  void print_expr(std::string_view role, const Expr& node) {
    switch (node.kind) {
      case ExprKind::name: return line(role, "Name", node.as<NameExpr>().name, node.loc);
      case ExprKind::int_literal:
      case ExprKind::float_literal:
        return line(role, node.kind == ExprKind::int_literal ? "Int" : "Float", to_source(node), node.loc);
      case ExprKind::bool_literal: return line(role, "Bool", node.as<BoolLiteral>().value ? "True" : "False", node.loc);
      case ExprKind::none_literal: return line(role, "None", {}, node.loc);
      case ExprKind::string_literal: return line(role, "String", quoted(node.as<StringLiteral>().value), node.loc);
      case ExprKind::ellipsis: return line(role, "Ellipsis", {}, node.loc);
      case ExprKind::unsupported:
        return line(role, "Unsupported", quoted(node.as<UnsupportedExpr>().construct), node.loc);
      case ExprKind::unary: line(role, "Unary", text_of(node.as<UnaryExpr>().op), node.loc); break;
      case ExprKind::binary: line(role, "Binary", text_of(node.as<BinaryExpr>().op), node.loc); break;
      case ExprKind::logical: line(role, "Logical", text_of(node.as<LogicalExpr>().op), node.loc); break;
      case ExprKind::attribute: line(role, "Attribute", node.as<AttributeExpr>().name, node.loc); break;
      case ExprKind::ternary: line(role, "Ternary", {}, node.loc); break;
      case ExprKind::call: line(role, "Call", {}, node.loc); break;
      case ExprKind::subscript: line(role, "Subscript", {}, node.loc); break;
      case ExprKind::slice: line(role, "Slice", {}, node.loc); break;
      case ExprKind::tuple: line(role, "Tuple", {}, node.loc); break;
      case ExprKind::list: line(role, "List", {}, node.loc); break;
      case ExprKind::starred: line(role, "Starred", {}, node.loc); break;
      case ExprKind::compare: {
        std::string ops;
        for (CompareOp op : node.as<CompareExpr>().ops) {
          if (!ops.empty()) ops += ", ";
          ops += text_of(op);
        }
        line(role, "Compare", ops, node.loc);
        break;
      }
    }
    Deeper deeper(*this);
    children(node);
  }

  void children(const Expr& node) {
    if (const auto* unary = node.as_if<UnaryExpr>()) {
      expr({}, unary->operand);
    } else if (const auto* binary = node.as_if<BinaryExpr>()) {
      expr({}, binary->left);
      expr({}, binary->right);
    } else if (const auto* compare = node.as_if<CompareExpr>()) {
      exprs({}, compare->operands);
    } else if (const auto* logical = node.as_if<LogicalExpr>()) {
      exprs({}, logical->operands);
    } else if (const auto* ternary = node.as_if<TernaryExpr>()) {
      expr("condition", ternary->condition);
      expr("then", ternary->then_value);
      expr("else", ternary->else_value);
    } else if (const auto* call = node.as_if<CallExpr>()) {
      expr("callee", call->callee);
      exprs("arg", call->args);
      for (const Keyword& keyword : call->keywords) {
        expr("keyword " + (keyword.name.empty() ? "**" : std::string(keyword.name)), keyword.value);
      }
    } else if (const auto* attribute = node.as_if<AttributeExpr>()) {
      expr({}, attribute->object);
    } else if (const auto* subscript = node.as_if<SubscriptExpr>()) {
      expr("object", subscript->object);
      exprs("index", subscript->indices);
    } else if (const auto* slice = node.as_if<SliceExpr>()) {
      expr("lower", slice->lower);
      expr("upper", slice->upper);
      expr("step", slice->step);
    } else if (const auto* tuple = node.as_if<TupleExpr>()) {
      exprs({}, tuple->elements);
    } else if (const auto* list = node.as_if<ListExpr>()) {
      exprs({}, list->elements);
    } else if (const auto* starred = node.as_if<StarredExpr>()) {
      expr({}, starred->value);
    }
  }

  void print_stmt(std::string_view role, const Stmt& node) {
    auto head = [&](std::string_view kind, std::string_view fields = {}) { line(role, kind, fields, node.loc); };
    switch (node.kind) {
      case StmtKind::expr: head("ExprStmt"); break;
      case StmtKind::assign: head("Assign"); break;
      case StmtKind::augmented_assign:
        head("AugmentedAssign", std::string(text_of(node.as<AugmentedAssignStmt>().op)) + "=");
        break;
      case StmtKind::annotated_assign: head("AnnotatedAssign"); break;
      case StmtKind::if_stmt: head("If"); break;
      case StmtKind::while_stmt: head("While"); break;
      case StmtKind::for_stmt: head("For"); break;
      case StmtKind::break_stmt: return head("Break");
      case StmtKind::continue_stmt: return head("Continue");
      case StmtKind::pass_stmt: return head("Pass");
      case StmtKind::return_stmt: head("Return"); break;
      case StmtKind::assert_stmt: head("Assert"); break;
      case StmtKind::import_stmt: return head("Import", import_fields(node.as<ImportStmt>()));
      case StmtKind::function_def: head("FunctionDef", node.as<FunctionDef>().name); break;
      case StmtKind::class_def: head("ClassDef", node.as<ClassDef>().name); break;
      case StmtKind::unsupported: return head("UnsupportedStmt", quoted(node.as<UnsupportedStmt>().construct));
    }
    Deeper deeper(*this);
    children(node);
  }

  static std::string import_fields(const ImportStmt& import) {
    std::string out;
    if (!import.from.empty()) out = "from " + std::string(import.from) + " ";
    std::string_view separator;
    for (const ImportStmt::Name& name : import.names) {
      out += separator;
      out += name.name;
      out += " as ";
      out += name.alias;
      separator = ", ";
    }
    return out;
  }

  void children(const Stmt& node) {
    if (const auto* value = node.as_if<ExprStmt>()) {
      expr({}, value->value);
    } else if (const auto* assign = node.as_if<AssignStmt>()) {
      exprs("target", assign->targets);
      expr("value", assign->value);
    } else if (const auto* augmented = node.as_if<AugmentedAssignStmt>()) {
      expr("target", augmented->target);
      expr("value", augmented->value);
    } else if (const auto* annotated = node.as_if<AnnotatedAssignStmt>()) {
      expr("target", annotated->target);
      expr("annotation", annotated->annotation);
      expr("value", annotated->value);
    } else if (const auto* branch = node.as_if<IfStmt>()) {
      expr("condition", branch->condition);
      block("then", branch->then_body);
      block("else", branch->else_body);
    } else if (const auto* loop = node.as_if<WhileStmt>()) {
      expr("condition", loop->condition);
      block("body", loop->body);
      block("else", loop->else_body);
    } else if (const auto* each = node.as_if<ForStmt>()) {
      expr("target", each->target);
      expr("in", each->iterable);
      block("body", each->body);
      block("else", each->else_body);
    } else if (const auto* result = node.as_if<ReturnStmt>()) {
      expr({}, result->value);
    } else if (const auto* assertion = node.as_if<AssertStmt>()) {
      expr("condition", assertion->condition);
      expr("message", assertion->message);
    } else if (const auto* function = node.as_if<FunctionDef>()) {
      exprs("decorator", function->decorators);
      for (const Param& param : function->params) print_param(param);
      expr("returns", function->returns);
      block("body", function->body);
    } else if (const auto* type = node.as_if<ClassDef>()) {
      exprs("decorator", type->decorators);
      exprs("base", type->bases);
      block("body", type->body);
    }
  }

  void print_param(const Param& param) {
    static constexpr std::string_view kKinds[] = {"Param", "KeywordOnlyParam", "StarParam", "StarStarParam"};
    line({}, kKinds[param.kind], param.name, param.loc);
    Deeper deeper(*this);
    expr("annotation", param.annotation);
    expr("default", param.default_value);
  }

  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string print(const Tree& tree) {
  TreePrinter printer;
  printer.block({}, tree.body);
  return printer.take();
}

std::string print_tokens(const SourceFile& source, DiagnosticSink& sink) {
  std::string out;
  for (const Token& token : tokenize(source, sink)) {
    out += std::to_string(token.line) + ':' + std::to_string(token.col) + ' ';
    out += name_of(token.kind);
    if (token.length != 0) {
      out += ' ';
      for (char c : source.text().substr(token.offset, token.length)) {  // a token of several lines stays on one
        if (c == '\n') {
          out += "\\n";
        } else if (c == '\r') {
          out += "\\r";
        } else {
          out += c;
        }
      }
    }
    out += '\n';
  }
  return out;
}

}  // namespace weft::syntax
