// The emitter's insides, shared by the emit_*.cpp files; the only header here that brings in LLVM's IR.
// An emitted value is a list of parts: the scalars of its type (structure of arrays), the fields of array descriptors,
// or, for composites of more than kMaxRegisterComponents scalars, one block of private memory. A part is uniform (an
// LLVM scalar), linear (lane 0's scalar and a constant stride) or varying (<W x T>). With W = 1 everything is uniform
// and no mask ever exists. In lanewise functions on CPUs a vector that fills a register is one part (packed.cpp).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "analysis/check_sites.h"
#include "analysis/uniformity.h"
#include "codegen/codegen.h"
#include "codegen/emit/limits.h"
#include "codegen/emit/loop_turns.h"
#include "codegen/target.h"
#include "ir/ir.h"

namespace weft::codegen {

class AddQueue;
class DrawQueues;
class GroupedAdds;
class LineTable;
class TargetHooks;

/// The scope of memory that nothing writes while kernels run.
inline constexpr std::int32_t kFixedScope = -2;
/// The same, of an object's descriptor, on a CPU.
inline constexpr std::int32_t kDescriptorScope = -3;
inline constexpr bool is_fixed(std::int32_t scope) { return scope == kFixedScope || scope == kDescriptorScope; }

struct Part {
  llvm::Value* v = nullptr;  // scalar, <W x T>, or the pointer to a block
  std::int32_t stride = 0;   // not 0: v is lane 0's scalar, lane k holds v + k·stride
  std::int32_t scope = -1;   // pointers: the kernel parameter whose memory this is, one that is_fixed, or −1
  bool wide = false;         // blocks: elements are <W x T>
};
using Parts = llvm::SmallVector<Part, 4>;

enum class PartKind : std::uint8_t { scalar, pointer, extent, block };

/// One part of a type.
struct PartInfo {
  PartKind kind;
  ScalarKind scalar;     // scalar: its kind; block: its components'
  std::uint32_t count;   // block, packed vector: number of components; else 1
  std::uint32_t offset;  // bytes from the value's start in memory
  std::uint32_t unit;    // lane unit (analysis/uniformity.h)
};

/// How a type falls into parts, and the constant fields that its memory form holds beside them.
struct TypeParts {
  std::vector<PartInfo> parts;
  struct Constant {
    std::uint32_t offset;
    std::uint32_t bytes;
    std::int64_t value;
  };
  std::vector<Constant> constants;  // array descriptors: ndim, and zeros beyond the rank
};

/// A function emitted for one number of lanes and one combination of lane shapes.
struct Variant {
  llvm::Function* function = nullptr;
  int lanes = 1;
  bool packed = false;
  std::vector<analysis::LaneShape> params;  // per unit: kUniform or kVarying
};

/// Whether the C++ of a native function calls functions of the module (native/uses.cpp).
bool calls_back(const ir::Function& native);

/// One LLVM module being made: types, helper functions and the functions emitted so far.
class CodeUnit {
 public:
  CodeUnit(const ir::Module& source, const TargetSpec& target, const EmitOptions& options, int lanes);
  ~CodeUnit();

  /// Emits the kernel; its symbol is entry_name(kernel).
  void emit_kernel(const ir::Function& kernel);
  /// Emits a lanewise function, as code of one lane with packed vectors, for kernels in other objects.
  void emit_function(const ir::Function& function, const std::string& symbol);

  /// How a type falls into parts, in the body being emitted.
  const TypeParts& parts(const Type* type);
  llvm::Type* type(ScalarKind kind) const;         // in registers: bool i1, f16 and bf16 i16
  llvm::Type* memory_type(ScalarKind kind) const;  // in memory: bool i8
  llvm::Type* memory_type(const PartInfo& part) const;
  /// <W x T> of a scalar type (W = 1: T).
  llvm::Type* wide(llvm::Type* scalar) const;
  /// The register type of a part, uniform or varying; blocks are pointers.
  llvm::Type* part_type(const PartInfo& part, bool varying) const;

