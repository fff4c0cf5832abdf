// Copies of operations, regions, functions and modules.
#pragma once
#include <unordered_map>

#include "ir/ir.h"

namespace weft::ir {

/// From values of the source to values of the target; constants need no entry.
using ValueMap = std::unordered_map<const Value*, Value*>;
/// From functions of a source module to those of the target (callee rewriting); missing means unchanged.
using FunctionMap = std::unordered_map<const Function*, Function*>;

/// The value that stands for `value` in `target`: constants are re-made there; a value of `target` itself that the map
/// does not know stays.
Value* mapped(Function& target, const ValueMap& map, Value* value);
/// Gives `to`, an operation of `target`, everything of `from` but operands, results and regions.
void copy_attributes(const Op& from, Function& target, Op& to);
/// Appends copies of all operations of `from` (terminator included unless `skip_terminator`) to `to`, before `before`.
void clone_ops(const Region& from, Function& target, Region* to, ValueMap& map, bool skip_terminator = false,
               const FunctionMap* callees = nullptr, Op* before = nullptr);
std::unique_ptr<Module> clone(const Module& module);
/// A module with this function and all it calls, callees first; what is there for their differentiation comes along. A
/// kernel is the last one. Locations point into the sources of the module that
/// `root` is of: `from`, where given, passes on their ownership.
std::unique_ptr<Module> extract_closure(const Function& root, const Module* from = nullptr);

}  // namespace weft::ir
