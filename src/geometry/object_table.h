// Which objects live, as kernels in debug mode read it (src/stdlib/objects.py): words of 64 bits, first the number of slabs,
// then for each its address and the kinds of its slots, a byte each, 0 where nobody lives. Written by the host while kernels
// run, in memory that the device reads too.
#pragma once
#include <cstdint>
#include <memory>

namespace weft::geometry {

class ObjectTable {
 public:
  static constexpr std::uint64_t kSlabWords = 17;  // an address and 128 kinds
  static constexpr std::uint64_t kMostSlabs = 481;
  static constexpr std::uint64_t kBytes = 8 * (1 + kMostSlabs * kSlabWords);
  static constexpr std::uint64_t kAllLive = ~std::uint64_t(0);  // instead of a number of slabs: too many for the table

  /// Memory of kBytes, zeroed, that the device can read at the same address.
  explicit ObjectTable(std::shared_ptr<void> memory) : memory_(std::move(memory)) {}
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_.get()); }
  void add_slab(std::uint64_t slab);
  /// What lives in a slot from now on; 0: nobody.
  void set_kind(std::uint64_t slot, std::uint8_t kind);

 private:
  std::uint64_t* words() const { return static_cast<std::uint64_t*>(memory_.get()); }
  std::shared_ptr<void> memory_;
};

}  // namespace weft::geometry