  /// The body of an elementary function on f32 or f64, on scalars or on <W x T> (emit/math.cpp).
  llvm::Function* math(ir::OpCode code, ScalarKind kind, bool varying);
  /// The same for a body of f32 of one's own choice; GPU.
  llvm::Function* math(const ir::Function& body, bool varying) {
    return math_function(body, body.name, ScalarKind::f32, varying);
  }
  llvm::FunctionCallee helper(const char* name, llvm::FunctionType* type, bool may_read_memory);
  llvm::Constant* text_constant(const std::string& text);
  /// A native function, compiled by clang and linked into the module (native/compile.cpp): takes addresses of its arguments
  /// and of its result, behind context and linear index if it calls functions of the module.
  llvm::Function* native(const ir::Function& function);
  bool has_natives() const { return !natives_.empty(); }
  /// The function for these lane shapes of its parameters; its body is emitted later, by emit_pending.
  const Variant& variant(const ir::Function& function, const std::vector<analysis::LaneShape>& params);

  const ir::Module& source;
  const TargetSpec& target;
  const EmitOptions& options;
  int lanes;            // of the body being emitted; see BodyForm
  bool packed = false;  // in the body being emitted, vectors that fill registers are one part each
  bool guesses =
      true;  // indices that may be neighbours' are tried as such (address.cpp); of the functions that a kernel calls
  const TargetTraits traits;
  const std::unique_ptr<TargetHooks> hooks;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  analysis::CheckSites sites;
  std::optional<LoopTurns> turns;    // which loops count their turns, if any do
  std::unique_ptr<LineTable> lines;  // if asked for

  llvm::Type *i1, *i8, *i16, *i32, *i64, *f32, *f64;
  llvm::PointerType* ptr;

 private:
  std::unordered_map<const Type*, TypeParts> parts_[2];  // plain, packed
  std::map<std::string, llvm::Constant*> texts_;
  std::unordered_map<const ir::Function*, llvm::Function*> natives_, used_;
  llvm::Function* math_function(const ir::Function& body, const std::string& name, ScalarKind kind, bool varying);
  void emit_pending();
  /// A function for C++ to call: (context, linear index, addresses of parameters and results). Emitted by emit_pending.
  llvm::Function* used_by_native(const ir::Function& function);
  void emit_used(const ir::Function& function, llvm::Function& to);
  /// Gives the calls of `weft_use_0`… in a native function their context, and the functions that they mean.
  void link_uses(const ir::Function& function, llvm::Module& from, llvm::Function& entry);
  void emit_variant(const ir::Function& function, const Variant& variant);

  using VariantKey = std::tuple<const ir::Function*, int, bool, std::vector<analysis::LaneShape>>;
  std::map<VariantKey, Variant> variants_;
  std::map<std::tuple<const ir::Function*, int, bool>, int> variant_count_;
  std::vector<std::pair<const ir::Function*, const Variant*>> pending_;
  std::vector<std::pair<const ir::Function*, llvm::Function*>> pending_used_;
};

/// Bodies emitted while this lives have another number of lanes, and vectors packed or not.
class BodyForm {
 public:
  BodyForm(CodeUnit& unit, int lanes, bool packed = false)
      : unit_(unit), lanes_before_(unit.lanes), packed_before_(unit.packed) {
    unit.lanes = lanes;
    unit.packed = packed;
  }
  BodyForm(const BodyForm&) = delete;
  BodyForm& operator=(const BodyForm&) = delete;
  ~BodyForm() {
    unit_.lanes = lanes_before_;
    unit_.packed = packed_before_;
  }

