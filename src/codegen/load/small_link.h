// Links the objects that most kernels are: code and constants, no variable, nothing from outside but functions of each
// other's, a handful of kinds of relocation. What they hold is read, placed and relocated in a few microseconds; RuntimeDyld, which takes all others
// (load/load_object.cpp), needs some twenty times as long.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weft::codegen {

/// Objects of x86-64 or AArch64 that fit the above, read but not placed. It looks into the bytes they were read from.
class SmallObject {
 public:
  /// Nothing if one is damaged or more than this file can do. The entry is in the first.
  static std::optional<SmallObject> read(std::span<const std::span<const char>> objects, std::string_view entry);
  static std::optional<SmallObject> read(std::span<const char> object, std::string_view entry) {
    return read(std::span(&object, 1), entry);
  }

  /// Bytes of memory it takes; it must lie at the beginning of a page.
  std::size_t size() const { return size_; }
  /// Where the entry function begins.
  std::size_t entry() const { return entry_; }
  /// Writes code and constants into `memory`, relocated for the address `at`. False if a relocation can't be done.
  bool place(std::uint8_t* memory, std::uint64_t at) const;

 private:
  class Reader;
  struct Section {
    const char* bytes = nullptr;
    std::size_t size = 0, place = 0;  // in memory
    bool taken = false, code = false;
  };
  struct Relocation {
    std::size_t place = 0;   // in memory
    std::int64_t value = 0;  // in memory, with the addend
    std::uint32_t type = 0;
  };

  std::vector<Section> sections_;
  std::vector<Relocation> relocations_;
  std::size_t size_ = 0, entry_ = 0;
  std::uint16_t machine_ = 0;
};

}  // namespace weft::codegen
