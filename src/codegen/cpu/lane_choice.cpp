// Size measures of kernels, and what they say about lanes.
#include "codegen/cpu/lane_choice.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/uniformity.h"
#include "analysis/uses.h"
#include "codegen/codegen.h"
#include "codegen/cpu/spin_loops.h"
#include "codegen/cpu/tile_lanes.h"
#include "codegen/emit/guards.h"
#include "codegen/emit/lane_pointers.h"
#include "codegen/emit/limits.h"
#include "codegen/emit/together.h"
#include "codegen/target.h"
#include "ir/fixed_memory.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "types/handle.h"

namespace weft::codegen {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

template <class Fn>
void each_op(const Region& region, const Fn& fn) {
  for (const Op& op : region) {
    fn(op);
    for (const Region* inner : op.regions) each_op(*inner, fn);
  }
}

std::uint64_t weight_of(const Op& op) {
  std::uint64_t n = 1;
  for (const Value* result : op.results)
    if (result->type->is_numeric()) n = std::max<std::uint64_t>(n, result->type->component_count());
  for (const Value* operand : op.operands)
    if (operand->type->is_composite()) n = std::max<std::uint64_t>(n, operand->type->component_count());
  // Large composites are loops over memory: their code does not grow with them.
  if (n > kMaxRegisterComponents) return 8;
  // A component of a product is a sum of that many.
  if (op.code == OpCode::matmul) n *= std::max(op.operand(0)->type->cols(), 2u);
  return n;
}

void add_memory(const ir::Function& function, std::unordered_map<const ir::Function*, std::uint64_t>& known,
                PrivateMemory& out);

std::uint64_t callee_memory(const ir::Function& function,
                            std::unordered_map<const ir::Function*, std::uint64_t>& known) {
  // Each function once, though many call it: a tree of double calls would take exponential time.
  auto [it, fresh] = known.try_emplace(&function, 0);
  if (!fresh) return it->second;
  PrivateMemory own;
  add_memory(function, known, own);
  return known[&function] = own.bytes;
}

void add_memory(const ir::Function& function, std::unordered_map<const ir::Function*, std::uint64_t>& known,
                PrivateMemory& out) {
  std::uint64_t deepest_call = 0, largest = 0;
  each_op(*function.body, [&](const Op& op) {
    std::uint64_t bytes = 0;
    if (op.code == OpCode::local && !ir::is_block_memory(op)) {
      bytes = op.result()->type->element()->size();
      // No overflow: beyond the limit of a thread the exact number means nothing, and it stays as it is.
      for (std::int64_t n : op.ints) bytes = n < 0 ? 0 : bytes > kMaxPrivateBytes ? bytes : bytes * std::uint64_t(n);
    }
    for (const Value* result : op.results)
      // Blocks of codegen are private memory as well.
      if (result->type->is_composite() && result->type->component_count() > kMaxRegisterComponents)
        bytes += result->type->size();
    if (op.code == OpCode::call) deepest_call = std::max(deepest_call, callee_memory(*op.callee, known));
    if (bytes > largest) largest = bytes, out.largest = &op;
    out.bytes = std::min<std::uint64_t>(out.bytes + bytes, std::uint64_t(1) << 60);
  });
  // Frames of calls that follow each other share their place; those inside each other do not.
  out.bytes += deepest_call;
}

bool is_private(const Value* array) { return ir::origin_of(array).kind == ir::Origin::Kind::local; }

/// Rough costs of a thread, alone and as one of many lanes. What runs lane by lane costs a little more there.
struct Cost {
  double one = 0, lanes = 0;
  double numbers = 0, wide = 0;  // numeric results, and those of 64 bits
};

/// Whether it reads or writes an element of memory that is not the thread's own, and what that is.
bool is_access(const Op& op) {
  return (op.code == OpCode::load || op.code == OpCode::store) && !is_private(op.operand(0));
}
const Type* accessed(const Op& access) {
  return access.code == OpCode::load ? access.result()->type : access.operands.back()->type;
}
/// Whether an access goes to a place that is looked up: neighbouring lanes may go anywhere.
bool is_looked_up(const Op& access, const analysis::Uniformity& shapes) {
  for (std::size_t k = 1; k <= access.operand(0)->type->rank(); ++k)
    if (shapes.shape(access.operand(k)) == analysis::kVarying) return true;
  return false;
}

/// How neighbouring threads differ in a group that lies in one row.
analysis::LaneEntry in_row(const ir::Function& kernel) {
  analysis::LaneEntry entry;
  entry.tids[std::max<int>(kernel.form.rank, 1) - 1] = entry.thread = 1;
  return entry;
}

/// Adds up costs. Rough on purpose: all that is used is which of the two sums is larger, and near that border either choice
/// is fine.
class CostSum {
 public:
  CostSum(const ir::Function& kernel, int lanes, const TargetTraits& traits)
      : entry_(in_row(kernel)),
        shapes_(kernel, entry_),
        uses_(analysis::use_counts(kernel)),
        lanes_(lanes),
        quick_gathers_(traits.quick_gathers),
        quick_masks_(traits.gathers) {
    add(*kernel.body, 1.0, 1.0, false);
  }
  const Cost& cost() const { return cost_; }

