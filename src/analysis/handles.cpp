// Goes back from each `handle`: a parameter, or a field of one; and for calls from what the callee does with its own.
#include "analysis/handles.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

/// A part of a parameter.
struct Place {
  std::uint32_t param = 0;
  std::uint32_t offset = 0;
  std::string fields;  // ".scene.mesh"
};

/// The parameter, or the field of one, that a value is.
std::optional<Place> place_of(const ir::Function& function, const Value* value) {
  Place place;
  while (value->kind == ir::ValueKind::result && value->op->code == OpCode::extract) {
    const Type* type = value->op->operand(0)->type;
    std::string fields;
    for (const ir::PathStep& step : value->op->path) {
      if (step.kind != ir::PathStep::field || step.dynamic || !type->is_struct()) return std::nullopt;
      const Field& field = type->fields()[std::size_t(step.value)];
      place.offset += field.offset;
      fields += "." + std::string(field.name);
      type = field.type;
    }
    place.fields = fields + place.fields;
    value = value->op->operand(0);
  }
  const auto params = function.params();
  const auto it = std::find(params.begin(), params.end(), value);
  if (it == params.end()) return std::nullopt;
  place.param = std::uint32_t(it - params.begin());
  return place;
}

class Finder {
 public:
  const std::vector<HandleArgument>& of(const ir::Function& function) {
    auto [it, fresh] = known_.try_emplace(&function);
    if (!fresh) return it->second;  // a function that calls itself through others has none of its own to add
    std::vector<HandleArgument> found;
    ir::walk(*function.body, [&](const Op& op) {
      if (op.code == OpCode::handle) add(found, function, op.operand(0), 0, "", HandleUse(op.imm));
      if (op.code != OpCode::call || !op.callee) return;
      for (const HandleArgument& inner : of(*op.callee)) {
        if (inner.param >= op.operands.size()) continue;
        add(found, function, op.operand(inner.param), inner.offset, fields_of(inner, *op.callee),
            HandleUse(inner.kind, inner.winding, inner.written));
      }
    });
    std::sort(found.begin(), found.end(), [](const HandleArgument& a, const HandleArgument& b) {
      return std::tie(a.param, a.offset, a.kind) < std::tie(b.param, b.offset, b.kind);
    });
    // What several uses want of one id is what any of them wants.
    std::vector<HandleArgument> merged;
    for (HandleArgument& one : found) {
      HandleArgument* last = merged.empty() ? nullptr : &merged.back();
      if (last && std::tie(last->param, last->offset, last->kind) == std::tie(one.param, one.offset, one.kind)) {
        last->winding |= one.winding;
        last->written |= one.written;
      } else {
        merged.push_back(std::move(one));
      }
    }
    return known_[&function] = std::move(merged);
  }

  std::uint32_t elsewhere(const ir::Function& function) {
    auto [it, fresh] = elsewhere_.try_emplace(&function, 0);
    if (!fresh) return it->second;
    std::uint32_t kinds = 0;
    auto use = [&](const Value* id, HandleKind kind) {
      if (!place_of(function, id)) kinds |= kind_bit(kind);
    };
    ir::walk(*function.body, [&](const Op& op) {
      if (op.code == OpCode::handle) use(op.operand(0), HandleUse(op.imm).kind);
      if (op.code != OpCode::call || !op.callee) return;
      kinds |= elsewhere(*op.callee);
      for (const HandleArgument& inner : of(*op.callee))
        if (inner.param < op.operands.size()) use(op.operand(inner.param), inner.kind);
    });
    return elsewhere_[&function] = kinds;
  }

 private:
  static std::string fields_of(const HandleArgument& inner, const ir::Function& callee) {
    return inner.name.substr(std::string_view(callee.params()[inner.param]->name).size());
  }

  static void add(std::vector<HandleArgument>& found, const ir::Function& function, const Value* value,
                  std::uint32_t offset, const std::string& fields, HandleUse use) {
    std::optional<Place> place = place_of(function, value);
    if (!place) return;
    found.push_back({place->param, place->offset + offset, use.kind,
                     std::string(function.params()[place->param]->name) + place->fields + fields, use.winding,
                     use.written});
  }

  std::unordered_map<const ir::Function*, std::vector<HandleArgument>> known_;
  std::unordered_map<const ir::Function*, std::uint32_t> elsewhere_;
};

}  // namespace

std::vector<HandleArgument> handle_arguments(const ir::Function& kernel) { return Finder().of(kernel); }

std::uint32_t kinds_elsewhere(const ir::Function& function) { return Finder().elsewhere(function); }

bool all_ids_are_arguments(const ir::Function& function) {
  bool all = true;
  ir::walk(*function.body, [&](const Op& op) {
    if (op.code == OpCode::handle) all = all && place_of(function, op.operand(0)).has_value();
  });
  return all;
}

}  // namespace weft::analysis
