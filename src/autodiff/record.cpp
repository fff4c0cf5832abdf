// Writing and reading the log: one walk over the kernel that knows where each site's words are.
#include "autodiff/record.h"

#include <algorithm>
#include <unordered_set>

#include "autodiff/float_leaves.h"
#include "autodiff/loop_shape.h"
#include "ir/builder.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

// A page is taken by one atomic addition: large enough that threads seldom do, small enough that a thread which logs
// two numbers wastes little.
constexpr std::uint32_t kLeastPageWords = 64;
constexpr std::uint32_t kLinkWords = 2;  // at a page's end: the number of the next page's first word

bool in_loop(const Op& op) {
  for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent)
    if (is_loop(*at->parent_op)) return true;
  return false;
}

bool in_test(const Op& op) {
  for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent)
    if (at->parent_op->code == OpCode::while_ && at->parent_op->regions[0] == at) return true;
  return false;
}

/// Words of a value; 0 if it holds what can't be written down.
std::uint32_t words_of(const Type* type) {
  if (type->is_numeric() || type->is_bool()) {
    // Smaller numbers take a whole word: arrays of words are simple, and logs are small.
    std::uint32_t each = (type->is_scalar() ? type : type->element())->size() > 4 ? 2 : 1;
    return each * (type->is_composite() ? type->component_count() : 1);
  }
  if (!type->is_struct() && !type->is_tuple()) return 0;
  std::uint32_t total = 0;
  for (const Field& field : type->fields()) {
    // A struct with one field that can't be written down can't be either: an address means nothing in another run.
    std::uint32_t part = words_of(field.type);
    if (!part) return 0;
    total += part;
  }
  return total;
}

