// The LLVM module being made: how types fall into parts, declarations of runtime helpers and the table of functions
// emitted so far.
#include "codegen/emit/emitter.h"

#include <llvm/IR/Verifier.h>

#include "codegen/emit/line_table.h"
#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

namespace {

/// A vec3 is three scalars of one lane unit; `array<f32, 2>` two pointers and four extents, each a unit by itself; a
/// struct what its fields are, in their order. Offsets are those of C's layout.
void add_parts(TypeParts& out, const Type* type, bool packed, std::uint32_t offset, std::uint32_t& unit) {
  using Kind = PartKind;
  switch (type->kind()) {
    case TypeKind::scalar: out.parts.push_back({Kind::scalar, type->scalar_kind(), 1, offset, unit++}); return;
    case TypeKind::vec:
    case TypeKind::mat:
    case TypeKind::quat:
    case TypeKind::transform: {
      std::uint32_t n = type->component_count(), bytes = type->element()->size();
      if (packed && fills_register(type)) {
        out.parts.push_back({Kind::scalar, type->scalar_kind(), n, offset, unit++});
        return;
      }
      if (n > kMaxRegisterComponents) {
        out.parts.push_back({Kind::block, type->scalar_kind(), n, offset, unit++});
        return;
      }
      // All components share one lane unit: they are uniform or varying together, which keeps the analysis small.
      for (std::uint32_t k = 0; k < n; ++k)
        out.parts.push_back({Kind::scalar, type->scalar_kind(), 1, offset + k * bytes, unit});
      ++unit;
      return;
    }
    case TypeKind::structure:
    case TypeKind::tuple:
      for (const Field& field : type->fields()) add_parts(out, field.type, packed, offset + field.offset, unit);
      return;
    case TypeKind::array: {
      // A descriptor is data, gradient, then as many extents and strides as the rank says; the rest of ArrayDesc is
      // constant for the type, takes no registers and is only written where a descriptor goes to memory.
      constexpr ScalarKind kExtent = ScalarKind::i64;
      std::uint32_t rank = type->rank();
      constexpr std::uint32_t kShape = offsetof(ArrayDesc, shape), kStrides = offsetof(ArrayDesc, strides);
      out.parts.push_back(
          {Kind::pointer, ScalarKind::u64, 1, offset + std::uint32_t(offsetof(ArrayDesc, data)), unit++});
      out.parts.push_back(
          {Kind::pointer, ScalarKind::u64, 1, offset + std::uint32_t(offsetof(ArrayDesc, grad)), unit++});
      for (std::uint32_t at : {kShape, kStrides})
        for (std::uint32_t d = 0; d < rank; ++d)
          out.parts.push_back({Kind::extent, kExtent, 1, offset + at + 8 * d, unit++});
      for (std::uint32_t at : {kShape, kStrides})
        for (std::uint32_t d = rank; d < kMaxRank; ++d) out.constants.push_back({offset + at + 8 * d, 8, 0});
      // Eight bytes: the reserved field behind it is zero.
      out.constants.push_back({offset + std::uint32_t(offsetof(ArrayDesc, ndim)), 8, std::int64_t(rank)});
      return;
    }
    case TypeKind::function:
    case TypeKind::string: break;
  }
  WEFT_UNREACHABLE("a compile-time type reached code generation: " + type->text());
}

}  // namespace

CodeUnit::CodeUnit(const ir::Module& source, const TargetSpec& target, const EmitOptions& options, int lanes)
    : source(source),
      target(target),
      options(options),
      lanes(lanes),
      traits(traits_of(target)),
      hooks(target.arch == TargetSpec::nvptx ? gpu_hooks() : cpu_hooks()),
      sites(analysis::check_sites(source)) {
  module = std::make_unique<llvm::Module>("weft", context);
  i1 = llvm::Type::getInt1Ty(context);
  i8 = llvm::Type::getInt8Ty(context);
  i16 = llvm::Type::getInt16Ty(context);
  i32 = llvm::Type::getInt32Ty(context);
  i64 = llvm::Type::getInt64Ty(context);
  f32 = llvm::Type::getFloatTy(context);
  f64 = llvm::Type::getDoubleTy(context);
  ptr = llvm::PointerType::getUnqual(context);
  if (hooks->counts_turns()) turns.emplace(source);
  if (options.line_info && hooks->tells_lines()) lines = std::make_unique<LineTable>(*module);
}