 private:
  static constexpr double kLoopTurns = 8, kMath = 32, kAtomic = 8, kLaneByLane = 1.1, kVectorGain = 0.7;
  /// An element that every lane reads from another place, without a quick instruction for that. Measured on NEON: a kernel that
  /// does little else is 1.2 times as fast with one lane. Elements of several numbers come by rows, which are turned. On a Cascade Lake
  /// kernels of MuJoCo Warp that loop over such elements are up to six times as fast with one lane as with 32.
  static constexpr double kGather = 3.6, kGatherPart = 2.0;
  /// A number that some lanes access and others don't, without an instruction for that: one lane after the other, with a branch.
  static constexpr double kMasked = 3.0;
  /// Turns of a loop that lanes leave at different times, by those of the average lane; and what they do under masks.
  static constexpr double kParted = 2.5;
  /// The part of its `if`s that a thread alone goes through, and that a group does: one with no lane for it goes by.
  static constexpr double kTaken = 0.6, kEntered = 0.7;

  /// From the operand `first` on, all are indices of one place for all lanes.
  bool in_one_place(const Op& op, std::size_t first, std::size_t count) const {
    if (!shapes_.uniform(op.operand(0))) return false;
    for (std::size_t k = first; k < first + count; ++k)
      if (!shapes_.uniform(op.operand(k))) return false;
    return true;
  }
  bool is_gather(const Op& op, bool masked) const {
    if (quick_gathers_) return false;
    // Under a mask elements of many numbers come so wherever they lie.
    if (masked && op.code == OpCode::load && weight_of(op) > std::uint64_t(kMaxInterleave)) return true;
    return is_looked_up(op, shapes_);
  }
  double access_cost(const Op& op, double weight, bool masked) const {
    if (in_one_place(op, 1, op.operand(0)->type->rank()) && op.code == OpCode::load) return weight / lanes_;
    double cost = weight / (lanes_ * kVectorGain);
    if (is_gather(op, masked)) cost = weight > 1 ? weight * kGatherPart : kGather;
    return masked && !quick_masks_ ? std::max(cost, weight * kMasked) : cost;
  }
  /// Whether lanes may run it different numbers of times.
  bool is_parted(const Op& loop) const {
    if (loop.code == OpCode::for_)
      return !shapes_.uniform(loop.operand(0)) || !shapes_.uniform(loop.operand(1)) ||
             !shapes_.uniform(loop.operand(2));
    const Op* test = loop.regions[0]->terminator();
    return test && !shapes_.uniform(test->operand(0));
  }

  /// `one` and `lanes`: how often a thread alone, and the lanes together, come here; `masked`: not all of them do.
  void add(const Region& region, double one, double lanes, bool masked) {
    for (const Op& op : region) {
      if (op.code == OpCode::tid || op.code == OpCode::thread || ir::effect_of(op.code) == ir::Effect::end) continue;
      double weight = double(weight_of(op));
      if (ir::class_of(op.code) == ir::OpClass::math) weight *= kMath;
      if (op.code == OpCode::atomic) {
        weight *= kAtomic;
        // Lanes that meet in one place are summed up first. Elsewhere no gain from lanes, and a little loss: values are taken
        // out of vectors first.
        bool joined = op.operand(0)->type->is_array() && in_one_place(op, 1, op.operand(0)->type->rank()) &&
                      !uses_[op.result()->id];
        cost_.lanes += lanes * (joined ? weight / (lanes_ * kVectorGain) : weight * kLaneByLane);
      } else if (is_access(op)) {
        cost_.lanes += lanes * access_cost(op, weight, masked);
      } else {
        cost_.lanes += lanes * weight / (lanes_ * kVectorGain);
      }
      cost_.one += one * weight;
      if (!op.results.empty() && op.result()->type->is_numeric() && op.regions.empty()) {
        cost_.numbers += one * weight;
        if (scalar_bits(op.result()->type->scalar_kind()) == 64) cost_.wide += one * weight;
      }
      if (op.code == OpCode::for_ || op.code == OpCode::while_) {
        const bool parted = is_parted(op);
        for (const Region* inner : op.regions)
          add(*inner, one * kLoopTurns, lanes * kLoopTurns * (parted ? kParted : 1), masked || parted);
      } else if (op.code == OpCode::if_ && !shapes_.uniform(op.operand(0)) &&
                 (masked || !is_about_place(op.operand(0)))) {
        for (const Region* inner : op.regions) add(*inner, one * kTaken, lanes * kEntered, true);
      } else {
        for (const Region* inner : op.regions) add(*inner, one, lanes, masked);
      }
    }
  }