 private:
  CodeUnit& unit_;
  int lanes_before_;
  bool packed_before_;
};

/// Vectors of 4 or 8 numbers of 32 bits: one register, or two.
bool fills_register(const Type* type);

std::string entry_name(const ir::Function& kernel);
/// Makes the innermost stride of every array in a parameter a constant: all but strided forms may.
void fix_inner_strides(CodeUnit& unit, const Type* type, llvm::MutableArrayRef<Part> parts);

/// What the threads of a kernel know of themselves; functions get context and linear passed on.
struct ThreadInfo {
  llvm::Value* context = nullptr;  // CPU: LaunchContext*; GPU: pointer to a GpuTrailer
  Part linear;                     // i64 linear index; lanes are always neighbours
  Part tids[kMaxRank];             // i32
  /// CPU, where loops count their turns: the address of the number (i32) that are left, and where the function returns
  /// when it was told to stop (emit/turns.cpp).
  llvm::Value* turns = nullptr;
  llvm::BasicBlock* stopped = nullptr;
  llvm::Value* block_threads = nullptr;  // where the last block may lack some: how many there are (i32)
};

/// The place an array access goes to. Either `pointers` (<W x ptr>), or a scalar pointer and a constant distance in
/// bytes between lanes (0: uniform). `fast_if`, where set, must hold at run time for the latter; else `pointers_slow`.
struct Address {
  llvm::Value* pointer = nullptr;
  std::int64_t lane_stride = 0;
  llvm::Value* fast_if = nullptr;
  std::function<llvm::Value*()> pointers_slow;  // makes <W x ptr> at the current place
  llvm::Value* pointers = nullptr;
  llvm::Value* apart_if =
      nullptr;  // with `pointers`, of atomics: lanes go to elements of their own if this holds; null: who knows
  std::uint32_t element_size = 0;  // bytes of a whole array element
  std::uint32_t offset = 0;        // constant part of the path, bytes from the element's start
  llvm::Value* valid = nullptr;    // dynamic path steps in range: i1 or <W x i1>; null: always
  std::int32_t scope = -1;
  std::uint32_t align = 0;  // that whole elements are known to have, bytes; 0: that of their scalars; 1: none at all
};

/// Emits the body of one function, or one of a kernel's bodies.
class Emitter {
 public:
  Emitter(CodeUnit& unit, llvm::Function* into, const ir::Function& function, const analysis::Uniformity* shapes);

  CodeUnit& unit;
  llvm::IRBuilder<> b;
  bool overlaps_roots = false;  // GPU: in a loop that is unrolled, where roots without branches run into each other
  const int W;
  ThreadInfo thread;
  llvm::Value* mask = nullptr;   // <W x i1>; null: all lanes active
  bool guesses;                  // CodeUnit::guesses, or less
  AddQueue* queue = nullptr;     // takes additions that may wait (add_queue.h); null: none may
  DrawQueues* draws = nullptr;   // the same for draws from counters (draw_queue.h)
  std::size_t written_out = 0;   // scalars of additions to buckets whose lanes are written out
  GroupedAdds* group = nullptr;  // GPU: the same in a loop (nvptx/grouped_adds.h)

  // -- values (emit/value.cpp)
  void set(const ir::Value* value, Parts parts);
  const Parts& get(const ir::Value* value);
  const TypeParts& parts_of(const ir::Value* value) { return unit.parts(value->type); }
  analysis::LaneShape shape(const ir::Value* value, std::uint32_t unit_index) const;
  /// False if no operation of the function reads the value.
  bool is_used(const ir::Value* value);
  bool divergent(const ir::Op& loop) const { return shapes_ && shapes_->divergent(loop); }
  /// Scalar if uniform, else <W x T>.
  llvm::Value* plain(const Part& part);
  llvm::Value* plain(const ir::Value* scalar) { return plain(get(scalar)[0]); }
  /// Always <W x T> (W = 1: the scalar).
  llvm::Value* vector(const Part& part);
  /// Lane 0's scalar of a uniform or linear part.
  llvm::Value* base(const Part& part) const;
  bool is_uniform(const Part& part) const;
  /// The part as its lane shape wants it: broadcast where varying.
  Part shaped(const PartInfo& info, const Part& part, analysis::LaneShape shape);
  Parts zero_parts(const Type* type);
  llvm::Value* zero_like(const PartInfo& info, bool varying);
  Parts load_params(const Type* type, llvm::Value* from, std::uint32_t offset, std::int32_t scope);

  // -- lanes and masks (lanes.cpp)
  llvm::Value* splat(llvm::Value* scalar);
  llvm::Value* iota(llvm::Type* scalar, std::int64_t stride);
  void unify(llvm::MutableArrayRef<llvm::Value*> values);
  llvm::Value* select(llvm::Value* c, llvm::Value* a, llvm::Value* d);
  llvm::Value* all_mask();
  llvm::Value* mask_or_all() { return mask ? mask : all_mask(); }
  llvm::Value* mask_bits(llvm::Value* m);
  llvm::Value* any(llvm::Value* m);
  llvm::Value* lane_of(llvm::Value* v, llvm::Value* lane);
  /// Calls fn(lane) for each active lane in order, as a run-time loop (W = 1: once, with null).
  void for_each_lane(llvm::Value* m, const std::function<void(llvm::Value*)>& fn);
  /// for i in 0 … n−1 (i64), as a run-time loop.
  void counted_loop(llvm::Value* n, const std::function<void(llvm::Value*)>& fn);
  void counted_loop(std::uint64_t n, const std::function<void(llvm::Value*)>& fn) { counted_loop(b.getInt64(n), fn); }
  /// Runs fn only if c (i1) holds.
  void when(llvm::Value* c, const std::function<void()>& fn);
  /// Runs one of the two.
  void either(llvm::Value* c, const std::function<void()>& fn, const std::function<void()>& otherwise);
  llvm::BasicBlock* block(const char* name);
  llvm::AllocaInst* entry_alloca(llvm::Type* type, std::uint64_t count, std::uint32_t align);
  llvm::Value* byte_offset(llvm::Value* pointer, llvm::Value* offset);

