// The state of lowering: ModuleLowering owns the IR module and the instances of functions; FunctionLowering turns one
// function's statements into regions. Its methods are spread over files by subject (lower_*.cpp).
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "builtins/row.h"
#include "ir/builder.h"
#include "sema/empty_vector.h"
#include "sema/entity.h"
#include "sema/scan.h"
#include "sema/second_names.h"
#include "sema/sema.h"
#include "support/diagnostic.h"
#include "types/handle.h"
#include "types/library_struct.h"
#include "types/tile_type.h"

namespace weft::sema {

class FunctionLowering;
class Tiles;

/// An argument of a call after its expression was lowered.
struct Argument {
  std::string_view keyword;  // empty: positional
  Entity entity;
  const syntax::Expr* expr = nullptr;  // for messages
  std::shared_ptr<const Place> place;  // where the value lies, if the callee may update it
};

/// A function instantiated for argument types.
struct Instance {
  ir::Function* function = nullptr;  // null while being lowered, or after errors
  bool in_progress = false;
  bool returns_tuple = false;
  std::size_t num_results = 0;          // as seen by the program; by-reference results follow
  std::vector<std::size_t> ref_params;  // parameter numbers whose new value is returned, in order
  std::vector<bool> by_thread;          // of results: tiles with a place for each thread, some of which may be missing
};

class ModuleLowering {
 public:
  ModuleLowering(const Options& options, DiagnosticSink& sink);

  /// The instance for these arguments (entities decide types and function references), lowered on first request. Null
  /// after errors, which have been reported.
  const Instance* instantiate(const FunctionDecl& decl, std::span<const Entity> args, SourceLoc call_loc);
  ir::Function* lower_entry(const FunctionDecl& kernel, std::span<const Type* const> arg_types);

  std::unique_ptr<ir::Module> take() { return std::move(module_); }
  ir::Module& module() { return *module_; }
  DiagnosticSink& sink() { return sink_; }
  const Options& options() const { return options_; }
  void keep_source(const FunctionDecl& decl);
  /// Counts trips of unrolled loops; false when there are more than a module may have.
  bool count_unrolled(std::int64_t trips);
  /// Keeps a definition alive until the module is complete: what it says about gradients is lowered last.
  void keep(std::shared_ptr<const FunctionDecl> decl) { kept_.push_back(std::move(decl)); }
  /// Accesses of gradients happen only where there are some; elsewhere they read zero. `given`: the function's own
  /// parameters may be gradients.
  void guard_gradients(ir::Function& function, bool given);
  /// wp.grad: the function's adjoint, its body still to be derived (ir::Function::derives).
  ir::Function* derivative_of(ir::Function& function, const SourceLoc& call);
  /// Voxels are written somewhere in the kernel, so what it reads of them may change while it runs.
  void note_voxels_written() { voxels_written_ = true; }
  /// The parameters' patterns, read once; null if an annotation has an error (reported).
  const std::vector<builtins::Pattern>* patterns_of(const FunctionDecl& decl);

 private:
  bool check_returns(const FunctionDecl& decl, const Instance& instance, const ir::Function& function);
  /// An instance of a native function: parameters, results as annotated, and the C++ text for these types.
  void lower_native(const FunctionDecl& decl, std::span<const Entity> args, ir::Function& function, Instance& instance);
  void lower_native_gradient(const FunctionDecl& decl, std::span<const Entity> args, const Instance& of,
                             ir::Function& gradient);

  // gradients and replays that programs write themselves (lower_custom.cpp)
  struct Custom {
    const FunctionDecl* decl;
    std::vector<Entity> args;
    const Instance* instance;
  };
  void note_custom(const FunctionDecl& decl, std::span<const Entity> args, const Instance& instance);
  /// Lowers them for all instances so far, and for those that they call. Where nothing is differentiated nobody needs them.
  void lower_custom();
  void lower_replay(const Custom& of);
  void lower_gradient(const Custom& of);
  /// Says of memory of voxels whether the kernel writes it, which is known when all of it has been seen.
  void settle_voxels(ir::Function& kernel);
  std::string fresh_name(std::string_view name);
  /// The function for arguments that may be gradients which are not there.
  ir::Function* guarded(ir::Function& function);

