// The reverse transform of one function. Regions are first replayed (computed again, without writes that others see) and
// then walked backwards; each operation adds to the adjoints of its operands. `if` and loops replay their bodies inside
// their own reverse, so that nothing but a loop's carried state ever has to be remembered.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/alias.h"
#include "analysis/uniformity.h"
#include "autodiff/activity.h"
#include "autodiff/adjoint.h"
#include "autodiff/record.h"
#include "autodiff/struct_numbers.h"
#include "autodiff/zero_adjoints.h"
#include "ir/builder.h"
#include "ir/clone.h"

namespace weft::autodiff {

class Functions;

/// How a loop's state comes back in reverse.
struct LoopPlan {
  /// A number inside a carried value, or a whole value that is no aggregate of a few numbers.
  struct Leaf {
    std::size_t state;  // of LoopPlan::state
    std::vector<ir::PathStep> path;
    const Type* type;
  };
  std::vector<std::size_t> state;  // carried values that the reverse of an iteration reads, and what running on takes
  std::vector<const Type*> types;  // of the state
  std::vector<Leaf> leaves;        // the numbers in it, in order
  std::int64_t slots = 0;
  bool all_fit = false;  // the trip count is a constant, and there is a slot for each iteration
};

/// What a replayed loop left behind for its reverse.
struct LoopRecord {
  std::vector<ir::Value*> slots;  // an array for each leaf; in front, unless LoopPlan::all_fit, one of iterations
  ir::Value* used = nullptr;      // i64: slots filled
  ir::Value* trips = nullptr;     // i64: iterations run
  ir::Value* most = nullptr;      // i64: by those that run together; null: all run as many (divergent_loops.cpp)
};

/// What a kernel's taped launch has written down, as the kernel's own values.
struct Recorded {
  SiteNumbers numbers;                                   // of everything that could be written down
  std::unordered_map<const ir::Op*, ir::Value*> values;  // of the sites that were
  std::vector<NumberRoot> roots;                         // numbers in structs that get a gradient
};

class Reverser {
 public:
  Reverser(const ir::Function& source, ir::Function& target, Functions& functions, const AdjointOptions& options,
           DiagnosticSink& sink, const Recorded* recorded = nullptr);

  /// Writes the adjoint's body into the target, whose parameters begin with the source's. `seeds` are the adjoints of
  /// the source's results. Gives the adjoints of the source's float parameters (zero where nothing flows).
  std::vector<ir::Value*> run(std::span<ir::Value* const> seeds);
  /// Writes the source's values computed again, without writes, into the target.
  void replay_whole();

 private:
  // -- replay (replay.cpp)
  /// Computes a region's values again at the builder's place; `record`: loops leave what their reverse needs.
  void replay(const ir::Region& region, bool record);
  void replay_op(const ir::Op& op, bool record);
  void replay_plain(const ir::Op& op);
  void replay_call(const ir::Op& op);
  void replay_control(const ir::Op& op);
  void replay_memory(const ir::Op& op, bool record);
  /// What the taped launch wrote down, or else a `recall`, which names the site.
  ir::Value* recall(const ir::Op& op);
  bool reads_log(const ir::Op& load) const;
  bool may_be_overwritten(const ir::Op& load) const;
  /// Private arrays whose content is, at this point of the replay, what it was when the operation ran: they are made
  /// inside the region that is being replayed, and so is everything that is written to them.
  bool is_fresh(analysis::BaseMask arrays) const;
  bool is_fresh(const ir::Value* array) const { return is_fresh(alias_.bases(array)); }
  /// Private arrays that a region around the one under replay has made, and that nothing there writes to behind the
  /// operation: that region's replay has left in them what the operation read.
  bool is_final(const ir::Op& op, analysis::BaseMask arrays) const;
  /// The arrays may be read again in the operation's place.
  bool as_it_was(const ir::Op& op, analysis::BaseMask arrays) const { return is_fresh(arrays) || is_final(op, arrays); }
  /// The arrays, and those that a write to one of them may mean instead.
  analysis::BaseMask written_together(analysis::BaseMask arrays) const;
  /// Finds the private arrays, and which of them are written through one descriptor.
  void find_locals();
  /// The region whose replay is under way, for as long as this lives.
  struct ReplayRoot {
    ReplayRoot(Reverser& reverser, const ir::Region* root) : at(reverser.replay_root_), before(at) { at = root; }
    ~ReplayRoot() { at = before; }
    const ir::Region*& at;
    const ir::Region* before;
  };
  std::vector<ir::Value*> mapped_all(std::span<ir::Value* const> values);
  ir::Value* map(ir::Value* value) { return ir::mapped(target_, forward_, value); }

  // -- reverse of regions (reverse.cpp; calls: custom.cpp)
  void reverse(const ir::Region& region);
  void reverse_op(const ir::Op& op);
  void reverse_if(const ir::Op& op);
  void reverse_call(const ir::Op& op);
  /// Whether a call of `callee` in the operation's place would, in the replay or on the way back, read other memory than
  /// the launch did.
  bool reads_changed(const ir::Op& op, const ir::Function& callee, bool on_the_way_back);
  void report_changed(const ir::Op& call);
  void forget_adjoints(const ir::Region& region);