  // -- blocks: large composites in private memory (emit/block.cpp)
  Part new_block(ScalarKind kind, std::uint32_t count, bool wide);
  /// Components that are all constants, as read-only data of the module; null if one is not.
  std::optional<Part> constant_block(ScalarKind kind, std::span<const Part> components);
  llvm::Value* block_get(const Part& block, ScalarKind kind, llvm::Value* index);
  void block_put(const Part& block, ScalarKind kind, llvm::Value* index, llvm::Value* value,
                 llvm::Value* under = nullptr);
  void block_copy(const Part& to, const Part& from, ScalarKind kind, std::uint32_t count, llvm::Value* under = nullptr);
  /// A composite's components in memory (spilled if they are in registers).
  Part as_block(const Type* composite, const Parts& parts);
  /// Reloads a block into registers if the type is small.
  Parts from_block(const Type* composite, const Part& block);
  bool is_block(const Type* type) { return type->is_composite() && type->component_count() > kMaxRegisterComponents; }
  bool dies_at(const ir::Value* value, const ir::Op& op);

  // -- operations
  void emit_region(const ir::Region& region);  // up to, not including, the terminator
  void emit_op(const ir::Op& op);

  void emit_elementwise(const ir::Op& op);
  llvm::Value* arith(ir::OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* int_arith(ir::OpCode code, ScalarKind kind, llvm::Value* x, llvm::Value* y);
  /// W = 1, CPUs: whether a sum, difference or product of two int32 never overflows.
  bool never_overflows(const ir::Op& op);
  /// W = 1: an index as i64. What never overflows is added up in 64 bits, as addresses are, so that LLVM sees which elements are
  /// neighbours in memory.
  llvm::Value* wide_index(const ir::Value* index, int depth = 8);
  llvm::Value* float_arith(ir::OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* float_extreme(llvm::Value* better, llvm::Value* x, llvm::Value* y);
  llvm::Value* plain_extreme(bool most, llvm::Value* x, llvm::Value* y);
  llvm::Value* call_rare(ir::OpCode code, ScalarKind kind, llvm::Value* operand);
  llvm::Value* call_math(ir::OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* constant_like(llvm::Value* like, std::int64_t value);

  void emit_compare(const ir::Op& op);
  llvm::Value* compare(ir::OpCode code, ScalarKind kind, llvm::Value* x, llvm::Value* y);

  void emit_cast(const ir::Op& op);
  void emit_bitcast(const ir::Op& op);
  llvm::Value* convert(llvm::Value* v, ScalarKind from, ScalarKind to);
  llvm::Value* half_to_unsigned(llvm::Value* v, ScalarKind to);
  llvm::Value* float_to_int(llvm::Value* value, ScalarKind to);
  llvm::Value* half_to_float(ScalarKind kind, llvm::Value* bits);
  llvm::Value* float_to_half(ScalarKind kind, llvm::Value* value);
  llvm::Value* double_to_half(ScalarKind kind, llvm::Value* value);

  void emit_select(const ir::Op& op);
  void emit_construct(const ir::Op& op);
  void emit_splat(const ir::Op& op);
  void emit_extract(const ir::Op& op);
  void emit_insert(const ir::Op& op);

  void emit_scale(const ir::Op& op);
  void emit_dot(const ir::Op& op);
  void emit_matmul(const ir::Op& op);
  void emit_transpose(const ir::Op& op);
  void emit_outer(const ir::Op& op);
  void emit_mask_of(const ir::Op& op);
  void emit_choose_bits(const ir::Op& op);
  llvm::Value* multiply_add(ScalarKind kind, llvm::Value* x, llvm::Value* y, llvm::Value* sum, bool contract);

  /// Puts off the products of a region that store_row_product can write; true if it has written (emit/rows.cpp).
  void find_row_products(const ir::Region& region);
  bool store_row_product(const ir::Op& store);
  void emit_load(const ir::Op& op);
  void emit_store(const ir::Op& op);
  void emit_atomic(const ir::Op& op);
  void emit_prefetch(const ir::Op& op);
  void emit_view(const ir::Op& op);
  void emit_slice(const ir::Op& op);
  void emit_dim(const ir::Op& op);
  void emit_pointer_query(const ir::Op& op);
  void emit_from_ptr(const ir::Op& op);
  void emit_gradient(const ir::Op& op);
  void emit_local(const ir::Op& op);
  void emit_block_memory(const ir::Op& op);
  void clear_woven(llvm::Value* memory, std::uint64_t count, std::uint64_t element);
  Address address(const ir::Op& op, std::span<ir::Value* const> path_operands);
  /// The address of each lane (W = 1: the one).
  llvm::Value* lane_pointers(const Address& at);
  /// A plain addition to elements that no two lanes share, whatever `fast_if` says.
  void add_apart(llvm::ArrayRef<PartInfo> leaves, const Parts& values, Address at);

  void emit_if(const ir::Op& op);
  /// The side of a guard that is worth a copy without a mask (emit/agreeing_if.cpp), or -1; counts what it costs.
  int guarded_side(const ir::Op& op);
  void emit_agreeing_if(const ir::Op& op, int side);
  void emit_for(const ir::Op& op);
  /// GPU: several turns at once (nvptx/grouped_adds.h).
  void emit_grouped_for(const ir::Op& op, GroupedAdds& adds);
  void emit_while(const ir::Op& op);
  void emit_call(const ir::Op& op);
  void emit_native_call(const ir::Op& op);
  /// A field of what a call gives back; numbers may come as their bits (call.cpp).
  llvm::Value* result_part(llvm::Value* results, unsigned field, llvm::Type* type);
  void emit_lanewise_call(const ir::Op& op);

  // -- packed vectors (packed.cpp)
  bool is_packed(const Type* type) const { return unit.packed && fills_register(type); }
  bool needs_components(const ir::Op& op);
  void emit_on_components(const ir::Op& op);
  Parts packed_parts(const Type* type, const Parts& components);
  Parts component_parts(const Type* type, const Parts& packed);
  void emit_packed_arith(const ir::Op& op);
  Parts lane_parts(const ir::Value* value, llvm::Value* lane);
  void put_lane(const Part& into, const PartInfo& info, const Part& from, llvm::Value* lane);

  // -- turns of loops (emit/turns.cpp)
  LoopTurns::Way turns_of(const ir::Op& loop) const;
  /// Memory for the turns that are left, `first` of them to begin with.
  llvm::AllocaInst* begin_turns(llvm::Value* first);
  llvm::Value* turns_left();
  /// Takes so many, which may be more than are left. Branches to `go` while some are left; stays where more were asked for
  /// and granted.
  void take_turns(llvm::Value* taken, llvm::BasicBlock* go);
  void take_turn();
  /// Returns from the function if none is left.
  void leave_if_stopped();
  /// For branches that are hardly ever taken.
  llvm::MDNode* rarely();

  void emit_tid(const ir::Op& op);
  void emit_print(const ir::Op& op);
  void emit_failure(const ir::Op& op);
  void emit_running(const ir::Op& op);
  void emit_any(const ir::Op& op);
  void emit_block_dim(const ir::Op& op);
  void emit_block_thread(const ir::Op& op);
  void emit_warp(const ir::Op& op);
  void emit_texture(const ir::Op& op);
  void emit_breakpoint();

  /// A step of a path into a composite, resolved: a constant, or a register holding an i32 with its range check.
  struct Step {
    bool dynamic = false;
    std::uint32_t value = 0;  // constant
    std::uint32_t extent = 0;
    llvm::Value* index = nullptr;  // dynamic: i32 or <W x i32>; clamped to 0 where out of range
    llvm::Value* valid = nullptr;  // dynamic: i1 or <W x i1>
    bool in_range() const { return dynamic || value < extent; }
  };
  Step resolve_step(const ir::PathStep& step, const Type* at, const ir::Value* dynamic);
  /// An integer of any kind as i64, sign- or zero-extended by its type.
  llvm::Value* to_i64(llvm::Value* v, const Type* type);
  llvm::Value* both(llvm::Value* x, llvm::Value* y);  // and; null is true

  /// Makes alias scopes for the kernel's parameters if its form says that none overlap.
  void use_scopes();
  void mark_scope(llvm::Instruction* access, std::int32_t scope);
  /// Writes a value's memory form (C layout) to a scalar address; lane selects from varying parts.
  void write_bytes(const Type* type, const Parts& parts, llvm::Value* to, llvm::Value* lane);

  llvm::Function* function() const { return function_; }
  const ir::Function& source() const { return source_; }

 private:
  // Memory (emit/access.cpp).
  Parts load_parts(const Type* type, Address& at);
  llvm::Value* load_leaf(const PartInfo& leaf, const Address& at, llvm::Value* pointers);
  llvm::SmallVector<llvm::Value*, 4> load_leaves(llvm::ArrayRef<PartInfo> leaves, const Address& at,
                                                 llvm::Value* pointers);
  // Lanes that load one by one (emit/lane_loads.cpp).
  llvm::SmallVector<llvm::Value*, 4> load_in_fours(llvm::ArrayRef<PartInfo> leaves, const Address& at,
                                                   llvm::Value* pointers);
  llvm::Value* component_pointers(llvm::Value* pointers, std::uint32_t offset);
  /// Addresses for a scatter; takes the mask away where it has gone into them: the caller puts it back.
  llvm::Value* by_all_lanes(llvm::Value* pointers);
  void store_pair(const PartInfo& first, std::pair<llvm::Value*, llvm::Value*> values, const Address& at,
                  llvm::Value* pointers);
  llvm::Value* load_scalar(llvm::Type* type, llvm::Value* from, std::uint32_t align, std::int32_t scope);
  void store_scalar(llvm::Value* value, llvm::Value* to, std::uint32_t align, std::int32_t scope);
  /// Four or more leaves of one type that follow each other in memory, in lanes that lie apart.
  struct Run {
    std::size_t first = 0, end = 0;  // of the leaves
    llvm::Type* type = nullptr;
    std::uint32_t bytes = 0;
  };
  /// The end of the leaves from `first` on that are of one type and follow each other without a gap: padding in structs ends it.
  std::size_t run_end(llvm::ArrayRef<PartInfo> leaves, std::size_t first);
  llvm::SmallVector<Run, 2> quad_runs(llvm::ArrayRef<PartInfo> leaves, const Address& at);
  void load_quads(const Run& run, llvm::ArrayRef<PartInfo> leaves, const Address& at,
                  llvm::MutableArrayRef<llvm::Value*> out);
  void store_quads(const Run& run, llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values,
                   const Address& at);
  void store_wide(const Run& run, llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values,
                  const Address& at);
  llvm::Value* quad_address(const Address& at, std::uint32_t place, int lane);
  llvm::Value* load_piece(const Run& run, const Address& at, std::uint32_t place, int lane);
  void store_piece(const Run& run, const Address& at, std::uint32_t place, int lane, llvm::Value* from, int first,
                   int count);
  llvm::Value* zip_quads(llvm::Value* x, llvm::Value* y, bool second, bool pairs);
  llvm::Value* zip_evens(llvm::Value* x, llvm::Value* y, bool odd);
  int wide_lane(int k, int block) const;
  /// One vector after the other.
  llvm::Value* joined(llvm::ArrayRef<llvm::Value*> pieces);
  // Elements of two to four scalars in whole registers (emit/interleave.cpp).
  bool fills_registers(std::int64_t parts, std::uint32_t bytes) const;
  llvm::Value* register_mask(int parts, int which);
  llvm::SmallVector<llvm::Value*, 4> load_registers(llvm::Type* type, int parts, const Address& at);
  llvm::Value* register_component(llvm::ArrayRef<llvm::Value*> registers, int k);
  void store_registers(llvm::ArrayRef<llvm::Value*> values, const Address& at);
  llvm::SmallVector<llvm::Value*, 4> load_linear(llvm::ArrayRef<PartInfo> leaves, const Address& at);
  bool store_linear(llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values, const Address& at);
  llvm::Value* any_bit(const ir::Value* loaded);
  void store_leaves(llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values, const Address& at);
  void load_block(const PartInfo& info, const Address& at, Part& into);
  void store_block(const PartInfo& info, const Part& from, const Address& at);
  llvm::Value* from_memory(const PartInfo& leaf, llvm::Value* v);
  llvm::Value* to_memory(const PartInfo& leaf, llvm::Value* v);
  llvm::Value* replicate_mask(llvm::Value* m, unsigned times);

  // Control (emit/control.cpp, emit/loop.cpp).
  bool flattens(const ir::Op& op);
  void emit_branch(const ir::Op& op);
  void emit_masked_if(const ir::Op& op);
  void emit_flat_if(const ir::Op& op);
  Parts shaped_parts(const ir::Value* as, const Parts& parts);
  void emit_uniform_for(const ir::Op& op);
  bool emit_paired_rest(const ir::Op& op);
  void emit_divergent_for(const ir::Op& op);
  llvm::Value* trip_count(const ir::Op& op, bool by_lane);
  using Carried = std::vector<Parts>;
  /// GPU: some turns of a loop, one after the other, that run into each other. `at` and `values` are the index and what the
  /// loop carries, before and then behind them; `in_range`: LLVM may know that the index does not overflow.
  void emit_straight_turns(const ir::Op& op, int turns, llvm::Value*& at, Carried& values, bool in_range,
                           const std::function<void(int)>& before_turn = nullptr);
  Carried carry_in(std::span<ir::Value* const> args, std::span<ir::Value* const> init);
  Carried carry_phis(std::span<ir::Value* const> args, const Carried& in, llvm::BasicBlock* from);
  void carry_next(std::span<ir::Value* const> args, Carried& phis, std::span<ir::Value* const> next,
                  llvm::Value* active, const ir::Op* loop = nullptr);
  /// Whether anything behind a loop looks at what it carried.
  bool is_looked_at(const ir::Op& loop, std::size_t result);
  std::unordered_map<const ir::Region*, std::unordered_set<const ir::Value*>>
      looked_at_;  // by function: results of loops
  Carried join_carried(std::span<ir::Value* const> args,
                       std::initializer_list<std::pair<llvm::BasicBlock*, const Carried*>> ways);
  /// A loop over a part of a `for` that runs at least once: from which block it is entered, its own, and where it goes.
  struct ForBlocks {
    llvm::BasicBlock *before, *loop, *behind;
  };
  struct ForRange {
    llvm::Value *from, *to;  // indices
    llvm::Value* trips;      // i64, decides when it ends; null: `to` does
  };
  struct ForPart {
    llvm::Value* next;  // index
    Carried out;
    llvm::BasicBlock* end;
  };
  ForPart emit_for_part(const ir::Op& op, const ForBlocks& blocks, const ForRange& range, const Carried& in,
                        bool counts);

  llvm::Function* function_;
  static constexpr std::uint32_t kSpare = 64;
  llvm::AllocaInst* spare_ = nullptr;  // so many bytes that nobody reads (by_all_lanes); made on demand
  const ir::Function& source_;
  const analysis::Uniformity* shapes_;                        // null: W = 1, everything uniform
  std::unordered_map<const ir::Value*, llvm::Value*> woven_;  // local arrays whose lanes' elements lie side by side
  std::vector<Parts> values_;
  std::unordered_map<const ir::Value*, std::vector<const ir::Op*>> block_uses_;
  bool block_uses_known_ = false;
  // Loads and products that wait for their store (emit/rows.cpp).
  llvm::SmallPtrSet<const ir::Op*, 4> deferred_;
  int guarded_ops_left_ = 300;                      // what may still be emitted twice (emit/agreeing_if.cpp)
  std::unique_ptr<const analysis::Ranges> ranges_;  // W = 1: of the function's integers; made on demand
  std::vector<bool> used_;                          // by value id; made on demand
  std::vector<llvm::Metadata*> scopes_;             // by parameter (kernels with form.no_overlap)
  std::vector<bool> read_only_;  // GPU, by parameter: arrays that nobody writes while the kernel runs
  friend class CodeUnit;
};

inline bool is_half(ScalarKind kind) { return kind == ScalarKind::f16 || kind == ScalarKind::bf16; }
inline bool is_signed(ScalarKind kind) {
  return kind == ScalarKind::i8 || kind == ScalarKind::i16 || kind == ScalarKind::i32 || kind == ScalarKind::i64;
}
inline bool is_floating(ScalarKind kind) { return kind >= ScalarKind::f16; }

}  // namespace weft::codegen