  Options options_;
  DiagnosticSink& sink_;
  std::unique_ptr<ir::Module> module_;
  std::map<std::string, Instance> instances_;
  std::map<std::string, int> name_counts_;
  /// By key, not by address: wp.static may make functions that live no longer than one call.
  std::unordered_map<std::string, std::optional<std::vector<builtins::Pattern>>> patterns_;
  std::set<const void*> kept_sources_;
  std::vector<std::shared_ptr<const FunctionDecl>> kept_;
  std::vector<Custom> customs_;
  std::unordered_map<const ir::Function*, ir::Function*> derivatives_, guarded_;
  int depth_ = 0;
  std::int64_t unrolled_ = 0;
  bool voxels_written_ = false;
};

/// The parameters of a function as patterns; an error in an annotation is reported and gives nullopt.
std::optional<std::vector<builtins::Pattern>> param_patterns(const FunctionDecl& decl, DiagnosticSink& sink);
/// Evaluates an annotation to a pattern (wp.array(dtype=float, ndim=2), float, Any, "wp.vec3", wp.ref[…]…).
std::optional<builtins::Pattern> eval_annotation(const syntax::Expr& expr, Scope& scope, DiagnosticSink& sink);
/// A parameter's default value, checked against its annotation; errors go to the sink.
std::optional<Constant> default_value(const syntax::Param& param, const builtins::Pattern& pattern, Scope& scope,
                                      DiagnosticSink& sink);
/// The same for a parameter of a function, which may be a function itself.
std::optional<Symbol> default_symbol(const syntax::Param& param, const builtins::Pattern& pattern, Scope& scope,
                                     DiagnosticSink& sink);
/// What a function's return annotation promises: one pattern per result (tuple[float, int], (float, int), float, None).
std::optional<std::vector<builtins::Pattern>> return_patterns(const syntax::Expr& expr, Scope& scope,
                                                              DiagnosticSink& sink);
/// The same of a function that has one; what the host knows needs no evaluation.
std::optional<std::vector<builtins::Pattern>> return_patterns(const FunctionDecl& decl, DiagnosticSink& sink);
/// As eval_annotation; nullopt without a word if it is no type.
std::optional<builtins::Pattern> try_annotation(const syntax::Expr& expr, Scope& scope);
/// A name or dotted name looked up from the outside in; nullopt if it is neither or has no meaning.
std::optional<Symbol> resolve_dotted(const syntax::Expr& expr, Scope& scope);
/// Evaluates a compile-time expression by Python's rules (module level, default values, wp.static); nullopt if it is none.
std::optional<Symbol> eval_constant(const syntax::Expr& expr, Scope& scope);
/// The type that a class declares by its annotated fields; null with errors in the sink. In the library names that begin
/// with an underscore are private, and `__next__ = name` and its like (loop_function) say what loops call.
const Type* struct_type(const syntax::ClassDef& def, Scope& scope, DiagnosticSink& sink, bool library);
std::string_view loop_function(const syntax::ClassDef& def, std::string_view word);

/// How a loop over a query counts instead of asking for one number after the other: what is left are runs, and a run is a
/// stretch of places. Functions of the library.
struct QueryRuns {
  std::string runs;  // (query) → the first run that is left, and the one behind the last
  std::string run;   // (query, run) → the run's first place, and the one behind its last
  std::string item;  // (query, place) → the number there
  std::string rest;  // (query, run, place, end of the run) → the query behind that place
};
/// Those of a type; null if it has none.
const QueryRuns* query_runs(const Type* type);
/// What is said about arrays of structs that holds_private() finds something in, and the cure.
inline std::string no_array_of(const Type* type) { return "a " + type->user_name() + " can't lie in an array"; }
inline constexpr const char* kKeepInVariables = "keep it in a variable, or pass it to a function";
/// The builtin behind an operator: "add" for +.
std::string_view operator_name(syntax::BinaryOp op);
/// What is said where two operands or arguments should have one type.
inline std::string same_types_wanted(const Type* a, const Type* b) {
  return "Input types must be the same, got ['" + a->user_name() + "', '" + b->user_name() + "']";
}
/// The scope that a function's free names are looked up in.
std::shared_ptr<Scope> scope_of(const FunctionDecl& decl);

class FunctionLowering {
 public:
  FunctionLowering(ModuleLowering& module, const FunctionDecl& decl, ir::Function& function);

