// Frames, control flow and the outside.
#include "interp/executor.h"

#include <algorithm>

#include "ir/op_cases.h"
#include "ir/origin.h"
#include "runtime/print_format.h"

namespace weft::interp {
namespace {

using ir::OpCode;

/// Nested regions plus active calls; keeps the native stack small whatever the program.
constexpr int kMaxDepth = 2000;
constexpr std::size_t kMaxFrameBytes = std::size_t(1) << 32;

/// Gives every value of a function a place of its own, nested regions included: values of two regions never share
/// one, so that what a loop's last turn computed is still there when its yields are read. The price is memory that
/// grows with the text; what it buys is that no lifetime has to be known.
class FrameMaker {
 public:
  explicit FrameMaker(Frame& frame) : frame_(frame) {
    frame_.slots.assign(frame_.function->value_count, kNone);
    walk(*frame_.function->body);
    // A returned descriptor may be that of a local array, whose memory must then outlive the call.
    for (const Type* type : frame_.function->result_types) frame_.keeps_locals |= ir::has_array(type);
    // Checked once everything has been counted: values are at most 64 MiB each, so the sum itself can't overflow.
    if (size_ > kMaxFrameBytes)
      throw Error("function '" + frame_.function->name + "' needs too much memory for its values",
                  frame_.function->loc);
    frame_.words.resize(size_ / 8);
    // Aggregates can only be zero as constants, and the frame is zeroed. Nothing writes to a constant's place
    // afterwards, so this is done once and not per call.
    for (const ir::Value* constant : constants_)
      if (constant->type->is_scalar()) write_bits(frame_.at(constant), constant->type->size(), constant->bits);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  void place(const ir::Value* value) {
    // A constant is met at each of its uses.
    if (frame_.slots[value->id] != kNone) return;
    frame_.slots[value->id] = size_;
    // Every value at a multiple of 8: no type needs more, and scalars are read by words.
    size_ += (value_size(value->type) + 7) / 8 * 8;
    if (value->is_constant()) constants_.push_back(value);
  }
  void walk(const ir::Region& region) {
    for (const ir::Value* arg : region.args) place(arg);
    for (const ir::Op& op : region) {
      for (const ir::Value* value : op.operands)
        if (value->is_constant()) place(value);
      for (const ir::Value* value : op.results) place(value);
      // Other ways by which a local array may still be reached when its function has returned: stored in memory,
      // known by its address, or as the gradient of an array that came from the caller.
      if (op.code == OpCode::store) frame_.keeps_locals |= ir::has_array(op.operands.back()->type);
      if (op.code == OpCode::data_ptr || op.code == OpCode::with_gradient) frame_.keeps_locals = true;
      for (const ir::Region* nested : op.regions) walk(*nested);
    }
  }

  Frame& frame_;
  std::size_t size_ = 0;
  std::vector<const ir::Value*> constants_;
};

/// Counts one level of nesting for as long as it lives.
struct Depth {
  explicit Depth(int& depth) : depth(depth) { ++depth; }
  ~Depth() { --depth; }
  int& depth;
};

}  // namespace

Frame& Executor::frame_of(const ir::Function& function) {
  // Pointers and not frames in the map: references to frames stay good while callees add theirs.
  auto& slot = frames_[&function];
  if (!slot) {
    auto frame = std::make_unique<Frame>();
    frame->function = &function;
    FrameMaker{*frame};
    slot = std::move(frame);
  }
  return *slot;
}

void Executor::run(Frame& frame) {
  // The IR has no recursion; text that was written by hand may try. Two activations would share one frame.
  if (frame.active) throw Error("function '" + frame.function->name + "' calls itself", frame.function->loc);
  struct Scope {
    Executor& executor;
    Frame& frame;
    Frame* outer;
    Scope(Executor& e, Frame& f) : executor(e), frame(f), outer(e.frame_) { frame.active = true, e.frame_ = &frame; }
    // Also when an error or a stop is thrown through, so that no frame stays marked as active.
    ~Scope() {
      frame.active = false;
      executor.frame_ = outer;
      // To the caller, which frees them with its own, or hands them on in the same way.
      if (frame.keeps_locals && outer)
        for (auto& memory : frame.locals) outer->locals.push_back(std::move(memory));
      frame.locals.clear();
    }
  } scope(*this, frame);
  region(*frame.function->body);
}

void Executor::set_thread(std::int64_t linear) {
  linear_ = linear;
  std::int64_t rest = linear;
  // Last coordinate fastest, as on every executor. The first one takes what is left and needs no division.
  for (int k = context_.rank - 1; k >= 0; --k) {
    std::int64_t extent = std::max<std::int64_t>(1, context_.dims[k]);
    thread_[k] = k == 0 ? rest : rest % extent;
    rest /= extent;
  }
}

void Executor::take_turn() {
  if (--turns_ > 0) return;
  // How often is the runtime's decision; 0 says stop.
  turns_ = weft_rt_turns(&context_);
  if (turns_ == 0) throw Stopped{};
}

void Executor::error(const ir::Op& op, const std::string& what) {
  throw Error(to_string(op.loc) + ": " + what, op.loc);
}

void Executor::region(const ir::Region& region) {
  Depth level(depth_);
  // Each level is a few frames of C++: a thousand nested ifs in a function that a thousand others call
  // must be an error, not the end of the stack.
  if (depth_ > kMaxDepth) error(*region.first, "calls and control flow are nested too deeply to interpret");
  for (const ir::Op& op : region) {
    if (limits_.max_steps && ++steps_ > limits_.max_steps)
      error(op, "more than " + std::to_string(limits_.max_steps) + " operations executed");
    execute(op);
  }
}

void Executor::execute(const ir::Op& op) {
  // By class where one function treats all of it, then one by one. The second switch names every operation, so that
  // one that is added to a class of the first kind goes its way without a word here.
  switch (ir::class_of(op.code)) {
    case ir::OpClass::arith:
    case ir::OpClass::bits:
    case ir::OpClass::round: return elementwise(op);
    case ir::OpClass::compare: return compare(op);
    case ir::OpClass::math: return math(op);
    case ir::OpClass::data: return data(op);
    case ir::OpClass::memory: return memory(op);
    case ir::OpClass::whole:
    case ir::OpClass::control:
    case ir::OpClass::effect: break;
  }
  switch (op.code) {
    case OpCode::scale:
    case OpCode::unscale: return elementwise(op);
    case OpCode::dot: return dot(op);
    case OpCode::matmul: return matmul(op);
    case OpCode::transpose: return transpose(op);
    case OpCode::outer: return outer(op);
    case OpCode::less_bits:
    case OpCode::less_equal_bits: return mask_of(op);
    case OpCode::choose_bits: return choose_bits(op);
    case OpCode::if_: return if_(op);
    case OpCode::for_: return for_(op);
    case OpCode::while_: return while_(op);
    case OpCode::call: return call(op, *op.callee);
    case OpCode::tid: return set_bits(op.result(), std::uint32_t(op.imm < context_.rank ? thread_[op.imm] : 0));
    case OpCode::thread: return set_bits(op.result(), std::uint64_t(linear_));
    case OpCode::print:
    case OpCode::printf: return print(op);
    case OpCode::assert_:
      if (!bits(op.operand(0))) fail(op, 0, 0);
      return;
    case OpCode::check:
      if (!bits(op.operand(0))) fail(op, integer(op.operand(1)), integer(op.operand(2)));
      return;
    case OpCode::block_dim:
    case OpCode::block_thread:
    case OpCode::barrier:
    case OpCode::tally:
    case OpCode::warp:
    case OpCode::lane:
    case OpCode::vote:
    case OpCode::shuffle:
    case OpCode::warp_sync: return among_threads(op);
    case OpCode::on_gpu: return set_bits(op.result(), 0);
    case OpCode::objects: return set_bits(op.result(), context_.objects);
    case OpCode::breakpoint: return weft_rt_breakpoint(&context_);
    case OpCode::fence:
    case OpCode::meet: return;  // barriers are set
    case OpCode::texture: WEFT_UNREACHABLE("in code that only a GPU takes");
    case OpCode::any: return set_bits(op.result(), bits(op.operand(0)));
    case OpCode::running: return set_bits(op.result(), context_.stop.load(std::memory_order_relaxed) == 0);
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test: return;  // their region's owner reads the operands
    WEFT_CASES(WEFT_ARITH_OPS)
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_ROUND_OPS)
    WEFT_CASES(WEFT_MATH_OPS)
    WEFT_CASES(WEFT_DATA_OPS)
    WEFT_CASES(WEFT_MEMORY_OPS) WEFT_UNREACHABLE("executed by its class");
  }
}

void Executor::assign(std::span<ir::Value* const> to, std::span<ir::Value* const> from) {
  // The common case. One value may be carried into itself, hence memmove.
  if (to.size() == 1) {
    std::memmove(at(to[0]), at(from[0]), value_size(to[0]->type));
    return;
  }
  // Loops permute: `yield %b, %a` read and written one by one would give b twice. All are read before any is written.
  scratch_.clear();
  for (const ir::Value* value : from) {
    const std::byte* bytes = at(value);
    scratch_.insert(scratch_.end(), bytes, bytes + value_size(value->type));
  }
  const std::byte* next = scratch_.data();
  for (const ir::Value* value : to) {
    std::size_t size = value_size(value->type);
    if (size) std::memcpy(at(value), next, size);
    next += size;
  }
}

void Executor::if_(const ir::Op& op) {
  const ir::Region& side = *op.regions[bits(op.operand(0)) ? 0 : 1];
  region(side);
  assign(op.results, side.last->operands);
}

void Executor::for_(const ir::Op& op) {
  const ir::Region& body = *op.regions[0];
  std::int64_t lo = integer(op.operand(0)), hi = integer(op.operand(1)), step = integer(op.operand(2));
  auto u = [](std::int64_t v) { return std::uint64_t(v); };
  // The number of turns first, in unsigned arithmetic, which is right for all bounds: hi − lo of two i64 may need 64
  // bits. A loop that compares its counter could never end at the largest number.
  std::uint64_t trips = 0;
  if (step > 0 && hi > lo) trips = (u(hi) - u(lo) - 1) / u(step) + 1;
  if (step < 0 && hi < lo) trips = (u(lo) - u(hi) - 1) / (0 - u(step)) + 1;
  std::span<ir::Value* const> carried = body.args.subspan(1);
  // The body's yields have no values yet, so that results are taken from the start.
  if (trips == 0) return assign(op.results, op.operands.subspan(3));
  assign(carried, op.operands.subspan(3));
  for (std::uint64_t trip = 0; trip < trips; ++trip) {
    // Written anew in each turn: by multiplication nothing depends on what the body has left in the frame.
    set_bits(body.args[0], u(lo) + trip * u(step));
    region(body);
    take_turn();
    // Not behind the last turn: results are read from the same operands, which may be the carried arguments
    // themselves, `yield %b, %a` again; assigning first would swap them twice.
    if (trip + 1 < trips) assign(carried, body.last->operands);
  }
  assign(op.results, body.last->operands);
}

void Executor::while_(const ir::Op& op) {
  const ir::Region& test = *op.regions[0];
  const ir::Region& body = *op.regions[1];
  assign(test.args, op.operands);
  for (;;) {
    region(test);
    if (!bits(test.last->operand(0))) break;
    // Test and body have arguments of their own that mean the same carried values.
    assign(body.args, test.args);
    region(body);
    take_turn();
    assign(test.args, body.last->operands);
  }
  // The values with which the test failed.
  assign(op.results, test.args);
}

void Executor::call(const ir::Op& op, const ir::Function& function) {
  if (function.derives) error(op, "the derivative '" + function.name + "' has not been written yet");
  if (!function.native.empty())
    error(op, "the native function '" + function.name + "' can't be interpreted; compile the kernel");
  Frame& callee = frame_of(function);
  if (callee.active) error(op, "function '" + function.name + "' calls itself");
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ir::Value* param = function.params()[i];
    // The caller's frame is the current one until `run`, and is again behind it: `at` reads from there both times.
    std::memcpy(callee.at(param), at(op.operand(i)), value_size(param->type));
  }
  run(callee);
  const ir::Op& end = *function.body->last;
  for (std::size_t i = 0; i < op.results.size(); ++i)
    // From the callee's frame, which stays as its terminator left it until it is called again.
    std::memcpy(at(op.result(i)), callee.at(end.operand(i)), value_size(op.result(i)->type));
}

