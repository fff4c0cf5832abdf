// ELF, as far as small objects use it. Every number of the object is checked before it is used: a damaged one is refused.
#include "codegen/load/small_link.h"

#include <cstring>

#include <elf.h>

namespace weft::codegen {

namespace {

constexpr std::size_t kMaxSize = std::size_t(1) << 26;  // larger ones may outgrow relative addresses, and are rare
constexpr std::size_t kMaxAlign = 4096;

/// The object at `offset`, if all of it is there.
template <class T>
std::optional<T> at(std::span<const char> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool has(std::span<const char> bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

/// Bytes that a relocation of this type changes; 0 if the type is not one of ours.
std::size_t width(std::uint16_t machine, std::uint32_t type) {
  if (machine == EM_X86_64) return type == R_X86_64_PC32 || type == R_X86_64_PLT32 ? 4 : 0;
  switch (type) {
    case R_AARCH64_PREL32:
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
    case R_AARCH64_LDST16_ABS_LO12_NC:
    case R_AARCH64_LDST32_ABS_LO12_NC:
    case R_AARCH64_LDST64_ABS_LO12_NC:
    case R_AARCH64_LDST128_ABS_LO12_NC:
    case R_AARCH64_JUMP26:
    case R_AARCH64_CALL26: return 4;
    default: return 0;
  }
}

bool fits(std::int64_t value, int bits) { return value >= -(1LL << (bits - 1)) && value < 1LL << (bits - 1); }

/// The word at address `place` with the reference to address `value` in it.
std::optional<std::uint32_t> relocated(std::uint16_t machine, std::uint32_t type, std::uint32_t word,
                                       std::uint64_t place, std::uint64_t value) {
  const auto distance = std::int64_t(value - place);
  if (machine == EM_X86_64 || type == R_AARCH64_PREL32)
    return fits(distance, 32) ? std::optional(std::uint32_t(distance)) : std::nullopt;
  // Twelve bits of the address, in units of the access.
  auto low_bits = [&](int scale) -> std::optional<std::uint32_t> {
    if (value & ((1u << scale) - 1)) return std::nullopt;
    return (word & ~(0xFFFu << 10)) | std::uint32_t((value & 0xFFF) >> scale) << 10;
  };
  switch (type) {
    case R_AARCH64_ADR_PREL_PG_HI21: {
      const std::int64_t pages = std::int64_t((value & ~std::uint64_t(0xFFF)) - (place & ~std::uint64_t(0xFFF))) >> 12;
      if (!fits(pages, 21)) return std::nullopt;
      const auto bits = std::uint32_t(pages);
      return (word & 0x9F00001Fu) | (bits & 3) << 29 | (bits >> 2 & 0x7FFFF) << 5;
    }
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return low_bits(0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return low_bits(1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return low_bits(2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return low_bits(3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return low_bits(4);
    default:  // a jump or a call
      if ((distance & 3) || !fits(distance, 28)) return std::nullopt;
      return (word & 0xFC000000u) | (std::uint32_t(distance >> 2) & 0x03FFFFFFu);
  }
}

}  // namespace

std::optional<SmallObject> SmallObject::read(std::span<const char> bytes, std::string_view entry) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_REL ||
      (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64) || header->e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  SmallObject object;
  object.bytes_ = bytes;
  object.machine_ = header->e_machine;
  std::vector<Elf64_Shdr> headers(header->e_shnum);
  if (headers.empty() || !has(bytes, header->e_shoff, headers.size() * sizeof(Elf64_Shdr))) return std::nullopt;
  std::memcpy(headers.data(), bytes.data() + header->e_shoff, headers.size() * sizeof(Elf64_Shdr));

  // Code first, then constants.
  object.sections_.resize(headers.size());
  const Elf64_Shdr* symbols = nullptr;
  for (bool code : {true, false})
    for (std::size_t i = 0; i < headers.size(); ++i) {
      const Elf64_Shdr& h = headers[i];
      if (h.sh_type == SHT_SYMTAB) symbols = &h;
      if (!(h.sh_flags & SHF_ALLOC) || ((h.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
      const std::uint64_t align = h.sh_addralign ? h.sh_addralign : 1;
      if (h.sh_type != SHT_PROGBITS || (h.sh_flags & (SHF_WRITE | SHF_TLS)) || !has(bytes, h.sh_offset, h.sh_size) ||
          align > kMaxAlign || (align & (align - 1)))
        return std::nullopt;
      object.size_ = (object.size_ + align - 1) & ~(align - 1);
      object.sections_[i] = {h.sh_offset, h.sh_size, object.size_, true, code};
      object.size_ += h.sh_size;
      if (object.size_ > kMaxSize) return std::nullopt;
    }
  if (!symbols || symbols->sh_link >= headers.size()) return std::nullopt;
  const Elf64_Shdr& names = headers[symbols->sh_link];
  if (!has(bytes, symbols->sh_offset, symbols->sh_size) || !has(bytes, names.sh_offset, names.sh_size))
    return std::nullopt;

  const std::size_t symbol_count = symbols->sh_size / sizeof(Elf64_Sym);
  auto symbol = [&](std::size_t i) { return *at<Elf64_Sym>(bytes, symbols->sh_offset + i * sizeof(Elf64_Sym)); };
  auto section_of = [&](const Elf64_Sym& s) -> const Section* {
    if (s.st_shndx >= object.sections_.size()) return nullptr;  // absolute ones, too
    const Section& section = object.sections_[s.st_shndx];
    return section.taken && s.st_value <= section.size ? &section : nullptr;
  };
  bool found = false;
  for (std::size_t i = 0; i < symbol_count && !found; ++i) {
    const Elf64_Sym s = symbol(i);
    const Section* section = section_of(s);
    if (!section || !section->code || s.st_name >= names.sh_size || names.sh_size - s.st_name <= entry.size()) continue;
    const char* name = bytes.data() + names.sh_offset + s.st_name;
    found = std::string_view(name, entry.size()) == entry && name[entry.size()] == 0;
    object.entry_ = section->place + s.st_value;
  }
  if (!found) return std::nullopt;

  for (const Elf64_Shdr& h : headers) {
    if (h.sh_type == SHT_REL) return std::nullopt;
    if (h.sh_type != SHT_RELA) continue;
    if (h.sh_info >= object.sections_.size() || !has(bytes, h.sh_offset, h.sh_size)) return std::nullopt;
    const Section& changed = object.sections_[h.sh_info];
    if (!changed.taken) continue;  // debug information
    for (std::size_t i = 0; i < h.sh_size / sizeof(Elf64_Rela); ++i) {
      const Elf64_Rela r = *at<Elf64_Rela>(bytes, h.sh_offset + i * sizeof(Elf64_Rela));
      const auto type = std::uint32_t(ELF64_R_TYPE(r.r_info));
      const std::size_t index = ELF64_R_SYM(r.r_info), bytes_changed = width(object.machine_, type);
      if (bytes_changed == 0 || index >= symbol_count || r.r_offset > changed.size ||
          changed.size - r.r_offset < bytes_changed || !fits(r.r_addend, 32))
        return std::nullopt;
      const Elf64_Sym s = symbol(index);
      const Section* target = section_of(s);
      if (!target) return std::nullopt;
      object.relocations_.push_back(
          {changed.place + r.r_offset, std::int64_t(target->place + s.st_value) + r.r_addend, type});
    }
  }
  return object;
}

bool SmallObject::place(std::uint8_t* memory, std::uint64_t at) const {
  for (const Section& s : sections_)
    if (s.taken) std::memcpy(memory + s.place, bytes_.data() + s.offset, s.size);
  for (const Relocation& r : relocations_) {
    std::uint32_t word = 0;
    std::memcpy(&word, memory + r.place, sizeof word);
    const auto done = relocated(machine_, r.type, word, at + r.place, at + std::uint64_t(r.value));
    if (!done) return false;
    std::memcpy(memory + r.place, &*done, sizeof *done);
  }
  return true;
}

}  // namespace weft::codegen