  const analysis::LaneEntry entry_;
  const analysis::Uniformity shapes_;
  const std::vector<std::uint32_t> uses_;
  const int lanes_;
  const bool quick_gathers_, quick_masks_;
  Cost cost_;
};

/// Branches at which lanes may part.
std::uint64_t parting_branches(const ir::Function& kernel) {
  const analysis::LaneEntry entry = in_row(kernel);
  const analysis::Uniformity shapes(kernel, entry);
  std::uint64_t branches = 0;
  each_op(*kernel.body, [&](const Op& op) { branches += op.code == OpCode::if_ && !shapes.uniform(op.operand(0)); });
  return branches;
}

/// Whether it takes elements of several numbers from rows and puts such back, with no more than a few dozen operations for each
/// number in between, and nothing that others wait for: no loop, no elementary function, no place that is looked up.
bool streams_elements(const ir::Function& kernel) {
  constexpr std::uint64_t kMostForEach = 24;
  if (!is_straight(kernel)) return false;
  const analysis::LaneEntry entry = in_row(kernel);
  const analysis::Uniformity shapes(kernel, entry);
  bool streams = true;
  std::uint64_t numbers = 0, of_elements = 0, weight = 0;
  each_op(*kernel.body, [&](const Op& op) {
    weight += weight_of(op);
    streams = streams && op.code != OpCode::atomic && ir::class_of(op.code) != ir::OpClass::math;
    if (!is_access(op)) return;
    streams = streams && !is_looked_up(op, shapes);
    const Type* element = accessed(op);
    const std::uint64_t count = element->is_numeric() ? element->component_count() : 1;
    numbers += count;
    if (count > 1) of_elements += count;
  });
  return streams && 2 * of_elements > numbers && weight <= kMostForEach * numbers;
}

/// Whether it visits the neighbours that hash grids find: a loop reads numbers from the grid's memory, and these lead all
/// over the arrays. Each lane has another number of them as well.
bool visits_neighbours(const ir::Function& kernel) {
  bool grid = false, visits = false;
  each_op(*kernel.body, [&](const Op& op) {
    grid = grid || (op.code == OpCode::handle && HandleUse(op.imm).kind == HandleKind::hash_grid);
    if (op.code != OpCode::for_ && op.code != OpCode::while_) return;
    each_op(*op.regions.back(), [&](const Op& inner) {
      visits = visits || (inner.code == OpCode::load && inner.result()->type == types::i32() &&
                          ir::origin_of(inner.operand(0)).kind == ir::Origin::Kind::fixed);
    });
  });
  return grid && visits;
}

/// Whether it asks for objects of a kind.
bool uses_objects(const ir::Function& kernel, HandleKind kind) {
  bool uses = false;
  each_op(*kernel.body,
          [&](const Op& op) { uses = uses || (op.code == OpCode::handle && HandleUse(op.imm).kind == kind); });
  return uses;
}

/// The same, or calls a function that does.
bool reaches_objects(const ir::Function& function, HandleKind kind, std::unordered_set<const ir::Function*>& seen) {
  if (!seen.insert(&function).second) return false;
  bool reaches = uses_objects(function, kind);
  each_op(*function.body, [&](const Op& op) {
    reaches = reaches || (op.code == OpCode::call && reaches_objects(*op.callee, kind, seen));
  });
  return reaches;
}

/// The library's functions for what the table of a volume does not know: all that runs lane by lane there. Samples seldom call them.
bool is_walk_of_volumes(const ir::Function& function) {
  return function.from_library && function.name.starts_with("_volume_");
}

/// Whether samples of volumes read one voxel each, not all around a place: the table's entry, and what that leads to.
bool reads_single_voxels(const ir::Function& kernel) {
  std::uint32_t volumes = 0, loads = 0;
  each_op(*kernel.body, [&](const Op& op) {
    volumes += op.code == OpCode::handle && HandleUse(op.imm).kind == HandleKind::volume;
    const Value* array = op.code == OpCode::load ? op.operand(0) : nullptr;
    loads += array && array->kind == ir::ValueKind::result && array->op->code == OpCode::from_ptr &&
             array->op->imm == ir::kFixedLoose;
  });
  // One more for the value that a walk finds.
  return loads <= 3 * volumes;
}

/// Whether it has loops other than those of library functions that stand in it.
bool has_own_loops(const ir::Function& kernel) {
  bool own = false;
  each_op(*kernel.body, [&](const Op& op) {
    if (op.code == OpCode::for_ || op.code == OpCode::while_)
      own = own || (op.loc.file && op.loc.file == kernel.loc.file);
  });
  return own;
}

/// Whether texels of one number are read in pairs.
bool reads_pairs(const ir::Function& kernel) {
  bool pairs = false;
  each_op(*kernel.body,
          [&](const Op& op) { pairs = pairs || (op.code == OpCode::load && ir::is_runs(op.operand(0))); });
  return pairs;
}

/// Whether texels are vectors: read here, or given by a function of the library.
bool samples_vectors(const ir::Function& kernel) {
  bool vectors = false;
  each_op(*kernel.body, [&](const Op& op) {
    const bool texel = (op.code == OpCode::load && !ir::is_runs(op.operand(0)) &&
                        ir::origin_of(op.operand(0)).kind == ir::Origin::Kind::fixed) ||
                       (op.code == OpCode::call && op.callee->from_library);
    for (const Value* result : op.results) vectors = vectors || (texel && result->type->is_composite());
  });
  return vectors;
}

/// Whether a loop asks a tree for one item after the other. Such a step runs lane by lane, with a query of some twenty words in
/// and five out for every item, and lanes have different numbers of items.
bool visits_tree_items(const ir::Function& kernel) {
  bool visits = false;
  each_op(*kernel.body, [&](const Op& op) {
    if (op.code != OpCode::for_ && op.code != OpCode::while_) return;
    for (const Region* region : op.regions)
      each_op(*region, [&](const Op& inner) {
        if (inner.code != OpCode::call || !inner.callee->lanewise) return;
        for (const Value* operand : inner.operands) visits = visits || operand->type->is_struct();
      });
  });
  return visits;
}

}  // namespace

