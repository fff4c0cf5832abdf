// GPU output. vprintf takes a C format and a buffer of promoted arguments: ints below 32 bits widen to int, floats to
// double. The same text as on the CPU, but that C's own number formatting is the driver's.
#include "codegen/nvptx/print.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/nvptx/printf_spec.h"

namespace weft::codegen {

using runtime::ErrorRecord;

namespace {

/// Collects format and arguments.
class Message {
 public:
  explicit Message(Emitter& e) : e_(e) {}

  void text(std::string_view literal) {
    for (char c : literal) format_ += c == '%' ? "%%" : std::string(1, c);
  }
  void raw(std::string_view format) { format_ += format; }

  /// A scalar with a conversion; `conversion` has no length modifier.
  void scalar(std::string flags, char conversion, ScalarKind kind, llvm::Value* v) {
    llvm::IRBuilder<>& b = e_.b;
    CodeUnit& unit = e_.unit;
    bool as_float = std::string_view("aAeEfFgG").find(conversion) != std::string_view::npos;
    if (as_float) {
      add(e_.convert(v, kind, ScalarKind::f64));
    } else if (is_floating(kind)) {
      add(e_.convert(v, kind, ScalarKind::i64));
      flags += "ll";
    } else if (scalar_bits(kind) == 64) {
      add(v);
      flags += "ll";
    } else {
      add(is_signed(kind) ? b.CreateSExtOrBitCast(v, unit.i32) : b.CreateZExtOrBitCast(v, unit.i32));
    }
    format_ += "%" + flags + conversion;
  }

  void value(const Type* type, const Parts& parts, std::size_t& next) {
    switch (type->kind()) {
      case TypeKind::scalar: {
        ScalarKind kind = type->scalar_kind();
        llvm::Value* v = parts[next++].v;
        if (kind == ScalarKind::boolean) {
          llvm::Value* yes = e_.unit.text_constant("True");
          llvm::Value* no = e_.unit.text_constant("False");
          add(e_.b.CreateSelect(v, yes, no));
          format_ += "%s";
        } else {
          scalar("", is_floating(kind) ? 'g' : is_signed(kind) ? 'd' : 'u', kind, v);
        }
        return;
      }
      case TypeKind::structure:
        text(type->name() + "(");
        for (std::size_t k = 0; k < type->fields().size(); ++k) {
          if (k) text(", ");
          text(std::string(type->fields()[k].name) + "=");
          value(type->fields()[k].type, parts, next);
        }
        return text(")");
      case TypeKind::array:
        add(parts[next].v);
        format_ += "array(%p)";
        next += 2 + 2 * type->rank();
        return;
      default: break;
    }
    WEFT_CHECK(type->is_composite(), "no printed form for " + type->text());
    for (std::uint32_t r = 0, k = 0; r < type->rows(); ++r) {
      for (std::uint32_t c = 0; c < type->cols(); ++c, ++k) {
        ScalarKind kind = type->scalar_kind();
        llvm::Value* v = e_.is_block(type) ? e_.block_get(parts[next], kind, e_.b.getInt64(k)) : parts[next + k].v;
        scalar("", is_floating(kind) ? 'g' : is_signed(kind) ? 'd' : 'u', kind, v);
        text(" ");
      }
      if (type->is_mat()) text("\n");
    }
    next += e_.is_block(type) ? 1 : type->component_count();
  }

  void send() {
    llvm::IRBuilder<>& b = e_.b;
    CodeUnit& unit = e_.unit;
    std::uint64_t bytes = 0;
    for (llvm::Value* v : args_) bytes = align(bytes, size(v)) + size(v);
    llvm::Value* buffer = e_.entry_alloca(unit.i8, std::max<std::uint64_t>(bytes, 8), 8);
    std::uint64_t at = 0;
    for (llvm::Value* v : args_) {
      at = align(at, size(v));
      b.CreateAlignedStore(v, b.CreateConstGEP1_64(unit.i8, buffer, at), llvm::Align(size(v)));
      at += size(v);
    }
    auto* type = llvm::FunctionType::get(unit.i32, {unit.ptr, unit.ptr}, false);
    b.CreateCall(unit.helper("vprintf", type, true), {unit.text_constant(format_), buffer});
  }