  // -- prints (prints.cpp)
  void reverse_print(const ir::Op& op);
  /// A printf being made: its format, and the numbers that it shows.
  struct Line {
    std::string format;
    std::vector<ir::Value*> numbers;
  };
  void append_numbers(const Type* type, ir::Value* value, bool adjoint, Line& line);

  // -- loops (loops.cpp)
  void replay_recorded(const ir::Op& loop);
  void reverse_loop(const ir::Op& loop);
  const LoopPlan& plan(const ir::Op& loop);
  LoopPlan make_plan(const ir::Op& loop);
  /// One reversed iteration at the builder's place, state in `forward_`: next adjoints of carried and outside values.
  std::vector<ir::Value*> reverse_iteration(const ir::Op& loop, std::span<const std::size_t> carried,
                                            std::span<ir::Value* const> outside, std::span<ir::Value* const> adjoints);
  void bind_state(const ir::Op& loop, ir::Value* iteration, std::span<const std::size_t> which,
                  std::span<ir::Value* const> values);
  ir::Value* induction(const ir::Op& loop, ir::Value* iteration);
  ir::Value* trip_count(const ir::Op& loop);
  std::vector<ir::Value*> load_slot(const LoopPlan& plan, const LoopRecord& record, ir::Value* at);
  void store_slot(const LoopPlan& plan, const LoopRecord& record, ir::Value* at, ir::Value* iteration,
                  std::span<ir::Value* const> state);
  std::vector<ir::Value*> remember(const LoopPlan& plan, const LoopRecord& record, std::span<ir::Value* const> state,
                                   ir::Value* count, ir::Value* stride, ir::Value* used);
  std::vector<ir::Value*> restore(const ir::Op& loop, const LoopPlan& plan, const LoopRecord& record,
                                  ir::Value* iteration, ir::Value*& depth);
  const std::vector<ir::Value*>& slots_for(const ir::Op& loop, const LoopPlan& plan);

  // -- loops that threads leave at different times (divergent_loops.cpp)
  bool parts(const ir::Op& loop);
  void replay_parted(const ir::Op& loop, const LoopPlan& plan, LoopRecord record);
  ir::Value* test_of(const ir::Op& loop, std::span<ir::Value* const> carried);
  /// What `make` gives where the condition holds, else `otherwise`.
  std::vector<ir::Value*> guarded(ir::Value* condition, std::span<ir::Value* const> otherwise,
                                  const std::function<std::vector<ir::Value*>()>& make);

  // -- memory (memory.cpp)
  void reverse_load(const ir::Op& op);
  /// Adds the adjoints of numbers in structs to the array of their sums.
  void add_to_numbers();
  void reverse_store(const ir::Op& op);
  void reverse_atomic(const ir::Op& op);
  struct Leaf {
    const Type* type;
    std::vector<std::int32_t> fields;
  };
  static void find_leaves(const Type* type, std::vector<std::int32_t>& prefix, std::vector<Leaf>& out);
  static std::vector<Leaf> leaves(const Type* type);
  /// The access of `op` in the gradient of its array: indices, then path and dynamic steps with a leaf's fields added.
  struct Access {
    ir::Value* array = nullptr;
    std::vector<ir::Value*> indices, dynamic;
    std::vector<ir::PathStep> path;
    std::uint8_t wrap = 0;
  };
  Access gradient_access(const ir::Op& op, const Leaf& leaf, ir::Value* gradient);
  /// Makes `if (array has a gradient) { values } else { zeros }`.
  std::vector<ir::Value*> where_gradient(ir::Value* gradient, std::span<const Type* const> types,
                                         const std::function<std::vector<ir::Value*>()>& make);
  bool is_private(const ir::Value* array) const;
  /// No two threads access the same element of the array, which may be the thread's own.
  bool is_apart(const ir::Value* array) const;

  // -- atomics (atomics.cpp)
  ir::Value* take_extreme(const ir::Op& op, const Access& at);
  ir::Value* take_ordered(const ir::Op& op, const Access& at, ir::Value* result);
  /// Says that the gradient of an atomic hangs on the order of threads, unless a single one does them all.
  void needs_order(const ir::Op& op);

  // -- rules (rules.cpp, rules_whole.cpp)
  void apply_rule(const ir::Op& op, ir::Value* g);
  void arithmetic_rule(const ir::Op& op, ir::Value* g);
  void math_rule(const ir::Op& op, ir::Value* g);
  void data_rule(const ir::Op& op, ir::Value* g);
  void whole_rule(const ir::Op& op, ir::Value* g);