  /// Lowers the body with these arguments bound to the parameters. `instance` receives the results' shape.
  void run(std::span<const Entity> args, std::span<const builtins::Pattern> patterns, Instance& instance);
  /// Lowers the body as the gradient of `of`, an instance for these arguments.
  void run_gradient(std::span<const Entity> args, const Instance& of);

 private:
  friend class Tiles;  // what it does is part of this, apart for its size

  /// Thrown where a loop's variable is needed as a constant; the loop starts over, unrolled.
  struct UnrollRequest {
    const syntax::Stmt* loop;
  };
  using ExprFn = std::function<Entity()>;
  struct Variable {
    std::string_view name;
    Entity value;
    const Type* type = nullptr;          // fixed by the first assignment of a value
    SourceLoc first;                     // first assignment
    const ir::Region* region = nullptr;  // where that stands
    int parted = -1;            // what the name is on another way to here, with another type; has no value then
    bool internal = false;      // ours: a flag or a result
    ir::Value* home = nullptr;  // of a tile that loops assign: the memory that holds it between turns
    bool flag = false;          // of a loop ("$on", "$go"): means nothing outside the block that made it
  };
  struct Loop {
    ir::Op* op = nullptr;                      // null: being unrolled
    std::vector<int> carried;                  // variables, in operand order
    std::unordered_map<int, ir::Value*> late;  // carried values added while the body was lowered: variable → argument
    int on = -1;                               // flag variable: false after break
    int go = -1;                               // flag variable: false after continue
    std::size_t leading_args = 0;              // body arguments before the carried ones (the induction variable)
    const syntax::ForStmt* stmt = nullptr;     // for loops
    bool constant_trips = false;               // could be unrolled
  };

  // environment (environment.cpp)
  int find_variable(std::string_view name) const;
  int new_variable(std::string_view name);
  int new_flag(const char* name, bool initial);
  void set_variable(int variable, Entity value);
  void assign_variable(const syntax::Node& at, std::string_view name, Entity value);
  Entity read_variable(int variable, const syntax::Node* at);
  /// From here on the name is a new variable if the one that it was has another type: the target of a loop, or an array.
  void renew_variable(std::string_view name, SourceLoc at, const Type* type);
  /// A name is one variable on one way to here and one of another type on the other: reading it is a mistake.
  void part_name(int one, int other);
  /// Whether a name that stands for an array may stand for one of another type from here on.
  bool may_become(const Variable& var, const Type* type) const;
  /// Names that were renewed since `mark` are again what they were.
  void restore_names(std::size_t mark);
  std::size_t enter_frame();
  std::vector<std::pair<int, Entity>> leave_frame(std::size_t mark);
  ir::Value* undefined_value(int variable, const Type* type, std::size_t loop_depth);
  /// `end`: position behind the statement (FunctionScan); names assigned on one side only and never read behind it are
  /// not merged. 0: merge all. `else_has_left`: the second side is what has left the block; `else_is_over`: by a return,
  /// so that nothing is read there any more.
  Entity lower_branches(ir::Value* condition, const ExprFn& then_fn, const ExprFn& else_fn, const syntax::Node& at,
                        std::uint32_t end = 0, bool else_has_left = false, bool else_is_over = false);
  bool merge_values(int variable, const Entity& a, const Entity& b, const syntax::Node& at, ir::Value*& out_a,
                    ir::Value*& out_b, Entity& same);

  /// After a mistake in a statement that assigns this name: what is unknown about it is not reported again.
  void poison(std::string_view name);

  /// Counts regions inside each other; false, with an error, where there are more than the IR allows.
  bool enter_region(const syntax::Node& at);

  // statements (lower_stmt.cpp)
  void lower_block(syntax::Block block);
  void lower_statement(const syntax::Stmt& stmt);
  void lower_if(const syntax::IfStmt& stmt);
  void lower_return(const syntax::ReturnStmt& stmt);
  void lower_assert(const syntax::AssertStmt& stmt);
  /// True while none of these exits was taken. `only_flag` receives the flag that decides it alone, or -1.
  ir::Value* guard(std::uint8_t exits, int& only_flag);
  void finish(Instance& instance, const syntax::FunctionDef& def, std::span<const builtins::Pattern> patterns);

