// A kernel file understood without Python: imports of warp, constants, @wp.struct classes, plain classes of constants,
// @wp.func and @wp.kernel functions. Other statements are passed over with a note.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sema/symbol.h"
#include "support/diagnostic.h"

namespace weft::sema {

class FileScope final : public Scope, public std::enable_shared_from_this<FileScope> {
 public:
  /// Reads the module level of a parsed file; problems go to the sink.
  static std::shared_ptr<FileScope> make(std::shared_ptr<const syntax::Tree> tree, DiagnosticSink& sink);

  std::optional<Symbol> lookup(std::string_view name) override;

  /// Kernels in order of definition; a later one of the same name replaces the earlier.
  const std::vector<std::shared_ptr<const FunctionDecl>>& kernels() const { return kernels_; }
  std::shared_ptr<const FunctionDecl> find_kernel(std::string_view name) const;
  const syntax::Tree& tree() const { return *tree_; }

 private:
  explicit FileScope(std::shared_ptr<const syntax::Tree> tree) : tree_(std::move(tree)) {}

  void read(DiagnosticSink& sink);
  void read_import(const syntax::ImportStmt& stmt);
  void read_function(const syntax::FunctionDef& def, DiagnosticSink& sink);
  void read_custom(const syntax::FunctionDef& def, const std::string& kind, DiagnosticSink& sink);
  std::shared_ptr<FunctionDecl> declare(const syntax::FunctionDef& def);
  void read_class(const syntax::ClassDef& def, DiagnosticSink& sink);
  void read_assignment(const syntax::Stmt& stmt, std::span<syntax::Expr* const> targets, const syntax::Expr& value,
                       DiagnosticSink& sink);
  std::string decorator_of(std::span<syntax::Expr* const> decorators, DiagnosticSink& sink);

  std::shared_ptr<const syntax::Tree> tree_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<std::shared_ptr<const FunctionDecl>> kernels_;
};

}  // namespace weft::sema