  // -- adjoints and small arithmetic (values.cpp)
  ir::Value* adjoint(const ir::Value* value) const;
  ir::Value* adjoint_or_zero(const ir::Value* value);
  void add(const ir::Value* value, ir::Value* contribution);
  /// `add` of a contribution that is g, the adjoint of `result`, times `partial`: nothing where g is zero and `partial`
  /// may not be finite (zero_adjoints.h).
  void add_product(const ir::Value* result, const ir::Value* value, ir::Value* g, ir::Value* contribution,
                   const ir::Value* partial);
  /// The same component by component.
  void add_products(const ir::Value* result, const ir::Value* value, ir::Value* g, ir::Value* contribution,
                    const ir::Value* partial);
  void set(const ir::Value* value, ir::Value* adjoint) { adjoints_[value] = adjoint; }
  bool wants(const ir::Value* value) const { return activity_.active(value); }
  ir::Value* sum(ir::Value* a, ir::Value* b);
  ir::Value* times(ir::Value* a, ir::Value* b) { return b_.binary(ir::OpCode::mul, a, b); }
  ir::Value* plus(ir::Value* a, ir::Value* b) { return b_.binary(ir::OpCode::add, a, b); }
  ir::Value* minus(ir::Value* a, ir::Value* b) { return b_.binary(ir::OpCode::sub, a, b); }
  ir::Value* over(ir::Value* a, ir::Value* b) { return b_.binary(ir::OpCode::div, a, b); }
  ir::Value* negative(ir::Value* a) { return b_.unary(ir::OpCode::neg, a); }
  ir::Value* number(const Type* type, double value);
  /// `contribution` where the adjoint g (a scalar or a composite as a whole) is not zero, else zero.
  ir::Value* gated(ir::Value* g, ir::Value* contribution);
  ir::Value* is_void(ir::Value* g, ir::Value* made);
  /// Σ of products of components: a scalar.
  ir::Value* inner(ir::Value* a, ir::Value* b);
  ir::Value* component_sum(ir::Value* a);
  /// Applies a scalar rule to each component of values of one composite type (scalars: once).
  ir::Value* by_component(std::span<ir::Value* const> values,
                          const std::function<ir::Value*(std::span<ir::Value* const>)>& rule);

  const ir::Function& source_;
  ir::Function& target_;
  Functions& functions_;
  const AdjointOptions& options_;
  DiagnosticSink& sink_;
  const Recorded* recorded_;  // null: none, and sites have no numbers
  analysis::Effects effects_;
  analysis::Alias alias_;
  Activity activity_;
  ZeroAdjoints zero_adjoints_;
  ir::Builder b_;
  ir::ValueMap forward_;                                       // source value → its replayed one
  std::unordered_map<const ir::Value*, ir::Value*> adjoints_;  // source value → its adjoint so far
  std::unordered_map<const ir::Op*, LoopRecord> records_;      // loops replayed with record
  std::unordered_map<const ir::Op*, LoopPlan> plans_;
  analysis::LaneEntry lane_entry_;
  std::unique_ptr<analysis::Uniformity> lanes_;  // of the source; made on demand
  std::unordered_map<const ir::Op*, std::vector<ir::Value*>> slot_arrays_;
  const ir::Region* replay_root_ = nullptr;
  analysis::BaseMask written_ = 0;  // what the source may write
  bool writes_arrays_ = false;      // descriptors of arrays among it
  analysis::BaseMask apart_ = 0;    // where threads can't meet
  analysis::BaseMask only_extremes_ = 0;
  struct Local {
    const ir::Op* op = nullptr;
    analysis::BaseMask together = 0;  // itself, and those that a write may mean instead of it
  };
  analysis::BaseMask of_block_ = 0;  // private arrays that the threads of a block share
  std::vector<Local> locals_;        // private arrays, by the number of their base
  mutable std::map<std::pair<const ir::Op*, analysis::BaseMask>, bool> final_;  // answers of is_final
  analysis::BaseMask not_replayed_ = 0;  // those that writes reach which are left out of the replay
  std::size_t loops_ = 0;                // loops that may need slots
};

/// Adjoints and replay forms of the functions of a module, made on demand.
class Functions {
 public:
  Functions(ir::Module& module, const AdjointOptions& options, DiagnosticSink& sink)
      : module_(module), options_(options), sink_(sink) {}

  /// False, with an error at the call, if nothing can reverse the function.
  bool can_reverse(const ir::Function& function, const SourceLoc& call);
  /// (params…, adjoints of float results…) → adjoints of float params: the function's own gradient, or one made.
  ir::Function* adjoint_of(const ir::Function& function);
  /// The function without writes that others see; itself if it has none.
  ir::Function* replay_of(ir::Function& function);
  /// What was made, to be put before the kernel.
  std::vector<std::unique_ptr<ir::Function>> take() { return std::move(made_); }

 private:
  ir::Module& module_;
  const AdjointOptions& options_;
  DiagnosticSink& sink_;
  std::unordered_map<const ir::Function*, ir::Function*> adjoints_, replays_;
  std::vector<std::unique_ptr<ir::Function>> made_;
};

/// Positions of values whose types hold floats.
std::vector<std::size_t> float_positions(std::span<ir::Value* const> values);

}  // namespace weft::autodiff