/// Writing and reading are one class, so that both count words, turn pages and carry the cursor alike. A
/// site in a loop, before and after (`write`):
///
///   for i (s = s0) {                   for i (s = s0, c = -1) {
///     v = load a[i]                      v = load a[i]
///     …                                  c1 = if c has no room { new page } else { c }
///     yield s1                           store pages[c1], v
///                                        …  yield s1, c1 + 1
///   }                                  }
class Log {
 public:
  Log(ir::Function& kernel, const LogPlan& plan, bool write)
      : kernel_(kernel), plan_(plan), write_(write), b_(kernel, kernel.body) {
    SiteNumbers numbers = number_sites(kernel);
    std::unordered_set<std::uint32_t> wanted(plan.sites.begin(), plan.sites.end());
    ir::walk(*kernel.body, [&](const Op& op) {
      auto it = numbers.find(&op);
      if (it == numbers.end() || !wanted.contains(it->second)) return;
      sites_.insert(&op);
      // Only sites in loops need a cursor, and with it every operation around them must hand it on.
      if (!in_loop(op)) return;
      for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent) moving_.insert(at->parent_op);
    });
    for (std::size_t k = 0; k < kLogParams; ++k)
      params_[k] = kernel.add_argument(kernel.body, log_param_type(k), kLogParamNames[k]);
  }

  std::unordered_map<const Op*, Value*> run() {
    b_.set_place(kernel_.body, kernel_.body->first);
    thread_ = b_.op(OpCode::thread, {})->result();
    // Negative: no page yet. A thread that never comes to such a site takes none.
    walk(*kernel_.body, b_.i64(-1));
    return std::move(values_);
  }

 private:
  Value* walk(Region& region, Value* cursor) {
    for (Op& op : region) {
      if (sites_.contains(&op)) {
        b_.set_loc(op.loc);
        cursor = site(op, cursor);
      } else if (moving_.contains(&op)) {
        cursor = is_loop(op) ? loop(op, cursor) : choice(op, cursor);
      } else {
        for (Region* inner : op.regions) walk(*inner, cursor);  // sites with a fixed place, if any
      }
    }
    return cursor;
  }

  /// An `if` around sites in loops: its cursor behind is that of the side taken.
  Value* choice(Op& op, Value* cursor) {
    for (Region* side : op.regions) {
      // Both sides yield a cursor, also the one that writes nothing: else what follows could not know where it is.
      Value* after = walk(*side, cursor);
      kernel_.append_operand(side->last, after);
    }
    return kernel_.append_result(&op, types::i64());
  }

  /// The cursor becomes one more carried value of the source itself, before it is differentiated. To the reverser it
  /// is state like any other, which snapshots restore.
  Value* loop(Op& op, Value* cursor) {
    kernel_.append_operand(&op, cursor);
    for (Region* region : op.regions) {
      // The test of a `while` has the argument as well, since both regions have the same ones, but does not move it.
      Value* at = kernel_.add_argument(region, types::i64());
      // A test is pure and can't write; plan_log refuses sites there.
      if (region != op.regions.back()) continue;
      Value* after = walk(*region, at);
      kernel_.append_operand(region->last, after);
    }
    return kernel_.append_result(&op, types::i64());
  }

  Value* site(Op& op, Value* cursor) {
    // Not 0: plan_log has reported such sites, and no form is made then.
    words_ = words_of(op.result()->type);
    // Written behind the operation, when its result is there; read before it, for the reading form has no use for the
    // operation.
    b_.set_place(op.parent, write_ ? op.next : &op);
    if (in_loop(op)) {
      cursor_ = page(cursor);
    } else {
      cursor_ = nullptr;
      fixed_ = fixed_next_;
      // In the order of the text, which is the same in the writing form and in the reading one: both count up alike.
      fixed_next_ += words_;
    }
    at_ = 0;
    if (write_)
      put(op.result());
    else
      values_[&op] = get(op.result()->type);
    // Fixed places don't move the cursor that comes by on its way to sites in loops.
    return cursor_ ? b_.binary(OpCode::add, cursor_, b_.i64(words_)) : cursor;
  }

  /// The cursor where this site's words are: on the next page if this one has no room for them.
  Value* page(Value* cursor) {
    const std::int64_t size = plan_.page_words;
    // Pages begin at multiples of their size, a power of two, so the place in the page is a mask away. A value never
    // straddles pages.
    Value* in_page = b_.binary(OpCode::bit_and, cursor, b_.i64(size - 1));
    // For a cursor of −1 the mask gives the last word of a page, which never has room; `none` is asked for all the
    // same, since it also says where the page's number goes.
    Value* fits = b_.binary(OpCode::le, in_page, b_.i64(size - kLinkWords - words_));
    Value* none = b_.binary(OpCode::lt, cursor, b_.i64(0));
    Value* turn = b_.binary(OpCode::bit_or, none, b_.unary(OpCode::bit_not, fits));
    const Type* one[] = {types::i64()};
    Op* choice = b_.if_op(turn, one);
    Region* outer = b_.region();
    Op* behind = choice->next;
    b_.set_place(choice->regions[1]);
    b_.yield({&cursor, 1});
    b_.set_place(choice->regions[0]);
    // Where the page that is left names its successor. Without a page (cursor −1) it lies nowhere, and is not used.
    Value* link = b_.binary(OpCode::add, b_.binary(OpCode::bit_and, cursor, b_.i64(-size)), b_.i64(size - kLinkWords));
    Value* next = write_ ? new_page(none, link) : next_page(none, link);
    b_.yield({&next, 1});
    b_.set_place(outer, behind);
    return choice->result();
  }

  Value* new_page(Value* none, Value* link) {
    Value* zero[] = {b_.i64(0)};
    Value* size = b_.i64(plan_.page_words);
    // Which pages a thread gets hangs on the others; which values lie in them does not.
    Value* taken = b_.atomic(ir::AtomicKind::add, params_[3], zero, 0, {}, {}, size);
    // A full slab goes on counting, so that one knows how much was missing, and all write to its first page.
    Value* room = b_.binary(OpCode::le, b_.binary(OpCode::add, taken, size), b_.dim(params_[2], 0, types::i64()));
    // Such a run's log is of no use, and the tape runs the launch again with more room, or says how much was missing;
    // here it only matters that nothing is written out of bounds.
    Value* page = b_.select(room, taken, b_.i64(0));
    Op* first = b_.if_op(none, {});
    Region* outer = b_.region();
    b_.set_place(first->regions[0]);
    Value* thread[] = {thread_};
    // The first page of a thread has no predecessor that could name it.
    b_.store(params_[1], thread, 0, {}, {}, page);
    b_.yield({});
    b_.set_place(first->regions[1]);
    Value* bits = b_.bitcast(page, types::u64());
    store_word(params_[2], link, b_.cast(bits, types::u32()));
    store_word(params_[2], b_.binary(OpCode::add, link, b_.i64(1)), b_.cast(high(bits), types::u32()));
    b_.yield({});
    b_.set_place(outer);
    return page;
  }

  /// The way that new_page has laid, followed by whoever reads: nothing is consumed, so it can be followed again.
  Value* next_page(Value* none, Value* link) {
    const Type* one[] = {types::i64()};
    Op* first = b_.if_op(none, one);
    Region* outer = b_.region();
    b_.set_place(first->regions[0]);
    Value* thread[] = {thread_};
    Value* begin = b_.load(params_[1], thread, 0);
    b_.yield({&begin, 1});
    b_.set_place(first->regions[1]);
    Value* lower = load_word(params_[2], link);
    Value* upper = load_word(params_[2], b_.binary(OpCode::add, link, b_.i64(1)));
    Value* next = b_.bitcast(joined(lower, upper), types::i64());
    b_.yield({&next, 1});
    b_.set_place(outer);
    return first->result();
  }

  // -- words
  Value* high(Value* bits) { return b_.binary(OpCode::shr, bits, b_.constant(types::u64(), 32)); }
  Value* joined(Value* lower, Value* upper) {
    Value* wide = b_.binary(OpCode::shl, b_.cast(upper, types::u64()), b_.constant(types::u64(), 32));
    return b_.binary(OpCode::bit_or, wide, b_.cast(lower, types::u64()));
  }
  void store_word(Value* array, Value* at, Value* word) { b_.store(array, {&at, 1}, 0, {}, {}, word); }
  Value* load_word(Value* array, Value* at) { return b_.load(array, {&at, 1}, 0); }

  void put_word(Value* word) {
    if (cursor_) return store_word(params_[2], b_.binary(OpCode::add, cursor_, b_.i64(at_++)), word);
    // Word by word, threads side by side: lanes and warps write consecutive memory.
    Value* at[] = {b_.i64(fixed_ + at_++), thread_};
    b_.store(params_[0], at, 0, {}, {}, word);
  }
  Value* get_word() {
    if (cursor_) return load_word(params_[2], b_.binary(OpCode::add, cursor_, b_.i64(at_++)));
    Value* at[] = {b_.i64(fixed_ + at_++), thread_};
    return b_.load(params_[0], at, 0);
  }

  void put_scalar(Value* value) {
    const Type* type = value->type;
    // A bool has no bits to cast: it is 0 or 1 as a number.
    if (type->is_bool()) return put_word(b_.cast(value, types::u32()));
    Value* bits = b_.bitcast(value, bits_type(type));
    put_word(b_.cast(bits, types::u32()));
    // Lower word first, as get_scalar reads them.
    if (type->size() == 8) put_word(b_.cast(high(bits), types::u32()));
  }
  Value* get_scalar(const Type* type) {
    // In a statement of its own: the lower word is read first on every compiler.
    Value* word = get_word();
    if (type->is_bool()) return b_.binary(OpCode::ne, word, b_.zero(types::u32()));
    if (type->size() == 8) return b_.bitcast(joined(word, get_word()), type);
    return b_.bitcast(b_.cast(word, bits_type(type)), type);
  }

  static std::vector<ir::PathStep> component(const Type* type, std::uint32_t k) {
    auto step = [](std::uint32_t i) { return ir::PathStep{ir::PathStep::index, false, false, std::int32_t(i)}; };
    if (type->is_mat()) return {step(k / type->cols()), step(k % type->cols())};
    return {step(k)};
  }
  void put(Value* value) {
    const Type* type = value->type;
    if (type->is_scalar()) return put_scalar(value);
    if (type->is_composite()) {
      for (std::uint32_t k = 0; k < type->component_count(); ++k) put_scalar(b_.extract(value, component(type, k)));
      return;
    }
    for (std::size_t k = 0; k < type->fields().size(); ++k) put(b_.extract(value, std::int32_t(k)));
  }
  Value* get(const Type* type) {
    if (type->is_scalar()) return get_scalar(type);
    std::vector<Value*> parts;
    if (type->is_composite())
      for (std::uint32_t k = 0; k < type->component_count(); ++k) parts.push_back(get_scalar(type->element()));
    else
      for (const Field& field : type->fields()) parts.push_back(get(field.type));
    return b_.construct(type, parts);
  }

  ir::Function& kernel_;
  const LogPlan& plan_;
  const bool write_;
  ir::Builder b_;
  std::unordered_set<const Op*> sites_, moving_;  // moving: operations whose regions move the cursor
  std::unordered_map<const Op*, Value*> values_;
  Value* params_[kLogParams] = {};
  Value* thread_ = nullptr;
  Value* cursor_ = nullptr;  // null: the site has a fixed place
  std::uint32_t words_ = 0, fixed_ = 0, fixed_next_ = 0;
  std::int64_t at_ = 0;
};

}  // namespace