void Executor::print(const ir::Op& op) {
  std::vector<const Type*> types;
  for (const ir::Value* value : op.operands) types.push_back(value->type);
  // Formats are compiled once per operation, as generated code has them as constants.
  auto [it, fresh] = formats_.try_emplace(&op);
  if (fresh) {
    try {
      it->second = op.code == OpCode::print ? runtime::compile_print_format(op.text, types)
                                            : runtime::compile_printf_format(op.text, types);
    } catch (const std::invalid_argument& bad) {
      error(op, bad.what());
    }
  }
  std::vector<std::uint32_t> offsets = runtime::operand_offsets(types);
  // One block of memory with all operands, as compiled code hands it to the same function: lines come out the same.
  std::vector<std::uint64_t> block(offsets.back() / 8 + 1);
  for (std::size_t i = 0; i < types.size(); ++i)
    std::memcpy(reinterpret_cast<std::byte*>(block.data()) + offsets[i], at(op.operand(i)), types[i]->size());
  weft_rt_print(&context_, it->second.c_str(), linear_, block.data());
}

void Executor::fail(const ir::Op& op, std::int64_t index, std::int64_t extent) {
  // In a launch failures are recorded and the thread goes on, as in compiled code;
  // a single call has no record to write to.
  if (sites_) return weft_rt_fail(&context_, sites_->number.at(&op), linear_, index, extent);
  std::string what =
      op.code == OpCode::assert_ ? "assertion failed" : "check failed: " + std::string(name_of(op.check));
  if (!op.text.empty()) what += ": " + std::string(op.text);
  if (op.code == OpCode::check && op.check == ir::CheckKind::bounds)
    what += " (index " + std::to_string(index) + ", extent " + std::to_string(extent) + ")";
  error(op, what);
}

}  // namespace weft::interp