  // loops (lower_loop.cpp)
  void lower_for(const syntax::ForStmt& stmt);
  void lower_while(const syntax::WhileStmt& stmt);
  /// A loop that can't be lowered: its body is looked through for further errors, the names it assigns are poisoned.
  void give_up_loop(const syntax::ForStmt& stmt, const LoopInfo& info);
  void lower_unrolled(const syntax::ForStmt& stmt, const LoopInfo& info, std::int64_t lo, std::int64_t step,
                      std::int64_t trips, const Type* type);
  void lower_counted(const syntax::ForStmt& stmt, const LoopInfo& info, ir::Value* lo, ir::Value* hi, ir::Value* step);
  /// A loop from lo up to hi, and what a turn does with the counter.
  struct Counting {
    const syntax::Stmt& at;
    const LoopInfo& info;
    std::uint8_t exits;  // that may leave the loop, or this turn of it
    ir::Value *lo, *hi, *step;
    std::function<void(ir::Value*)> body = {};
    const syntax::ForStmt* stmt = nullptr;  // whose variable the counter is: it may be needed as a constant
    int on = -1;                            // the flag of `break`, where loops inside each other share one
    int not_carried = -1;                   // a variable that turns don't hand on
  };
  /// Lowers it, without exits as a `for`; gives the loop, closed.
  Loop count(const Counting& counting);
  Loop count_to_end(const Counting& counting);
  Loop count_with_exit(const Counting& counting);
  Loop open_counted(const Counting& counting);
  /// Behind a loop that runs to its end a known number of times, its variable is a constant; so is one that an inner loop
  /// left as a constant.
  void settle_counter(const syntax::ForStmt& stmt, const Counting& counting, const Loop& loop);
  /// The `else` of what count() made.
  void finish_counted(const syntax::Stmt& stmt, const LoopInfo& info, const Loop& loop, syntax::Block else_body);
  /// The parts of a `while`: the operation with what it carries; a condition that needs no more than the test region,
  /// false if it has to go into the body; body and results. `condition_in_body`: lowers it there, empty if the test has it.
  void open_while(const syntax::Stmt& stmt, const LoopInfo& info, std::span<const int> also_carried);
  bool lower_pure_test(const syntax::WhileStmt& stmt, const LoopInfo& info);
  void close_while(const syntax::Stmt& stmt, const LoopInfo& info, const std::function<ir::Value*()>& condition_in_body,
                   const std::function<void()>& lower_body, syntax::Block else_body);
  /// A loop over a struct of the library (lower_query.cpp): by the builtin that goes on, or by runs where it has some.
  void lower_query_loop(const syntax::ForStmt& stmt, const LoopInfo& info, ir::Value* query, std::string_view next);
  /// The same of `while next(query, index)`; false: this is another loop, or one that has to ask each time.
  bool lower_query_while(const syntax::WhileStmt& stmt, const LoopInfo& info);
  /// A query's runs as two counted loops. `place`: the expression that names the variable it goes on in; null: none.
  void lower_runs(const syntax::Stmt& stmt, const LoopInfo& info, ir::Value* query, const QueryRuns& runs,
                  const syntax::Expr* place, const syntax::Expr& target, syntax::Block body, syntax::Block else_body);
  std::vector<int> carried_variables(const LoopInfo& info, const syntax::Node& at);
  std::vector<ir::Value*> values_of(std::span<const int> variables);
  void bind_arguments(ir::Region* region, const Loop& loop);
  /// Inside the body the loop's own test has passed: its flags are true.
  void assume_alive(const Loop& loop, std::uint8_t exits);
  std::vector<ir::Value*> next_values(Loop& loop);
  void export_late(const LoopInfo& info, Loop& loop);
  void take_results(const Loop& loop, std::size_t first_result);
  ir::Value* flags_alive(const Loop& loop, std::uint8_t exits);
  /// A loop's `else`, which runs if nothing left the loop early.
  void lower_loop_else(const syntax::Stmt& stmt, syntax::Block else_body, ir::Value* not_left);
  ir::Value* trip_count(ir::Value* lo, ir::Value* hi, ir::Value* step);

