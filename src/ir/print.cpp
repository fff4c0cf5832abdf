// The text form, written. Names are handed out over the whole function before its first line is made: hints are made
// unique, values without one are numbered in the order in which they stand in the text. A `while` names the carried
// values once for both of its regions.
#include <algorithm>
#include <unordered_map>

#include "ir/fixed_memory.h"
#include "ir/literal.h"
#include "ir/op_cases.h"
#include "ir/rounded.h"
#include "ir/tame.h"
#include "ir/text.h"
#include "ir/tile_memory.h"
#include "ir/type_names.h"
#include "types/handle.h"

namespace weft::ir {
namespace {

/// Names of the values of one function, by id.
class ValueNames {
 public:
  explicit ValueNames(bool use_hints) : use_hints_(use_hints) {}

  void add_function(const Function& function) {
    names_.resize(function.value_count);
    for (const Value* param : function.params()) add(param);
    add_region(*function.body);
  }

  void add_op(const Op& op) {
    for (const Value* result : op.results) add(result);
    for (const Region* region : op.regions) {
      if (op.code == OpCode::while_ && region != op.regions[0]) {
        std::size_t shared = std::min(region->args.size(), op.regions[0]->args.size());
        for (std::size_t i = 0; i < shared; ++i) slot(region->args[i]) = std::string(slot(op.regions[0]->args[i]));
      } else {
        for (const Value* arg : region->args) add(arg);
      }
      add_region(*region);
    }
  }

  /// The name with its percent sign; a value never seen is shown by its hint or as a question mark.
  std::string of(const Value* value) const {
    if (value->id < names_.size() && !names_[value->id].empty()) return "%" + names_[value->id];
    return value->name.empty() ? "%?" : "%" + clean(value->name);
  }

 private:
  std::string& slot(const Value* value) {
    if (value->id >= names_.size()) names_.resize(value->id + 1);
    return names_[value->id];
  }

  void add_region(const Region& region) {
    for (const Op& op : region) add_op(op);
  }

  void add(const Value* value) {
    if (!use_hints_ || value->name.empty()) {
      slot(value) = std::to_string(next_number_++);
      return;
    }
    std::string base = clean(value->name);
    auto [it, fresh] = next_suffix_.try_emplace(base, 1);
    std::string name = base;
    while (!fresh) {
      name = base + "_" + std::to_string(it->second++);
      // The suffixed name is taken from now on, should a hint spell it the same.
      if (next_suffix_.try_emplace(name, 1).second) break;
      it = next_suffix_.find(base);
    }
    slot(value) = std::move(name);
  }

  static std::string clean(std::string_view hint) {
    std::string out;
    if (hint[0] >= '0' && hint[0] <= '9') out += '_';
    for (char c : hint) {
      bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      out += plain ? c : '_';
    }
    return out;
  }