constexpr int kLanesTogether = 8;
constexpr std::uint64_t kMaxTogetherWeight = 1000;
/// Kernels above this weight get one body.
constexpr std::uint64_t kMaxTwoBodyWeight = 4000;

/// Several registers for a value. One operation after the other waits for the one before, some four cycles each, while the
/// processor could begin two to four in every cycle; more lanes give it those. It also looks ahead into the next group, but
/// no further than a few hundred instructions, and not at all in a loop that carries its values. What stands against more
/// lanes is code (compile times grow with them) and registers that are spilled.
///
/// Measured by bench/python/lanes.py (docs/performance.md has the tables). Neoverse V1: 16 lanes are best or within a tenth of
/// it for 17 of 21 kernels, up to 3.2 times as fast as 4. Xeon with AVX-512: 32 for 20 of 21, up to 1.8 times as fast as 16; with AVX2
/// alone, 32 for 20 of 21, up to 1.6 times as fast as 16.
/// Streams of elements take 16 on both: of 41 kernels of vectors, quaternions and matrices on a Cascade Lake the median is as fast
/// as with 32 from the first caches and 1.07 times from memory, of their adjoints 1.05 and 1.13, with AVX2 alone 1.03 and 1.15; a few are
/// up to a sixth slower. Compiling them takes six tenths of the time.
/// Registers decide less than one would think: spills are stores and loads that other pipes do.
int wide_lanes(const ir::Function& kernel, int natural) {
  constexpr std::uint64_t kMaxFourfoldWeight = 200, kMaxTwofoldWeight = 700, kMaxParts = 32;
  constexpr std::uint64_t kMaxWideBranches = 3;
  constexpr int kMostStreaming = 16;
  const int most = natural >= 8 ? 32 : 16;
  if (!has_whole_body(kernel)) return natural;
  std::uint64_t weight = kernel_weight(kernel), parts = 1;
  bool straight = true;
  each_op(*kernel.body, [&](const Op& op) {
    straight = straight && op.regions.empty();
    if (op.code == OpCode::load && op.result()->type->is_composite())
      parts = std::max<std::uint64_t>(parts, op.result()->type->component_count());
  });
  // Each branch at which lanes part is code under masks, of as many registers; with AVX2 and AVX-512 LLVM takes 100 to 500 ms for such kernels, twice the time
  // of one register's worth, while lanes that part leave less to gain. None of those in lanes.py has more than two.
  if (natural >= 8 && parting_branches(kernel) > kMaxWideBranches) return natural;
  int lanes = weight <= kMaxFourfoldWeight ? 4 * natural : weight <= kMaxTwofoldWeight ? 2 * natural : natural;
  std::uint64_t memory = private_memory(kernel).bytes;
  auto too_many = [&](int n) {
    // Elements of many parts are taken apart as they are read, and fill all registers in straight code.
    return n > most || memory * unsigned(n) > kMaxLanePrivateBytes ||
           (straight && parts * unsigned(n) >= kMaxParts * unsigned(natural));
  };
  while (lanes > natural && too_many(lanes)) lanes /= 2;
  return lanes > kMostStreaming && streams_elements(kernel) ? kMostStreaming : lanes;
}