 private:
  void add(llvm::Value* v) { args_.push_back(v); }
  static std::uint64_t size(llvm::Value* v) {
    return v->getType()->isPointerTy() ? 8 : v->getType()->getScalarSizeInBits() / 8;
  }
  static std::uint64_t align(std::uint64_t at, std::uint64_t to) { return (at + to - 1) / to * to; }

  Emitter& e_;
  std::string format_;
  llvm::SmallVector<llvm::Value*, 8> args_;
};

}  // namespace

void emit_gpu_print(Emitter& e, const ir::Op& op) {
  Message message(e);
  if (op.code == ir::OpCode::print) {
    message.text(op.text);
    for (const ir::Value* v : op.operands) {
      std::size_t next = 0;
      message.value(v->type, e.get(v), next);
    }
    message.raw("\n");
    return message.send();
  }
  std::size_t operand = 0;
  for (const PrintfPiece& piece : split_printf(op.text)) {
    if (piece.conversion == 0) {
      message.text(piece.text);
      continue;
    }
    if (operand >= op.operands.size()) throw Error("printf has more conversions than values", op.loc);
    const ir::Value* v = op.operand(operand++);
    llvm::Value* scalar = e.plain(v);
    ScalarKind kind = v->type->scalar_kind();
    if (kind == ScalarKind::boolean) {
      scalar = e.convert(scalar, kind, ScalarKind::i32);
      kind = ScalarKind::i32;
    }
    message.scalar(piece.text, piece.conversion, kind, scalar);
  }
  if (operand != op.operands.size()) throw Error("printf has fewer conversions than values", op.loc);
  message.send();
}

void emit_gpu_failure(Emitter& e, llvm::Value* site, llvm::Value* linear, llvm::Value* index, llvm::Value* extent) {
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  auto trailer = [&](std::size_t offset) {
    return b.CreateAlignedLoad(unit.i64, b.CreateConstGEP1_64(unit.i8, e.thread.context, offset), llvm::Align(8));
  };
  llvm::Value* error = b.CreateIntToPtr(trailer(offsetof(GpuTrailer, error)), unit.ptr);
  e.when(b.CreateIsNotNull(error), [&] {
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    auto* claim = b.CreateAtomicCmpXchg(error, b.getInt32(0), b.getInt32(1), llvm::MaybeAlign(4), kOrder, kOrder);
    e.when(b.CreateExtractValue(claim, 1), [&] {
      auto put = [&](std::size_t offset, llvm::Value* v, unsigned align) {
        b.CreateAlignedStore(v, b.CreateConstGEP1_64(unit.i8, error, offset), llvm::Align(align), true);
      };
      put(offsetof(ErrorRecord, site), site, 4);
      llvm::Value* rest = linear;
      for (int d = kMaxRank - 1; d >= 0; --d) {
        llvm::Value* extent_here = trailer(offsetof(GpuTrailer, dims) + 8 * std::size_t(d));
        llvm::Value* at = d == 0 ? rest : b.CreateURem(rest, extent_here);
        put(offsetof(ErrorRecord, thread) + 8 * std::size_t(d), at, 8);
        if (d > 0) rest = b.CreateUDiv(rest, extent_here);
      }
      put(offsetof(ErrorRecord, index), index, 8);
      put(offsetof(ErrorRecord, extent), extent, 8);
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_sys, {}, {});
      put(offsetof(ErrorRecord, state), b.getInt32(2), 4);
      // As on the CPU, the first failure tells debug loops to end.
      llvm::Value* stop = b.CreateIntToPtr(trailer(offsetof(GpuTrailer, stop)), unit.ptr);
      e.when(b.CreateIsNotNull(stop), [&] { b.CreateAlignedStore(b.getInt32(1), stop, llvm::Align(4), true); });
    });
  });
}

}  // namespace weft::codegen
