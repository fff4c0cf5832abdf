// The text form, read: values and operations. An operation's line is gathered first, then typed as a whole by
// ir/infer.h, then made; regions are read last, inside the operation.
#include <algorithm>
#include <iterator>

#include "ir/block_functions.h"
#include "ir/fixed_memory.h"
#include "ir/infer.h"
#include "ir/literal.h"
#include "ir/op_cases.h"
#include "ir/rounded.h"
#include "ir/tame.h"
#include "ir/text_parser.h"
#include "ir/tile_memory.h"
#include "types/handle.h"

namespace weft::ir {
namespace {

std::optional<OpCode> opcode_of(std::string_view name) {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::string_view, OpCode>;  // kept: lookups may run during exit
    for (int code = 0; code < kOpCodes; ++code) made->emplace(name_of(OpCode(code)), OpCode(code));
    return made;
  }();
  auto it = table->find(name);
  if (it == table->end()) return {};
  return it->second;
}

/// The number of the kind that is called so, among `count` of them, or -1.
template <class Kind>
int kind_of(std::string_view name, int count) {
  for (int k = 0; k < count; ++k)
    if (name_of(Kind(k)) == name) return k;
  return -1;
}

bool is_number(std::string_view name) { return name.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

struct TextParser::OpText {
  Op probe{};  // attributes; operands and path are put in before typing
  std::vector<Token> results;
  std::vector<Value*> operands;
  std::vector<PathStep> path;
  std::vector<std::int64_t> ints;
  std::vector<const Type*> types;  // given result types
  std::vector<Token> carried;      // names of the region's arguments
  std::string text;
};

void TextParser::define(const Token& name, Value* value) {
  if (!names_.emplace(name.text, value).second) fail(name.loc, "%" + std::string(name.text) + " is defined twice");
  scope_.push_back(name.text);
  if (!is_number(name.text)) value->name = function_->arena.copy(name.text);
}

void TextParser::close_scope(std::size_t mark) {
  for (; scope_.size() > mark; scope_.pop_back()) names_.erase(scope_.back());
}

Value* TextParser::literal() {
  std::string error;
  std::optional<Literal> read = read_literal(token_.text, error);
  if (!read) fail(token_.loc, error);
  advance();
  return function_->constant(read->type, read->bits);
}

Value* TextParser::value() {
  if (token_.kind == TokenKind::value) {
    auto it = names_.find(token_.text);
    if (it == names_.end()) fail(token_.loc, "unknown value %" + std::string(token_.text));
    advance();
    return it->second;
  }
  if (token_.kind == TokenKind::number) return literal();
  if (token_.kind != TokenKind::word) unexpected("a value");
  if (accept_word("zero")) return function_->zero(type());
  if (token_.text == "true" || token_.text == "false" || token_.text.starts_with("inf") ||
      token_.text.starts_with("nan"))
    return literal();
  unexpected("a value");
}

void TextParser::value_list(std::vector<Value*>& list) {
  do list.push_back(value());
  while (accept(','));
}

void TextParser::region(Region* region, int depth) {
  if (depth > kMaxRegionDepth) fail(token_.loc, "regions are nested too deeply");
  expect('{');
  std::size_t mark = scope_.size();
  while (!accept('}')) operation(region, depth);
  close_scope(mark);
}

void TextParser::path(OpText& op) {
  while (token_.is('.') || token_.is('[')) {
    if (accept('.')) {
      op.path.push_back({PathStep::field, false, false, std::int32_t(integer("a field number", INT32_MAX))});
      continue;
    }
    advance();
    PathStep step{PathStep::index, false, false, 0};
    if (token_.kind == TokenKind::number && is_number(token_.text)) {
      step.value = std::int32_t(integer("an index", INT32_MAX));
    } else {
      step.dynamic = true;
      op.operands.push_back(value());
      step.wrap = accept('~');
    }
    expect(']');
    op.path.push_back(step);
  }
}

void TextParser::indices(OpText& op) {
  op.operands.push_back(value());
  expect('[');
  if (accept(']')) return;
  do {
    if (op.probe.code == OpCode::view && op.probe.num_indices == 0 && accept(':')) {  // a leading dimension that stays
      if (++op.probe.imm == kMaxRank)
        fail(token_.loc, "a view keeps at most " + std::to_string(kMaxRank - 1) + " dimensions");
      continue;
    }
    if (op.probe.num_indices == kMaxRank)
      fail(token_.loc, "an array has at most " + std::to_string(kMaxRank) + " indices");
    op.operands.push_back(value());
    if (accept('~')) op.probe.wrap |= std::uint8_t(1u << op.probe.num_indices);
    ++op.probe.num_indices;
  } while (accept(','));
  expect(']');
}

void TextParser::carried(OpText& op) {
  expect('(');
  if (accept(')')) return;
  do {
    op.carried.push_back(value_name());
    expect('=');
    op.operands.push_back(value());
  } while (accept(','));
  expect(')');
}

void TextParser::data_operands(OpText& op) {
  switch (op.probe.code) {
    case OpCode::cast:
    case OpCode::bitcast:
      op.operands.push_back(value());
      expect(':');
      op.types.push_back(type());
      return;
    case OpCode::construct: {
      op.types.push_back(type());
      bool empty = (op.types[0]->is_struct() || op.types[0]->is_tuple()) && op.types[0]->fields().empty();
      if (!empty) value_list(op.operands);
      return;
    }
    case OpCode::splat:
      op.types.push_back(type());
      expect(',');
      op.operands.push_back(value());
      return;
    case OpCode::extract:
      op.operands.push_back(value());
      path(op);
      return;
    case OpCode::insert:
      op.operands.push_back(value());
      expect(',');
      op.operands.push_back(value());
      expect(',');
      path(op);
      return;
    case OpCode::select: value_list(op.operands); return;
    WEFT_CASES(WEFT_OPS_BUT_DATA) WEFT_UNREACHABLE("not a data operation");
  }
}

void TextParser::memory_operands(OpText& op) {
  switch (op.probe.code) {
    case OpCode::atomic: {
      int kind = token_.kind == TokenKind::word ? kind_of<AtomicKind>(token_.text, kAtomicKinds) : -1;
      if (kind < 0) unexpected("the kind of an atomic");
      op.probe.atomic = AtomicKind(kind);
      advance();
      [[fallthrough]];
    }
    case OpCode::load:
    case OpCode::store:
      indices(op);
      path(op);
      if (op.probe.code == OpCode::load) return;
      expect(',');
      value_list(op.operands);
      return;
    case OpCode::view:
    case OpCode::prefetch: indices(op); return;
    case OpCode::slice:
    case OpCode::dim:
      op.operands.push_back(value());
      expect(',');
      op.probe.imm = integer("a dimension", kMaxRank - 1);
      if (op.probe.code == OpCode::slice) {
        expect(',');
        value_list(op.operands);
      } else {
        expect(':');
        op.types.push_back(type());
      }
      return;
    case OpCode::from_ptr:
      value_list(op.operands);
      expect(':');
      op.types.push_back(type());
      return;
    case OpCode::recall:
      expect(':');
      op.types.push_back(type());
      return;
    case OpCode::local:
      expect(':');
      op.types.push_back(type());
      expect('[');
      do op.ints.push_back(integer("an extent", INT64_MAX));
      while (accept(','));
      expect(']');
      return;
    case OpCode::nonnull:
    case OpCode::data_ptr:
    case OpCode::gradient:
    case OpCode::with_gradient: value_list(op.operands); return;
    WEFT_CASES(WEFT_OPS_BUT_MEMORY) WEFT_UNREACHABLE("not a memory operation");
  }
}

void TextParser::control_operands(OpText& op) {
  switch (op.probe.code) {
    case OpCode::if_:
      op.operands.push_back(value());
      if (accept(':')) {
        do op.types.push_back(type());
        while (accept(','));
      }
      return;
    case OpCode::for_:
      op.carried.push_back(value_name());
      expect('=');
      op.operands.push_back(value());
      expect_word("to");
      op.operands.push_back(value());
      expect_word("step");
      op.operands.push_back(value());
      if (token_.is('(')) carried(op);
      return;
    case OpCode::while_: carried(op); return;
    case OpCode::call: {
      if (token_.kind != TokenKind::function) unexpected("a function name");
      auto it = functions_.find(token_.decoded);
      if (it == functions_.end()) fail(token_.loc, "no function @" + token_.decoded + " stands before this");
      op.probe.callee = it->second;
      advance();
      expect('(');
      if (accept(')')) return;
      value_list(op.operands);
      expect(')');
      return;
    }
    case OpCode::test: op.operands.push_back(value()); return;
    case OpCode::return_:
    case OpCode::yield:  // the region ends after its values
      if (!token_.is('}')) value_list(op.operands);
      return;
    WEFT_CASES(WEFT_OPS_BUT_CONTROL) WEFT_UNREACHABLE("not a control operation");
  }
}

void TextParser::effect_operands(OpText& op) {
  switch (op.probe.code) {
    case OpCode::tid: op.probe.imm = integer("a dimension", kMaxRank - 1); return;
    case OpCode::any: op.operands.push_back(value()); return;
    case OpCode::print:
    case OpCode::printf:
      op.text = string_literal();
      if (accept(',')) value_list(op.operands);
      return;
    case OpCode::check: {
      int kind = token_.kind == TokenKind::word ? kind_of<CheckKind>(token_.text, kCheckKinds) : -1;
      if (kind < 0) unexpected("the kind of a check");
      op.probe.check = CheckKind(kind);
      advance();
      [[fallthrough]];
    }
    case OpCode::assert_:
      op.operands.push_back(value());
      expect(',');
      op.text = string_literal();
      if (op.probe.code == OpCode::assert_) return;
      expect(',');
      value_list(op.operands);
      return;
    case OpCode::thread:
    case OpCode::block_dim:
    case OpCode::block_thread:
    case OpCode::on_gpu:
    case OpCode::objects:
    case OpCode::breakpoint:
    case OpCode::fence:
    case OpCode::warp:
    case OpCode::lane:
    case OpCode::running: return;
    case OpCode::meet:
      if (token_.kind != TokenKind::string) return;
      op.text = string_literal();
      expect(',');
      value_list(op.operands);
      return;
    case OpCode::barrier:
      if (token_.kind == TokenKind::number) op.probe.imm = integer("turns", kMostTurnsAhead);
      return;
    case OpCode::tally:
    case OpCode::vote:
    case OpCode::shuffle:
    case OpCode::warp_sync: value_list(op.operands); return;
    case OpCode::texture:
      op.probe.imm = integer("a rank", ir::kTextureWhole + 3);
      expect(',');
      value_list(op.operands);
      return;
    WEFT_CASES(WEFT_OPS_BUT_EFFECT) WEFT_UNREACHABLE("not an effect");
  }
}

void TextParser::opcode(OpText& op) {
  if (token_.kind == TokenKind::value) {
    do op.results.push_back(value_name());
    while (accept(','));
    expect('=');
  }
  std::optional<OpCode> code = token_.kind == TokenKind::word ? opcode_of(token_.text) : std::nullopt;
  if (!code) unexpected("an operation");
  op.probe.code = *code;
  advance();
  if ((*code == OpCode::dot || *code == OpCode::matmul) && accept('(')) {
    expect_word("contract");
    expect(')');
    op.probe.contract = true;
  }
  if ((*code == OpCode::sqrt || *code == OpCode::div) && accept('(')) {
    expect_word("tame");
    expect(')');
    op.probe.imm = kTame;
  }
  if ((*code == OpCode::mul || *code == OpCode::scale) && accept('(')) {
    expect_word("rounded");
    expect(')');
    op.probe.imm = kRounded;
  }
  if (*code == OpCode::local && accept('(')) {
    do {
      const std::string_view word = token_.kind == TokenKind::word ? token_.text : std::string_view();
      if (word == "block")
        op.probe.imm |= kOfBlock;
      else if (word == "tile")
        op.text = kTileMemory;
      else if (word == "shared" && !op.text.empty())
        op.text = kSharedTileMemory;
      else if (word == "raw")
        op.probe.imm |= kRaw;
      else
        fail(token_.loc, "a local is (block), (raw), (tile) or (tile, shared), or some of these");
      advance();
    } while (accept(','));
    expect(')');
  }
  if (*code == OpCode::for_ && accept('(')) {
    const auto* known = std::find(std::begin(kLoopTexts), std::end(kLoopTexts), token_.text);
    if (known == std::end(kLoopTexts)) unexpected("'shared', 'own' or 'rolled'");
    op.text = *known;
    advance();
    expect(')');
  }
  if (*code == OpCode::handle) {
    expect('(');
    std::optional<HandleKind> kind = token_.kind == TokenKind::word ? handle_from_text(token_.text) : std::nullopt;
    if (!kind) unexpected("a kind of object");
    advance();
    HandleUse use(*kind);
    if (accept(',')) {
      use.winding = token_.text == "winding";
      use.written = token_.text == "written";
      if (!use.winding && !use.written) unexpected("'winding' or 'written'");
      advance();
    }
    op.probe.imm = use.number();
    expect(')');
  }
  if (*code == OpCode::from_ptr && accept('(')) {
    expect_word("fixed");
    op.probe.imm = kFixed;
    if (accept(',')) {
      const bool runs = token_.text == "runs", bytes = token_.text == "bytes";
      expect_word(runs ? "runs" : bytes ? "bytes" : "loose");
      op.probe.imm = runs ? kFixedRuns : bytes ? kFixedBytes : kFixedLoose;
    }
    expect(')');
  }
}

void TextParser::operands(OpText& op) {
  switch (class_of(op.probe.code)) {
    case OpClass::data: return data_operands(op);
    case OpClass::memory: return memory_operands(op);
    case OpClass::control: return control_operands(op);
    case OpClass::effect: return effect_operands(op);
    case OpClass::arith:
    case OpClass::bits:
    case OpClass::compare:
    case OpClass::round:
    case OpClass::math:
    case OpClass::whole: return value_list(op.operands);
  }
}

void TextParser::operation(Region* region, int depth) {
  OpText text;
  SourceLoc loc = token_.loc;
  opcode(text);
  operands(text);
  OpCode code = text.probe.code;
  text.probe.operands = text.operands;
  text.probe.path = text.path;
  text.probe.ints = text.ints;
  if (code == OpCode::for_ || code == OpCode::while_)
    for (std::size_t i = code == OpCode::for_ ? 3 : 0; i < text.operands.size(); ++i)
      text.types.push_back(text.operands[i]->type);
  if (std::optional<std::string> error = infer(text.probe, text.types)) fail(loc, *error);
  if (text.types.size() != text.results.size())
    fail(loc, std::string(name_of(code)) + " has " + std::to_string(text.types.size()) +
                  (text.types.size() == 1 ? " result, not " : " results, not ") + std::to_string(text.results.size()));

  std::size_t num_regions = code == OpCode::for_ ? 1 : code == OpCode::if_ || code == OpCode::while_ ? 2 : 0;
  Op* op = function_->make_op(code, text.operands, text.types, num_regions);
  op->atomic = text.probe.atomic;
  op->check = text.probe.check;
  op->contract = text.probe.contract;
  op->num_indices = text.probe.num_indices;
  op->wrap = text.probe.wrap;
  op->path = function_->arena.copy(text.path);
  op->ints = function_->arena.copy(text.ints);
  op->imm = text.probe.imm;
  op->text = function_->arena.copy(std::string_view(text.text));
  op->callee = text.probe.callee;
  op->loc = loc;
  insert_op(region, op);
  if (num_regions) regions(text, *op, depth);
  for (std::size_t i = 0; i < text.results.size(); ++i) define(text.results[i], op->results[i]);
}

void TextParser::regions(const OpText& text, Op& op, int depth) {
  for (std::size_t r = 0; r < op.regions.size(); ++r) {
    if (r == 1) expect_word(op.code == OpCode::if_ ? "else" : "do");
    std::size_t mark = scope_.size();
    bool has_variable = op.code == OpCode::for_;
    for (std::size_t i = 0; i < text.carried.size(); ++i) {
      const Type* type = has_variable && i == 0 ? op.operands[0]->type : op.results[has_variable ? i - 1 : i]->type;
      define(text.carried[i], function_->add_argument(op.regions[r], type));
    }
    region(op.regions[r], depth + 1);
    close_scope(mark);
  }
}

}  // namespace weft::ir