bool has_many_branches(const ir::Function& kernel) {
  constexpr std::uint64_t kMany = 4;
  return parting_branches(kernel) >= kMany;
}

bool accesses_narrow(const ir::Function& kernel) {
  bool narrow = false;
  each_op(*kernel.body, [&](const Op& op) {
    if (!is_access(op)) return;
    const Type* type = accessed(op);
    narrow = narrow || !type->is_numeric() || scalar_bits(type->scalar_kind()) < 32;
  });
  return narrow;
}

bool has_whole_body(const ir::Function& kernel) {
  // Beside the work of a block a mask costs nothing, and a body takes LLVM long.
  return !kernel.form.strided && !calls_lanewise(kernel) && kernel_weight(kernel) <= kMaxTwoBodyWeight &&
         !ir::find_tile_memory(*kernel.body);
}

std::uint64_t kernel_weight(const ir::Function& function) {
  std::uint64_t total = 0;
  each_op(*function.body, [&](const Op& op) { total += weight_of(op); });
  return total;
}

bool is_straight(const ir::Function& function) {
  bool straight = true;
  each_op(*function.body, [&](const Op& op) {
    if (op.code == OpCode::for_ || op.code == OpCode::while_ || op.code == OpCode::call) straight = false;
  });
  return straight;
}

/// Few operations without loops and calls: the threads of a rest that run one
/// by one then take no time that anyone sees.
bool is_light(const ir::Function& function) {
  constexpr std::uint64_t kMaxLightWeight = 400;
  return is_straight(function) && kernel_weight(function) <= kMaxLightWeight;
}

std::uint64_t words_read(const ir::Function& kernel) {
  std::uint64_t words = 0;
  bool straight = true;
  each_op(*kernel.body, [&](const Op& op) {
    straight &=
        op.code != OpCode::for_ && op.code != OpCode::while_ && op.code != OpCode::call && op.code != OpCode::atomic;
    if (op.code == OpCode::load && !is_private(op.operand(0))) words += (op.result()->type->size() + 3) / 4;
  });
  return straight ? words : 0;
}

PrivateMemory private_memory(const ir::Function& function) {
  PrivateMemory out;
  std::unordered_map<const ir::Function*, std::uint64_t> known;
  add_memory(function, known, out);
  return out;
}

/// Whether it calls a function that does the work of many lanes at once.
bool calls_together(const ir::Function& kernel) {
  bool calls = false;
  each_op(*kernel.body, [&](const Op& op) {
    calls = calls || (op.code == OpCode::call && op.callee->lanewise && together_form(*op.callee));
  });
  return calls;
}

bool calls_lanewise(const ir::Function& kernel) {
  bool calls = false;
  each_op(*kernel.body, [&](const Op& op) {
    calls = calls || (op.code == OpCode::call && op.callee->lanewise && !is_walk_of_volumes(*op.callee));
  });
  return calls;
}

bool calls_native(const ir::Function& function) {
  std::unordered_set<const ir::Function*> seen = {&function};
  std::vector<const ir::Function*> work = {&function};
  while (!work.empty()) {
    const ir::Function* next = work.back();
    work.pop_back();
    if (!next->native.empty()) return true;
    each_op(*next->body, [&](const Op& op) {
      if (op.code == OpCode::call && seen.insert(op.callee).second) work.push_back(op.callee);
    });
  }
  return false;
}

