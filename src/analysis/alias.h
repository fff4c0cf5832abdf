// Which memory an array value may describe, and which memory a write may change. Every value that is or holds a
// descriptor has a set of bases: parameter arrays (array fields of struct parameters count one by one), locals, and one
// "unknown" base for descriptors that came from memory, from an address or from a call; one for memory that nothing
// writes while kernels run; and, where the form tells them apart from the parameters, one for arrays of objects. ir/origin.h knows which operation does what to descriptors; sets are passed on through selects,
// `if` results and carried values. Nothing more is ever assumed: parameters may overlap unless the kernel's
// form says no_overlap; unknown overlaps everything except locals whose descriptor never leaves the function's values.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/base_mask.h"
#include "analysis/effects.h"
#include "ir/ir.h"

namespace weft::analysis {

// Bit 0 is the unknown base, bit 1 fixed memory, bit 2 arrays of objects whose ids are arguments, found in fixed memory; all bases beyond
// what a mask has room for share the unknown one.
inline constexpr BaseMask kUnknownBase = 1;
inline constexpr BaseMask kFixedBase = 2;
inline constexpr BaseMask kObjectBase = 4;
inline constexpr BaseMask kAllBases = ~BaseMask(0);

class Alias {
 public:
  /// `effects` must outlive this. `apart`: as if the form said no_overlap, for those who look themselves.
  Alias(const ir::Function& function, Effects& effects, bool apart = false);

  /// What the descriptor (or the descriptors inside) may point to; values made later give everything.
  BaseMask bases(const ir::Value* value) const { return value->id < info_.size() ? info_[value->id].bases : kAllBases; }
  /// All bases whose memory can change by a write through one of `bases`.
  BaseMask touched(BaseMask bases) const;
  /// Bases through which the operation itself reads or writes (nested regions not included).
  BaseMask direct_reads(const ir::Op& op) const;
  BaseMask direct_writes(const ir::Op& op) const;
  /// All that may change while the operation runs, nested regions included: `touched` of every write.
  BaseMask writes(const ir::Op& op) const;
  /// Locals that nothing outside this function's own accesses can reach.
  BaseMask private_locals() const { return locals_ & ~escaped_ & ~kUnknownBase; }

 private:
  struct Info {
    BaseMask bases = 0;
    std::int32_t leaf = -1;  // value straight from a parameter: number of its first array leaf
  };
  BaseMask new_base();
  void number_leaves(const Type* type);
  BaseMask leaf_bases(std::int32_t first, std::size_t count) const;
  void walk(const ir::Region& region);
  void transfer(const ir::Op& op);
  void note_escapes(const ir::Op& op);
  BaseMask made_of(const ir::Op& op);
  BaseMask field_bases(const ir::Op& extract);
  void join(const ir::Value* into, BaseMask bases);
  BaseMask collect_writes(const ir::Region& region);

  const ir::Function& function_;
  Effects& effects_;
  std::vector<Info> info_;        // by value id
  std::vector<BaseMask> leaves_;  // base of each array leaf of the parameters
  std::unordered_map<const ir::Op*, BaseMask> local_base_;
  std::unordered_map<const ir::Op*, BaseMask> nested_writes_;  // operations with regions
  std::size_t next_base_ = 3;
  bool knows_objects_ = false;  // what is found in fixed memory is kObjectBase
  BaseMask params_ = 0;
  BaseMask locals_ = 0;
  BaseMask escaped_ = 0;  // bases whose descriptor was stored, returned, turned into an address or handed to a keeper
  bool apart_ = false;    // parameters don't overlap
  bool changed_ = false;
  bool give_up_ = false;
};

/// Whether memory of `bases` may be written when the operation is over, and before the region `within`, which holds it, ends.
bool written_behind(const Alias& alias, const ir::Op& op, BaseMask bases, const ir::Region& within);

}  // namespace weft::analysis