  // assignment (lower_assign.cpp)
  void lower_assign(const syntax::AssignStmt& stmt);
  void lower_augmented(const syntax::AugmentedAssignStmt& stmt);
  void lower_annotated(const syntax::AnnotatedAssignStmt& stmt);
  void assign_target(const syntax::Expr& target, Entity value, const syntax::Node& at);
  void unpack(std::span<syntax::Expr* const> targets, Entity value, const syntax::Node& at);
  Entity storable(Entity value, const Type* type, const syntax::Node& at, const char* what);

  // places (lower_place.cpp)
  /// `instead`: receives what the expression is if it is no value but something of compile time (a.dtype); without it
  /// that is an error.
  Place place_of(const syntax::Expr& expr, Entity* instead = nullptr);
  Place subscript_place(Place base, const syntax::SubscriptExpr& expr);
  Place array_place(Place base, const syntax::SubscriptExpr& expr);
  Place empty_place(const Type* scalar, const syntax::SubscriptExpr& expr);
  /// A dotted name that begins outside the function: a module's or class's member.
  bool is_foreign(const syntax::Expr& expr) const;
  bool attribute_step(Place& place, std::string_view name);
  /// Whether a struct's field is the library's alone, and this is a function of a program.
  bool hidden_field(const Type* type, int field) const {
    return !library() && is_private(type, type->fields()[std::size_t(field)]);
  }
  Entity read_place(const Place& place);
  /// Writes to memory, unless the place says that its indices are outside.
  void where_inside(const Place& place, const std::function<void()>& write);
  /// `value_node`: where the value stands, for messages about it.
  void write_place(const Place& place, Entity value, const syntax::Node& at, const syntax::Node* value_node = nullptr);
  /// An integer; with `or_array` also an array of int32 that picks several.
  ir::Value* index_value(const syntax::Expr& expr, bool or_array = false);
  /// What stands between the brackets for one dimension of an array.
  struct Subscript {
    ir::Value* index = nullptr;                                    // an integer, or an array of int32
    ir::Value *start = nullptr, *stop = nullptr, *step = nullptr;  // a slice
    bool is_slice() const { return !index; }
    bool is_gather() const { return index && index->type->is_array(); }
    /// True if the index may be negative and then counts from the end.
    bool wraps() const;
  };
  bool array_subscripts(const syntax::SubscriptExpr& expr, const Type* array, std::vector<Subscript>& out);
  std::optional<Subscript> slice_subscript(const syntax::SliceExpr& slice);
  /// One dimension sliced, or taken away by an integer.
  ir::Value* narrowed(ir::Value* array, const Subscript& subscript, int dimension, const syntax::Node& at);

  // indexed arrays (lower_indexed.cpp)
  Place gathered_place(ir::Value* array, std::span<const Subscript> subscripts, const syntax::SubscriptExpr& expr);
  Place indexed_place(ir::Value* indexed, const syntax::SubscriptExpr& expr);
  /// An element of an array over buckets, or one of its arrays.
  Place fabric_place(ir::Value* fabric, const syntax::SubscriptExpr& expr);
  /// The bucket that holds an element, as an array, and the element's number there; of an array of arrays the array itself.
  struct BucketPlace {
    ir::Value* row;
    ir::Value* index;  // null: an array of arrays
  };
  std::optional<BucketPlace> bucket_place(ir::Value* fabric, ir::Value* index, const syntax::Node& at);
  ir::Value* fabric_size(ir::Value* fabric);
  ir::Value* array_at(ir::Value* address, ir::Value* count, const Type* element);
  /// The indices of an element of an indexed array's data; every one of them may be negative.
  bool data_indices(ir::Value* indexed, std::vector<ir::Value*>& indices, const syntax::Node& at);
  ir::Value* data_index(ir::Value* index_array, ir::Value* index, const syntax::Node& at);
  ir::Value* indexed_extent(ir::Value* indexed, std::uint32_t dimension);
  ir::Value* indexed_field(ir::Value* indexed, std::uint32_t number);
  /// The extent of an array, indexed or not, as int32.
  ir::Value* extent_of(ir::Value* array, std::uint32_t dimension);
  /// An array where an indexed one is wanted; anything else stays as it is.
  ir::Value* as_indexed(ir::Value* value, const Type* wanted);