SiteNumbers number_sites(const ir::Function& function) {
  SiteNumbers numbers;
  ir::walk(*function.body, [&](const Op& op) {
    // Numbers are by position, not by pointer: the forms are made from copies of one IR, and have to agree on them
    // across compilations.
    const bool call = op.code == OpCode::call && op.results.size() == 1;
    if (op.code == OpCode::load || op.code == OpCode::atomic || call)
      numbers.emplace(&op, static_cast<std::uint32_t>(numbers.size()));
  });
  return numbers;
}

LogPlan plan_log(const ir::Function& kernel, std::vector<std::uint32_t> sites, DiagnosticSink& sink) {
  LogPlan plan;
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  plan.sites = std::move(sites);
  SiteNumbers numbers = number_sites(kernel);
  std::unordered_set<std::uint32_t> wanted(plan.sites.begin(), plan.sites.end());
  std::uint32_t largest = 0;
  ir::walk(*kernel.body, [&](const Op& op) {
    auto it = numbers.find(&op);
    if (it == numbers.end() || !wanted.contains(it->second)) return;
    std::uint32_t words = words_of(op.result()->type);
    if (!words || in_test(op)) {
      Diagnostic& d = sink.report(DiagCode::no_gradient, op.loc,
                                  words ? "the backward pass needs the value that this condition of a while loop read, "
                                          "and the kernel may overwrite it"
                                        : "the backward pass needs the array found here, and the kernel may change it");
      d.notes.push_back({{},
                         words ? "read it in the loop's body, into a variable that the condition tests"
                               : "pass the array as a parameter of its own"});
    }
    if (in_loop(op))
      largest = std::max(largest, words);
    else
      plan.fixed_words += words;
  });
  if (largest)
    // The largest value must fit beside the link.
    for (plan.page_words = kLeastPageWords; plan.page_words < largest + kLinkWords;) plan.page_words *= 2;
  return plan;
}

const Type* log_param_type(std::size_t index) {
  switch (index) {
    case 0: return types::array(types::u32(), 2);
    case 2: return types::array(types::u32(), 1);
    default: return types::array(types::i64(), 1);
  }
}

void add_log_writes(ir::Function& kernel, const LogPlan& plan) { Log(kernel, plan, true).run(); }

std::unordered_map<const Op*, Value*> add_log_reads(ir::Function& kernel, const LogPlan& plan) {
  return Log(kernel, plan, false).run();
}

}  // namespace weft::autodiff