  bool use_hints_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint64_t> next_suffix_;
  std::uint64_t next_number_ = 0;
};

/// True if the operation has the parts its text form needs; messages also show broken operations.
bool is_printable(const Op& op) {
  std::size_t operands = 0, results = 0, regions = 0;
  switch (op.code) {
    case OpCode::cast:
    case OpCode::bitcast:
    case OpCode::splat:
    case OpCode::dim: operands = 1, results = 1; break;
    case OpCode::construct:
    case OpCode::from_ptr:
    case OpCode::recall:
    case OpCode::local: results = 1; break;
    case OpCode::extract:
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic:
    case OpCode::view:
    case OpCode::prefetch:
    case OpCode::slice:
    case OpCode::assert_:
    case OpCode::check: operands = 1; break;
    case OpCode::insert: operands = 2; break;
    case OpCode::if_: operands = 1, regions = 2; break;
    case OpCode::for_: operands = 3, regions = 1; break;
    case OpCode::while_: regions = 2; break;
    case OpCode::any: operands = 1; break;
    case OpCode::select:
    case OpCode::nonnull:
    case OpCode::data_ptr:
    case OpCode::gradient:
    case OpCode::with_gradient:
    case OpCode::call:
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test:
    case OpCode::tid:
    case OpCode::thread:
    case OpCode::block_dim:
    case OpCode::block_thread:
    case OpCode::on_gpu:
    case OpCode::objects:
    case OpCode::breakpoint:
    case OpCode::barrier:
    case OpCode::tally:
    case OpCode::meet:
    case OpCode::fence:
    case OpCode::warp:
    case OpCode::lane:
    case OpCode::vote:
    case OpCode::shuffle:
    case OpCode::warp_sync:
    case OpCode::texture:
    case OpCode::print:
    case OpCode::printf:
    case OpCode::running: WEFT_CASES(WEFT_NUMBER_OPS) break;  // as many operands as there are
  }
  return op.operands.size() >= operands && op.results.size() >= results && op.regions.size() >= regions;
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void function(const Function& function);
  void op(const Op& op, int indent);
  void name_function(const Function& function) { names_.add_function(function); }
  void name_op(const Op& op) { names_.add_op(op); }
  /// Fixes the canonical number of a function.
  std::string function_name(const Function& function);

  std::string finish() { return types_.declarations() + out_; }
  std::string take_body() { return std::move(out_); }

 private:
  std::string value(const Value* value);
  void values(std::span<Value* const> list);
  void type_list(std::span<const Type* const> list);
  void region(const Region& region, int indent);
  void path(const Op& op, std::size_t first_dynamic);
  void indices(const Op& op);
  void carried(const Region& region, std::size_t first_arg, std::span<Value* const> init);
  void data(const Op& op);
  void memory(const Op& op);
  void control(const Op& op, int indent);
  void effect(const Op& op);
  void location(const Op& op);

  PrintOptions options_;
  TypeNames types_;
  ValueNames names_{options_.names};
  std::unordered_map<const Function*, std::size_t> numbers_;
  std::string out_;
};

std::string Printer::function_name(const Function& function) {
  if (!options_.names) return "@f" + std::to_string(numbers_.try_emplace(&function, numbers_.size()).first->second);
  return "@" + (is_identifier(function.name) ? function.name : quoted(function.name));
}

std::string Printer::value(const Value* value) {
  if (!value) return "%?";
  if (!value->is_constant()) return names_.of(value);
  if (value->type->is_scalar()) return literal_text(value->type->scalar_kind(), value->bits);
  return "zero " + types_.text(value->type);
}

void Printer::values(std::span<Value* const> list) {
  for (std::size_t i = 0; i < list.size(); ++i) out_ += (i ? ", " : "") + value(list[i]);
}

void Printer::type_list(std::span<const Type* const> list) {
  for (std::size_t i = 0; i < list.size(); ++i) out_ += (i ? ", " : "") + types_.text(list[i]);
}

void Printer::function(const Function& f) {
  names_ = ValueNames(options_.names);
  names_.add_function(f);
  out_ += (f.kind == FunctionKind::kernel ? "kernel " : "func ") + function_name(f) + "(";
  for (std::size_t i = 0; i < f.params().size(); ++i)
    out_ += (i ? ", " : "") + names_.of(f.params()[i]) + ": " + types_.text(f.params()[i]->type);
  out_ += ")";
  if (!f.result_types.empty()) {
    out_ += " -> (";
    type_list(f.result_types);
    out_ += ")";
  }
  if (f.kind == FunctionKind::kernel) {
    out_ += " form(";
    if (f.form.no_overlap) out_ += "no_overlap, ";
    if (f.form.strided) out_ += "strided, ";
    if (f.form.aligned) out_ += "aligned, ";
    if (f.form.meet) out_ += "meet, ";
    if (f.form.objects_apart) out_ += "objects_apart, ";
    if (f.form.taped) out_ += "taped, ";
    if (f.form.adjoint) out_ += "adjoint, ";
    if (f.form.block) out_ += "block " + std::to_string(f.form.block) + (f.form.rows ? " rows, " : ", ");
    out_ += "rank " + std::to_string(f.form.rank) + ")";
  }
  if (f.from_library) out_ += " library";
  if (f.lanewise) out_ += " lanewise";
  if (!f.native.empty()) out_ += " native " + quoted(f.native);
  if (f.gradient) out_ += " gradient " + function_name(*f.gradient);
  if (f.replay) out_ += " replay " + function_name(*f.replay);
  if (f.derives) out_ += " derives " + function_name(*f.derives);
  out_ += " {\n";
  region(*f.body, 1);
  out_ += "}\n";
}

void Printer::region(const Region& region, int indent) {
  for (const Op& o : region) op(o, indent);
}

void Printer::location(const Op& op) {
  if (options_.note)
    if (std::string note = options_.note(op); !note.empty()) out_ += "  // " + note;
  if (!options_.locations || !op.loc.known()) return;
  out_ += "  // ";
  for (char c : to_string(op.loc)) out_ += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
}

namespace {

/// What a `local` is, in brackets; nothing if it is plain.
std::string words_of_local(const Op& local) {
  std::string out;
  const auto add = [&](bool is, const char* word) {
    if (is) out += (out.empty() ? "(" : ", ") + std::string(word);
  };
  add(local.imm & kOfBlock, "block");
  add(local.imm & kRaw, "raw");
  add(is_tile_memory(local), "tile");
  add(is_shared_tile_memory(local), "shared");
  return out.empty() ? out : out + ")";
}

}  // namespace

void Printer::op(const Op& o, int indent) {
  out_.append(std::size_t(indent) * 2, ' ');
  for (std::size_t i = 0; i < o.results.size(); ++i) out_ += (i ? ", " : "") + names_.of(o.results[i]);
  if (!o.results.empty()) out_ += " = ";
  out_ += name_of(o.code);
  if (o.contract) out_ += "(contract)";
  if (o.code == OpCode::local) out_ += words_of_local(o);
  if (o.code == OpCode::for_ && !o.text.empty()) out_ += "(" + std::string(o.text) + ")";
  if (is_tame(o)) out_ += "(tame)";
  if (is_rounded(o)) out_ += "(rounded)";
  if (o.code == OpCode::from_ptr && o.imm)
    out_ += o.imm == kFixedLoose   ? "(fixed, loose)"
            : o.imm == kFixedRuns  ? "(fixed, runs)"
            : o.imm == kFixedBytes ? "(fixed, bytes)"
                                   : "(fixed)";
  if (o.code == OpCode::handle && HandleUse::is_valid(o.imm)) {
    const HandleUse use(o.imm);
    out_ += '(';
    out_ += handle_text(use.kind);
    if (use.winding) out_ += ", winding";
    if (use.written) out_ += ", written";
    out_ += ')';
  }
  switch (is_printable(o) ? class_of(o.code) : OpClass::arith) {
    case OpClass::data: data(o); break;
    case OpClass::memory: memory(o); break;
    case OpClass::control: control(o, indent); break;
    case OpClass::effect: effect(o); break;
    case OpClass::arith:
    case OpClass::bits:
    case OpClass::compare:
    case OpClass::round:
    case OpClass::math:
    case OpClass::whole: out_ += " ", values(o.operands);
  }
  if (o.regions.empty()) location(o);
  out_ += "\n";
}

void Printer::path(const Op& op, std::size_t dynamic) {
  for (const PathStep& step : op.path) {
    if (step.kind == PathStep::field) {
      out_ += "." + std::to_string(step.value);
    } else if (!step.dynamic) {
      out_ += "[" + std::to_string(step.value) + "]";
    } else {
      out_ += "[" + (dynamic < op.operands.size() ? value(op.operands[dynamic]) : "%?") + (step.wrap ? "~]" : "]");
      ++dynamic;
    }
  }
}

void Printer::indices(const Op& op) {
  out_ += value(op.operands[0]) + "[";
  for (std::int64_t d = 0; d < op.imm && d < kMaxRank; ++d) out_ += op.num_indices || d + 1 < op.imm ? ":, " : ":";
  for (std::size_t i = 0; i < op.num_indices && i + 1 < op.operands.size(); ++i)
    out_ += (i ? ", " : "") + value(op.operands[i + 1]) + (op.wrap >> i & 1 ? "~" : "");
  out_ += "]";
}

void Printer::data(const Op& op) {
  out_ += " ";
  switch (op.code) {
    case OpCode::cast:
    case OpCode::bitcast:
      values(op.operands);
      out_ += " : " + types_.text(op.result()->type);
      return;
    case OpCode::construct:
      out_ += types_.text(op.result()->type) + (op.operands.empty() ? "" : " ");
      values(op.operands);
      return;
    case OpCode::splat:
      out_ += types_.text(op.result()->type) + ", ";
      values(op.operands);
      return;
    case OpCode::extract:
      values(op.operands.first(1));
      path(op, 1);
      return;
    case OpCode::insert:
      values(op.operands.first(2));
      out_ += ", ";
      path(op, 2);
      return;
    case OpCode::select: values(op.operands); return;
    WEFT_CASES(WEFT_OPS_BUT_DATA) WEFT_UNREACHABLE("not a data operation");
  }
}

void Printer::memory(const Op& op) {
  out_ += " ";
  switch (op.code) {
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic: {
      if (op.code == OpCode::atomic) out_ += std::string(name_of(op.atomic)) + " ";
      indices(op);
      path(op, std::size_t(1) + op.num_indices);
      std::size_t rest = std::size_t(1) + op.num_indices;
      for (const PathStep& step : op.path) rest += step.dynamic;
      for (std::size_t i = rest; i < op.operands.size(); ++i) out_ += ", " + value(op.operands[i]);
      return;
    }
    case OpCode::view:
    case OpCode::prefetch: indices(op); return;
    case OpCode::slice:
      out_ += value(op.operands[0]) + ", " + std::to_string(op.imm);
      for (std::size_t i = 1; i < op.operands.size(); ++i) out_ += ", " + value(op.operands[i]);
      return;
    case OpCode::dim:
      out_ += value(op.operands[0]) + ", " + std::to_string(op.imm) + " : " + types_.text(op.result()->type);
      return;
    case OpCode::from_ptr:
      values(op.operands);
      out_ += " : " + types_.text(op.result()->type);
      return;
    case OpCode::recall: out_ += ": " + types_.text(op.result()->type); return;
    case OpCode::local:
      out_ += ": " + types_.text(op.result()->type) + " [";
      for (std::size_t i = 0; i < op.ints.size(); ++i) out_ += (i ? ", " : "") + std::to_string(op.ints[i]);
      out_ += "]";
      return;
    case OpCode::nonnull:
    case OpCode::data_ptr:
    case OpCode::gradient:
    case OpCode::with_gradient: values(op.operands); return;
    WEFT_CASES(WEFT_OPS_BUT_MEMORY) WEFT_UNREACHABLE("not a memory operation");
  }
}

void Printer::carried(const Region& region, std::size_t first_arg, std::span<Value* const> init) {
  for (std::size_t i = 0; i < init.size() && first_arg + i < region.args.size(); ++i)
    out_ += (i ? ", " : "") + names_.of(region.args[first_arg + i]) + " = " + value(init[i]);
}

void Printer::control(const Op& op, int indent) {
  std::string margin(std::size_t(indent) * 2, ' ');
  auto block = [&](const Region& inner, bool first) {
    out_ += " {";
    if (first) location(op);
    out_ += "\n";
    region(inner, indent + 1);
    out_ += margin + "}";
  };
  switch (op.code) {
    case OpCode::if_:
      out_ += " " + value(op.operands[0]);
      for (std::size_t i = 0; i < op.results.size(); ++i) out_ += (i ? ", " : " : ") + types_.text(op.results[i]->type);
      block(*op.regions[0], true);
      out_ += " else";
      block(*op.regions[1], false);
      return;
    case OpCode::for_:
      out_ += " " + (op.regions[0]->args.empty() ? "%?" : names_.of(op.regions[0]->args[0])) + " = " +
              value(op.operands[0]) + " to " + value(op.operands[1]) + " step " + value(op.operands[2]);
      if (op.operands.size() > 3) {
        out_ += " (";
        carried(*op.regions[0], 1, op.operands.subspan(3));
        out_ += ")";
      }
      block(*op.regions[0], true);
      return;
    case OpCode::while_:
      out_ += " (";
      carried(*op.regions[0], 0, op.operands);
      out_ += ")";
      block(*op.regions[0], true);
      out_ += " do";
      block(*op.regions[1], false);
      return;
    case OpCode::call:
      out_ += " " + (op.callee ? function_name(*op.callee) : "@?") + "(";
      values(op.operands);
      out_ += ")";
      return;
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test:
      if (!op.operands.empty()) out_ += " ";
      values(op.operands);
      return;
    WEFT_CASES(WEFT_OPS_BUT_CONTROL) WEFT_UNREACHABLE("not a control operation");
  }
}

void Printer::effect(const Op& op) {
  switch (op.code) {
    case OpCode::tid: out_ += " " + std::to_string(op.imm); return;
    case OpCode::any: out_ += " " + value(op.operands[0]); return;
    case OpCode::print:
    case OpCode::printf:
      out_ += " " + quoted(op.text);
      for (const Value* operand : op.operands) out_ += ", " + value(operand);
      return;
    case OpCode::assert_: out_ += " " + value(op.operands[0]) + ", " + quoted(op.text); return;
    case OpCode::check:
      out_ += " " + std::string(name_of(op.check)) + " " + value(op.operands[0]) + ", " + quoted(op.text);
      for (const Value* operand : op.operands.subspan(1)) out_ += ", " + value(operand);
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
      if (!op.operands.empty()) out_ += " " + quoted(op.text);
      for (const Value* operand : op.operands) out_ += ", " + value(operand);
      return;
    case OpCode::barrier:
      if (op.imm) out_ += " " + std::to_string(op.imm);
      return;
    case OpCode::texture:
      out_ += " " + std::to_string(op.imm) + ", ";
      values(op.operands);
      return;
    case OpCode::tally:
    case OpCode::vote:
    case OpCode::shuffle:
    case OpCode::warp_sync:
      out_ += " ";
      values(op.operands);
      return;
    WEFT_CASES(WEFT_OPS_BUT_EFFECT) WEFT_UNREACHABLE("not an effect");
  }
}

}  // namespace

std::string print(const Module& module, const PrintOptions& options) {
  Printer printer(options);
  for (const auto& function : module.functions) printer.function_name(*function);
  for (const auto& function : module.functions) printer.function(*function);
  return printer.finish();
}

std::string print(const Function& function, const PrintOptions& options) {
  Printer printer(options);
  printer.function(function);
  return printer.finish();
}

std::string print(const Op& op) {
  Printer printer({});
  if (op.parent)
    printer.name_function(*op.parent->function);
  else
    printer.name_op(op);
  printer.op(op, 0);
  std::string text = printer.take_body();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace weft::ir