  // components (lower_component.cpp)
  /// One index of a subscript: a position, a run-time value, or several positions.
  struct Selector {
    bool is_slice = false;
    std::vector<std::int64_t> positions;
    ir::Value* dynamic = nullptr;
  };
  Place component_place(Place base, const syntax::SubscriptExpr& expr);
  Place select_components(Place base, const Selector& row, const Selector& col, bool col_given);
  Place select_parts(Place base, const Selector& row, const Selector& col);
  std::optional<Selector> selector(const syntax::Expr& index, const Type* type, std::int64_t n);
  std::optional<std::vector<std::int64_t>> slice_positions(const syntax::SliceExpr& slice, std::int64_t n);
  Entity slice_entity(const syntax::SliceExpr& slice);
  /// The same of start, stop and step; `at` names what they are in the text.
  std::optional<std::vector<std::int64_t>> slice_positions(const Entity& slice, const syntax::Expr& at, std::int64_t n);
  const Type* selected_type(const Type* type, const Selector& row, const Selector& col) const;
  /// Narrows a place of several components to one of them.
  void take_part(Place& run, std::size_t number);
  /// Each single component of a place that holds several, with its component of a value.
  void for_each_part(const Place& run, ir::Value* value, const std::function<void(const Place&, ir::Value*)>& use);

  // expressions (lower_expr.cpp, lower_operator.cpp)
  Entity lower_expr(const syntax::Expr& expr);
  /// As lower_expr, but may be something of the host that kernels can't use: a callee, or what stands left of a dot.
  Entity lower_any(const syntax::Expr& expr);
  /// Reports that a kernel reads something of the host that it can't use.
  Entity foreign_value(const Entity& entity, const syntax::Node& at);
  Entity lower_name(const syntax::NameExpr& expr);
  Entity lower_subscript(const syntax::SubscriptExpr& expr);
  /// One element of a tuple of compile-time things.
  /// `padded`: indices below it give 0 where the tuple has no such element.
  Entity element_of_tuple(const Entity& tuple, const syntax::SubscriptExpr& expr, std::int64_t padded = 0);

  // attributes (lower_attribute.cpp)
  Entity lower_attribute(const syntax::AttributeExpr& expr);
  Entity attribute_of(const Entity& object, const syntax::AttributeExpr& expr);
  Entity value_attribute(Entity object, const syntax::AttributeExpr& expr);
  Entity type_attribute(const builtins::Pattern& type, const syntax::AttributeExpr& expr);
  /// A number that an outer object has, where the bounds of a loop are read: range(self.count).
  std::optional<Entity> bound_of_object(const syntax::AttributeExpr& expr);
  Entity no_attribute(const std::string& what, const syntax::AttributeExpr& expr, std::string cure = {});

  // further expressions
  /// Of a constant of the library (lower_table.cpp).
  Entity table_element(const Entity& table, const syntax::SubscriptExpr& expr);
  Entity chosen_element(const std::vector<Entity>& elements, ir::Value* index, const syntax::Node& at);
  Entity lower_unary(const syntax::UnaryExpr& expr);
  Entity lower_binary(const syntax::BinaryExpr& expr);
  Entity binary(syntax::BinaryOp op, Entity a, Entity b, const syntax::Node& at);
  Entity lower_compare(const syntax::CompareExpr& expr);
  bool same_in_chain(const Entity& left, const Entity& right, const syntax::Node& at);
  Entity compare(syntax::CompareOp op, Entity a, Entity b, const syntax::Node& at);
  Entity lower_logical(const syntax::LogicalExpr& expr);
  Entity lower_ternary(const syntax::TernaryExpr& expr);
  ir::Value* lower_condition(const syntax::Expr& expr);
  ir::Value* truth(Entity entity, const syntax::Node& at);
  Entity from_symbol(const Symbol& symbol, const syntax::Node& at);
  ir::Value* constant_value(const Constant& constant, const syntax::Node& at);