CodeUnit::~CodeUnit() = default;

const TypeParts& CodeUnit::parts(const Type* type) {
  // Two tables, for the same type falls into other parts in a body with packed vectors.
  auto [it, fresh] = parts_[packed].try_emplace(type);
  if (fresh) {
    std::uint32_t unit = 0;
    add_parts(it->second, type, packed, 0, unit);
  }
  return it->second;
}

llvm::Type* CodeUnit::type(ScalarKind kind) const {
  switch (kind) {
    case ScalarKind::boolean: return i1;
    case ScalarKind::i8:
    case ScalarKind::u8: return i8;
    case ScalarKind::i16:
    case ScalarKind::u16:
    case ScalarKind::f16:
    case ScalarKind::bf16: return i16;
    case ScalarKind::i32:
    case ScalarKind::u32: return i32;
    case ScalarKind::i64:
    case ScalarKind::u64: return i64;
    case ScalarKind::f32: return f32;
    case ScalarKind::f64: return f64;
  }
  WEFT_UNREACHABLE();
}

llvm::Type* CodeUnit::memory_type(ScalarKind kind) const { return kind == ScalarKind::boolean ? i8 : type(kind); }

llvm::Type* CodeUnit::memory_type(const PartInfo& part) const {
  if (part.kind == PartKind::pointer) return ptr;
  llvm::Type* scalar = memory_type(part.scalar);
  return part.kind == PartKind::scalar && part.count > 1 ? llvm::FixedVectorType::get(scalar, part.count) : scalar;
}

llvm::Type* CodeUnit::wide(llvm::Type* scalar) const {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, unsigned(lanes));
}

llvm::Type* CodeUnit::part_type(const PartInfo& part, bool varying) const {
  if (part.kind == PartKind::block) return ptr;
  llvm::Type* scalar = part.kind == PartKind::pointer ? ptr : type(part.scalar);
  if (part.kind == PartKind::scalar && part.count > 1) return llvm::FixedVectorType::get(scalar, part.count);
  return varying ? wide(scalar) : scalar;
}

llvm::FunctionCallee CodeUnit::helper(const char* name, llvm::FunctionType* type, bool may_read_memory) {
  llvm::FunctionCallee callee = module->getOrInsertFunction(name, type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  // LLVM may then drop a call whose result nobody wants, and merge equal ones.
  if (!may_read_memory) {
    function->setDoesNotAccessMemory();
    function->setWillReturn();
  }
  return callee;
}

llvm::Constant* CodeUnit::text_constant(const std::string& text) {
  // Equal texts once: checks in a loop that was unrolled have the same one many times.
  auto [it, fresh] = texts_.try_emplace(text);
  if (fresh) {
    llvm::Constant* bytes = llvm::ConstantDataArray::getString(context, text, true);
    auto* global =
        new llvm::GlobalVariable(*module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes, "text");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    it->second = global;
  }
  return it->second;
}

std::string entry_name(const ir::Function& kernel) {
  // PTX identifiers are letters, digits, _ and $; one rule for both targets keeps symbols predictable.
  std::string name = "weft_k_";
  for (char c : kernel.name) name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  return name;
}

ParamLayout param_layout(const ir::Function& kernel) {
  ParamLayout layout;
  for (const ir::Value* param : kernel.params()) layout.add(std::string(param->name), param->type);
  return layout;
}

}  // namespace weft::codegen
