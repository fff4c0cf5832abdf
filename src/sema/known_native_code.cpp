// Operations that stand for snippets which mean them (known_natives.h).
#include "ir/builder.h"
#include "sema/known_natives.h"

namespace weft::sema {
namespace {

using Kind = KnownNative::Kind;
using ir::OpCode;

class Writer {
 public:
  Writer(const KnownNative& known, ir::Function& function)
      : known_(known), function_(function), b_(function, function.body) {
    b_.set_loc(function.loc);
  }

  bool write() {
    switch (known_.kind) {
      case Kind::nothing: return ends();
      case Kind::barrier: return gives_nothing() && (b_.op_typed(OpCode::barrier, {}, {}), ends());
      case Kind::trailing_zeros: return of_bits(OpCode::trailing_zeros);
      case Kind::bit_count: return of_bits(OpCode::bit_count);
      case Kind::shuffle: return shuffled();
      case Kind::warp_barrier: return synced();
      case Kind::ballot:
      case Kind::any_of_warp:
      case Kind::all_of_warp:
      case Kind::count:
      case Kind::any_of_block:
      case Kind::all_of_block: return voted();
      case Kind::active: return gives_number() && ends(b_.op(OpCode::warp, {})->result());
      case Kind::thread: return gives_number() && ends(b_.op(OpCode::block_thread, {})->result());
      case Kind::threads: return gives_number() && ends(b_.op(OpCode::block_dim, {})->result());
      case Kind::lane: return gives_number() && ends(b_.op(OpCode::lane, {})->result());
      case Kind::number_of_warp: {
        if (!gives_number()) return false;
        return ends(b_.binary(OpCode::shr, b_.op(OpCode::block_thread, {})->result(), b_.i32(5)));
      }
    }
    return false;
  }

 private:
  const Type* result() const { return function_.result_types.size() == 1 ? function_.result_types[0] : nullptr; }
  /// If it returns something all the same, clang says so.
  bool gives_nothing() const { return function_.result_types.empty(); }
  bool gives_number() const {
    if (!result() || (!result()->is_int() && !result()->is_bool())) return false;
    const bool whole = known_.kind == Kind::ballot || known_.kind == Kind::active;  // 32 bits
    return !known_.narrowed || !whole || result()->size() <= 4;  // what is wider would have to know of the sign
  }

  bool ends(ir::Value* value = nullptr) {
    if (!value) {
      if (!gives_nothing()) return false;
      b_.ret({});
      return true;
    }
    ir::Value* out[] = {b_.cast(value, result())};
    b_.ret(out);
    return true;
  }

  ir::Value* u32(std::uint32_t n) { return b_.constant(types::u32(), n); }

  /// Null if the parameter is no integer.
  ir::Value* mask() {
    if (known_.mask.active) return b_.op(OpCode::warp, {})->result();
    if (!known_.mask.param) return u32(known_.mask.bits);
    ir::Value* bits = function_.params()[*known_.mask.param];
    return bits->type->is_int() ? b_.cast(bits, types::u32()) : nullptr;
  }

  /// Null if C++ would make something else of it than is made here.
  ir::Value* condition() {
    const KnownNative::Condition& said = known_.condition;
    if (!said.param) return b_.boolean(said.constant);
    ir::Value* value = function_.params()[*said.param];
    const Type* type = value->type;
    if (!type->is_scalar() || (known_.of_bool && !type->is_bool())) return nullptr;
    if (!said.compared && !type->is_bool() && (!type->is_int() || type->size() > 4)) return nullptr;
    ir::Value* zero = function_.zero(type);
    if (type->is_bool() && !said.negated) return value;
    return b_.binary(said.negated ? OpCode::eq : OpCode::ne, value, zero);
  }

  bool of_bits(OpCode code) {
    ir::Value* value = function_.params()[known_.param];
    if (!result() || !result()->is_int() || (value->type != types::i64() && value->type != types::u64())) return false;
    return ends(b_.unary(code, value));
  }

  bool shuffled() {
    using From = KnownNative::From;
    ir::Value* value = function_.params()[known_.param];
    const Type* type = value->type;
    if (result() != type || !type->is_scalar() || scalar_bits(type->scalar_kind()) < 32) return false;
    ir::Value* far = known_.distance_param ? function_.params()[*known_.distance_param] : u32(known_.distance);
    ir::Value* const among = far->type->is_int() ? mask() : nullptr;
    if (!among) return false;
    far = b_.cast(far, types::u32());
    ir::Value *lane = b_.op(OpCode::lane, {})->result(), *from = far;
    if (known_.from == From::across) from = b_.binary(OpCode::bit_xor, lane, far);
    if (known_.from == From::above) from = b_.binary(OpCode::add, lane, far);
    if (known_.from == From::below) from = b_.binary(OpCode::sub, lane, far);
    // Beyond the warp's ends a thread has its own number.
    if (known_.from != From::lane) from = b_.select(b_.binary(OpCode::lt, from, u32(32)), from, lane);
    ir::Value* operands[] = {among, value, from};
    return ends(b_.op(OpCode::shuffle, operands)->result());
  }

  bool synced() {
    ir::Value* const among = gives_nothing() ? mask() : nullptr;
    if (!among) return false;
    ir::Value* operands[] = {among};
    b_.op_typed(OpCode::warp_sync, operands, {});
    return ends();
  }

  bool voted() {
    const bool of_warp =
        known_.kind == Kind::ballot || known_.kind == Kind::any_of_warp || known_.kind == Kind::all_of_warp;
    const bool all = known_.kind == Kind::all_of_warp || known_.kind == Kind::all_of_block;
    ir::Value* says = gives_number() ? condition() : nullptr;
    ir::Value* const among = says && of_warp ? mask() : nullptr;
    if (!says || (of_warp && !among)) return false;
    if (all) says = b_.binary(OpCode::eq, says, b_.boolean(false));  // that nobody says no
    ir::Value* operands[] = {among, says};
    ir::Value* heard =
        of_warp ? b_.op(OpCode::vote, operands)->result() : b_.op(OpCode::tally, std::span(operands).last(1))->result();
    if (known_.kind != Kind::ballot && known_.kind != Kind::count)
      heard = b_.binary(all ? OpCode::eq : OpCode::ne, heard, function_.zero(heard->type));
    return ends(heard);
  }

  const KnownNative& known_;
  ir::Function& function_;
  ir::Builder b_;
};

}  // namespace

bool write_known(std::string_view snippet, std::span<const std::string> params, ir::Function& function) {
  const std::optional<KnownNative> known = known_native(snippet, params);
  return known && Writer(*known, function).write();
}

}  // namespace weft::sema