int choose_lanes(const ir::Function& kernel, const TargetSpec& target) {
  const int natural = natural_lanes(target);
  // A native function is compiled for one thread; a kernel that calls one would be taken apart for each call.
  // Threads of a block wait for each other: each has a stack of its own.
  if (natural == 1 || kernel.form.block || has_spin_loop(kernel) || calls_native(kernel)) return 1;
  // Private arrays get one copy a lane; large ones would make all of them wait for memory that one
  // lane at a time has at hand.
  if (private_memory(kernel).bytes * unsigned(natural) > kMaxLanePrivateBytes) return 1;
  if (ir::find_tile_memory(*kernel.body)) return runs_side_by_side(kernel, natural) ? natural : 1;
  // Without an instruction for them (AVX2 has it, for what it is worth) gathers are loads one after the other, and lanes wait for
  // the one with most neighbours: measured on NEON, four lanes are half as fast as one.
  // In volumes lanes that mix voxels go different ways, as some of these lie in the next leaves. Where each reads one voxel, what they
  // wait for is memory: measured on NEON, 16 lanes are 1.3 times as fast as one, 4 as fast as one.
  constexpr int kManyWait = 16;
  const TargetTraits traits = traits_of(target);
  const bool has_gathers = traits.gathers;
  std::unordered_set<const ir::Function*> seen;
  if (!has_gathers && visits_neighbours(kernel)) return 1;
  if (!has_gathers && reaches_objects(kernel, HandleKind::volume, seen))
    return uses_objects(kernel, HandleKind::volume) && reads_single_voxels(kernel) && loads_stand_open(kernel) &&
                   !has_own_loops(kernel)
               ? kManyWait
               : 1;
  // Textures are straight code for all lanes, and what samples wait for is memory. Measured on NEON: 16 lanes are 1.2 to 1.8
  // times as fast as one for texels of one number; for those of four, which fill a register each, 4 lanes are 1.6 to 2.9
  // times as fast as one, and as 16. Of images whose texels are read in pairs 8 lanes are best: 145 million samples a second at random
  // places and 400 by rows, 16 have 130 and 405, and 4 have 131 and 315.
  if (!has_gathers && uses_objects(kernel, HandleKind::texture) && has_whole_body(kernel))
    return samples_vectors(kernel) ? natural : reads_pairs(kernel) ? 8 : kManyWait;
  // Measured on NEON: 2.2 times as fast as four lanes.
  if (visits_tree_items(kernel)) return 1;
  // What walks wait for is memory, and the more wait together the better; but code of long kernels grows with lanes, and so
  // does the time to compile it. Measured on NEON: 8 lanes are 1.1 to 1.3 times as fast as 4, 16 are 1.1 times as fast again
  // and take twice the time to compile.
  if (calls_together(kernel))
    return kernel_weight(kernel) <= kMaxTogetherWeight ? std::max(natural, kLanesTogether) : natural;
  Cost cost = CostSum(kernel, natural, traits).cost();
  // Lanes whose gathers are slow gain little in long kernels, which then take LLVM up to a second for a tenth of a step of a simulation.
  // Measured on a Cascade Lake, which has all of MuJoCo Warp's kernels in full 0.6 to 0.9 s sooner by this, and runs them as fast.
  constexpr double kWorthItsCode = 450;
  if (traits.x86 && !traits.quick_gathers) cost.lanes *= std::max(1.0, double(kernel_weight(kernel)) / kWorthItsCode);
  if (cost.lanes >= cost.one) {
    // Costs count what samples seldom do as much as the rest: walks outside of a volume's table, sums over texels that a mean
    // was made of. With AVX-512 samples by 16 lanes are 1.8 (volumes) to 4.8 times (images) as fast as threads in order.
    const bool samples = uses_objects(kernel, HandleKind::texture) || reaches_objects(kernel, HandleKind::volume, seen);
    return has_gathers && samples && has_whole_body(kernel) && !has_own_loops(kernel) ? natural : 1;
  }
  // Vectors of 64-bit elements hold half as many: as many lanes as for 32 bits are two registers for a value there, which is
  // enough (1.4 times as fast as one on NEON, twice with AVX-512).
  if (cost.wide * 2 > cost.numbers) return natural;
  return wide_lanes(kernel, natural);
}

}  // namespace weft::codegen
