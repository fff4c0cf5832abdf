// Links the objects that most kernels are: code and constants, no variable, nothing from outside, a handful of kinds of
// relocation. What they hold is read, placed and relocated in a few microseconds; RuntimeDyld, which takes all others
// (load/load_object.cpp), needs some twenty times as long.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weft::codegen {

/// An object of x86-64 or AArch64 that fits the above, read but not placed. It looks into the bytes it was read from.
class SmallObject {
 public:
  /// Nothing if the object is damaged or more than this file can do.
  static std::optional<SmallObject> read(std::span<const char> bytes, std::string_view entry);

  /// Bytes of memory it takes; it must lie at the beginning of a page.
  std::size_t size() const { return size_; }
  /// Where the entry function begins.
  std::size_t entry() const { return entry_; }
  /// Writes code and constants into `memory`, relocated for the address `at`. False if a relocation can't be done.
  bool place(std::uint8_t* memory, std::uint64_t at) const;

 private:
  struct Section {
    std::size_t offset = 0, size = 0;  // in the object
    std::size_t place = 0;             // in memory
    bool taken = false, code = false;
  };
  struct Relocation {
    std::size_t place = 0;   // in memory
    std::int64_t value = 0;  // in memory, with the addend
    std::uint32_t type = 0;
  };

  std::span<const char> bytes_;
  std::vector<Section> sections_;
  std::vector<Relocation> relocations_;
  std::size_t size_ = 0, entry_ = 0;
  std::uint16_t machine_ = 0;
};

}  // namespace weft::codegen
