// Each function is a subprogram of the file where its first line lies; lines of other files, of functions that were
// inlined, lie in blocks of their own within it.
#include "codegen/emit/line_table.h"

#include <unordered_map>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

namespace weft::codegen {

namespace {

constexpr const char* kLibrary = "stdlib/";  // built-in functions count to the line that calls them

}  // namespace

struct LineTable::Impl {
  explicit Impl(llvm::Module& module) : module(module), builder(module) {}

  llvm::DIFile* file(const SourceFile* source) {
    llvm::DIFile*& known = files[source];
    if (!known) known = builder.createFile(source ? source->name() : "unknown", "");
    return known;
  }

  llvm::DISubprogram* subprogram(llvm::Function& function, const SourceLoc& loc) {
    if (llvm::DISubprogram* known = function.getSubprogram()) return known;
    llvm::DIFile* where = file(loc.file);
    // The unit of all functions is that of the first file.
    if (!unit)
      unit = builder.createCompileUnit(llvm::dwarf::DW_LANG_Python, where, "weft", true, "", 0, "",
                                       llvm::DICompileUnit::DebugDirectivesOnly);
    llvm::DISubroutineType* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
    llvm::DISubprogram* made =
        builder.createFunction(where, function.getName(), function.getName(), where, loc.line, type, loc.line,
                               llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
    function.setSubprogram(made);
    return made;
  }

  llvm::Module& module;
  llvm::DIBuilder builder;
  llvm::DICompileUnit* unit = nullptr;
  std::unordered_map<const SourceFile*, llvm::DIFile*> files;
};

LineTable::LineTable(llvm::Module& module) : impl_(std::make_unique<Impl>(module)) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 2);
}

LineTable::~LineTable() = default;

llvm::DebugLoc LineTable::at(llvm::Function& function, const SourceLoc& loc) {
  if (!loc.known() || !loc.file || loc.file->name().starts_with(kLibrary)) return {};
  llvm::DIScope* scope = impl_->subprogram(function, loc);
  if (llvm::DIFile* here = impl_->file(loc.file); here != scope->getFile())
    // A line of another file can't stand in a function of this one: the block says whose line it is.
    scope = impl_->builder.createLexicalBlockFile(scope, here);
  return llvm::DILocation::get(function.getContext(), loc.line, loc.col, scope);
}

void LineTable::finish() {
  if (impl_->unit) impl_->builder.finalize();
}

}  // namespace weft::codegen