  // calls (lower_call.cpp, overload.cpp)
  Entity lower_call(const syntax::CallExpr& expr);
  /// `places`: the callee may update arguments, so their places are kept.
  bool lower_arguments(const syntax::CallExpr& expr, bool places, std::vector<Argument>& out);
  /// The elements that a slice of an array has by its bounds alone; nullopt, and reported, if these are not known.
  std::optional<std::int64_t> slice_count(const syntax::SliceExpr& slice);
  /// wp.address_of(…); of a variable only as an argument of a call, see lendable_.
  Entity lower_address(const syntax::CallExpr& expr);
  ir::Value* element_address(const Place& place);
  ir::Value* from_front(ir::Value* index, bool wrap, ir::Value* extent);
  /// After a call: variables whose memory it got have what that holds now.
  void take_back(std::size_t mark, const syntax::Node& at_node);
  bool takes_references(const Entity& callee);
  Argument place_argument(const syntax::Expr& expr);
  Entity call_functions(const std::vector<std::shared_ptr<const FunctionDecl>>& overloads, std::vector<Argument> args,
                        const syntax::Node& at, bool derivative = false);
  /// `given` holds the argument that each parameter got, or null.
  Entity call_instance(const FunctionDecl& decl, std::vector<Entity> args, std::span<const Argument* const> given,
                       const syntax::Node& at);
  Entity call_builtin(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  Entity call_row(const builtins::Row& row, std::vector<Entity> args, const std::vector<Argument>& given,
                  std::span<const int> given_of_param, const syntax::Node& at);
  bool bind_row(const builtins::Row& row, const std::vector<Argument>& args, std::vector<Entity>& bound,
                std::vector<int>& given_of_param);
  Entity no_overload(std::string_view name, const std::vector<Argument>& args, const syntax::Node& at,
                     const std::vector<std::string>& candidates);
  std::optional<Entity> call_user_operator(std::string_view name, const Entity& a, const Entity* b,
                                           const syntax::Node& at);

  // gradients (lower_custom.cpp, lower_grad.cpp)
  bool is_adjoint(const syntax::SubscriptExpr& expr);
  Place adjoint_place(const syntax::SubscriptExpr& expr);
  Place adjoint_path(const syntax::Expr& expr);
  ir::Value* first_adjoint(ir::Value* of);
  Entity special_grad(const std::vector<Argument>& args, const syntax::Node& at);
  Entity call_derivative(const Symbol& of, std::vector<Argument> args, const syntax::Node& at);
  Entity call_derivative_of(const FunctionDecl& decl, const std::vector<Entity>& args, const syntax::Node& at);
  ir::Value* ones(const Type* type);

  // special forms and constructors (lower_special.cpp, lower_construct.cpp)
  Entity call_special(std::string_view name, std::vector<Argument> args, const syntax::Node& at, bool& handled);
  Entity lower_static(const syntax::CallExpr& expr);
  /// The text of a wp.static expression, with numbers in place of `len(v)` of variables whose size is fixed.
  std::string static_text(const syntax::Expr& inner);
  Entity special_tid(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_print(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_printf(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_atomic(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  /// dense_…_batched: the function behind it takes the thread's number first.
  Entity special_batched(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  Entity special_prefetch(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_tame_quotient(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_handle(const std::vector<Argument>& args, const syntax::Node& at);
  Entity checked_object(ir::Value* id, HandleKind kind, const syntax::Node& at);
  Entity special_fixed(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_voxels(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_grid_layout(const std::vector<Argument>& args, const syntax::Node& at);
  static bool is_volume_form(std::string_view name);
  Entity special_volume(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  static bool is_texture_form(std::string_view name);
  Entity special_texture(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  Entity special_texture_read(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_texture_sample(std::vector<Argument> args, const syntax::Node& at);
  Entity special_len(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_select(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  Entity special_local(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  Entity special_slice(const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_range(std::string_view name, const std::vector<Argument>& args, const syntax::Node& at);
  Entity special_cast(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  /// The bits of numbers as those of another type of the same size.
  ir::Value* reinterpreted(ir::Value* value, const Type* to);
  ir::Value* reinterpreted_struct(ir::Value* value, const Type* to);
  Entity special_array(std::vector<Argument> args, const syntax::Node& at);
  Entity construct(const builtins::Pattern& pattern, std::vector<Argument> args, const syntax::Node& at);
  Entity construct_scalar(const Type* type, const std::vector<Argument>& args, const syntax::Node& at);
  class CompositeMaker;
  Entity construct_composite(const Type* type, std::vector<Argument> args, const syntax::Node& at);
  Entity construct_struct(const Type* type, const std::vector<Argument>& args, const syntax::Node& at);
  Entity construct_untyped(std::string_view name, std::vector<Argument> args, const syntax::Node& at);
  /// Takes `length=` or `shape=` of a type that has its size already; false, after an error, if they differ.
  bool take_own_size(const Type* type, std::vector<Argument>& args, const syntax::Node& at);
  std::optional<const Type*> take_dtype(std::vector<Argument>& args, const syntax::Node& at);
  /// Puts a special form's arguments into the order of its parameters; false after an error. Left-out ones at the end are
  /// missing, in between an error.
  bool order_arguments(std::string_view form, std::span<const std::string_view> params, std::vector<Argument>& args,
                       const syntax::Node& at);
  bool check_printf(std::string_view format, std::span<ir::Value* const> operands, std::span<const Argument> args,
                    const syntax::Node& at);
  std::optional<std::int64_t> constant_int(const Entity& entity);
  std::optional<std::int64_t> need_constant(const Entity& entity, const syntax::Expr& expr, const char* what);
  std::optional<std::vector<std::int64_t>> constant_shape(const Entity& entity);

  // conversions and small tools (lower_value.cpp)
  ir::Value* value_of(const Entity& entity, const syntax::Node& at);
  ir::Value* literal_as(const Entity& literal, const Type* type, const syntax::Node& at);
  ir::Value* cast(ir::Value* value, const Type* to);
  void adapt_literals(Entity& a, Entity& b, const syntax::Node& at);
  Entity fold_literals(syntax::BinaryOp op, const Entity& a, const Entity& b);
  ir::Value* fold(ir::OpCode code, ir::Value* a, ir::Value* b = nullptr);
  /// The tuple of these; null, with an error, if it is too large.
  ir::Value* make_tuple(std::span<ir::Value* const> parts, const syntax::Node& at);
  std::string describe(const Entity& entity) const;
  std::string describe(const std::vector<Argument>& args) const;
  const Type* type_of_literal(const Entity& literal) const;
  bool library() const { return decl_.library; }
  Entity fail(DiagCode code, const syntax::Node& at, std::string text, std::string cure = {});
  ir::Builder& at(const syntax::Node& node) {
    builder_.set_loc(node.loc);
    return builder_;
  }

  ModuleLowering& module_;
  const FunctionDecl& decl_;
  std::shared_ptr<Scope> scope_;
  ir::Function& function_;
  ir::Builder builder_;
  FunctionScan scan_;
  std::set<const syntax::Stmt*> must_unroll_;  // loops whose variable is needed as a constant
  DiagnosticSink& sink_;

  std::vector<Variable> variables_;
  std::unordered_map<std::string_view, int> variable_index_;
  std::vector<std::pair<int, Entity>> journal_;            // what variables held before they were set, newest last
  std::vector<std::pair<std::string_view, int>> renewed_;  // names that became other variables, and what they were
  std::vector<int> renewals_;                              // those other variables
  std::vector<int> param_variables_;
  std::vector<Loop> loops_;
  std::unordered_set<const ir::Value*> tiles_by_thread_;  // memory of tiles with a place for each thread
  SecondNames second_names_;
  int live_ = -1;                                                    // flag: false after return
  std::vector<std::pair<std::string_view, int>> adjoint_variables_;  // of a gradient function: parameter, variable
  bool is_gradient_ = false;
  std::vector<int> return_variables_;
  std::vector<const Type*> return_types_;
  SourceLoc first_return_;
  bool returned_value_ = false;
  bool returns_tuple_ = false;
  /// Tiles that lie elsewhere in long rows as well, since an operation behind which both are the same (tiles_systems.cpp).
  struct LongRows {
    const TileType* type;
    ir::Value *data, *offset;
    const TileType* rows_type;
    ir::Value *rows, *rows_offset;
    ir::Op* since;
  };
  std::vector<LongRows> long_rows_;
  int region_depth_ = 0;                            // regions around the place where operations go
  bool too_deep_ = false;                           // that there are too many was reported
  bool lends_ = false;                              // the call whose arguments are lowered is one of a function
  bool reads_bounds_ = false;                       // … is range(…): numbers of outer objects are constants there
  const syntax::Expr* lendable_ = nullptr;          // the argument of such a call that is lowered next
  std::vector<std::pair<Place, ir::Value*>> lent_;  // variables in memory, and where, until a call returns
  int tid_arity_ = 1;                               // set by an unpacking assignment around tid()
  bool names_lost_ = false;                         // something we did not look into may have bound names
};

}  // namespace weft::sema
