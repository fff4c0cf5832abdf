// ELF, as far as small objects use it. Every number of the object is checked before it is used: a damaged one is refused.
#include "codegen/load/small_link.h"

#include <cstring>
#include <unordered_map>

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

/// An object in the middle of being read.
class SmallObject::Reader {
 public:
  Reader(SmallObject& all, std::span<const char> bytes) : all_(all), bytes_(bytes) {}

  /// Takes code first, then constants.
  bool sections() {
    const auto header = at<Elf64_Ehdr>(bytes_, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_REL ||
        (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64) ||
        header->e_shentsize != sizeof(Elf64_Shdr) || (all_.machine_ && all_.machine_ != header->e_machine))
      return false;
    all_.machine_ = header->e_machine;
    headers_.resize(header->e_shnum);
    if (headers_.empty() || !has(bytes_, header->e_shoff, headers_.size() * sizeof(Elf64_Shdr))) return false;
    std::memcpy(headers_.data(), bytes_.data() + header->e_shoff, headers_.size() * sizeof(Elf64_Shdr));
    sections_.resize(headers_.size());
    for (bool code : {true, false})
      for (std::size_t i = 0; i < headers_.size(); ++i) {
        const Elf64_Shdr& h = headers_[i];
        if (h.sh_type == SHT_SYMTAB) symbols_ = &h;
        if (!(h.sh_flags & SHF_ALLOC) || ((h.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
        const std::uint64_t align = h.sh_addralign ? h.sh_addralign : 1;
        if (h.sh_type != SHT_PROGBITS || (h.sh_flags & (SHF_WRITE | SHF_TLS)) || !has(bytes_, h.sh_offset, h.sh_size) ||
            align > kMaxAlign || (align & (align - 1)))
          return false;
        all_.size_ = (all_.size_ + align - 1) & ~(align - 1);
        sections_[i] = {bytes_.data() + h.sh_offset, h.sh_size, all_.size_, true, code};
        all_.sections_.push_back(sections_[i]);
        all_.size_ += h.sh_size;
        if (all_.size_ > kMaxSize) return false;
      }
    if (!symbols_ || symbols_->sh_link >= headers_.size()) return false;
    const Elf64_Shdr& names = headers_[symbols_->sh_link];
    if (!has(bytes_, symbols_->sh_offset, symbols_->sh_size) || !has(bytes_, names.sh_offset, names.sh_size))
      return false;
    names_ = bytes_.subspan(names.sh_offset, names.sh_size);
    return true;
  }

  /// Functions that others may call, by name.
  void functions(std::unordered_map<std::string_view, std::size_t>& out) const {
    for (std::size_t i = 0; i < symbol_count(); ++i) {
      const Elf64_Sym s = symbol(i);
      const Section* section = section_of(s);
      if (!section || !section->code || ELF64_ST_BIND(s.st_info) == STB_LOCAL) continue;
      out.emplace(name_of(s), section->place + s.st_value);
    }
  }

  /// `functions` are those of all objects.
  bool relocations(const std::unordered_map<std::string_view, std::size_t>& functions) const {
    for (const Elf64_Shdr& h : headers_) {
      if (h.sh_type == SHT_REL) return false;
      if (h.sh_type != SHT_RELA) continue;
      if (h.sh_info >= sections_.size() || !has(bytes_, h.sh_offset, h.sh_size)) return false;
      const Section& changed = sections_[h.sh_info];
      if (!changed.taken) continue;  // debug information
      for (std::size_t i = 0; i < h.sh_size / sizeof(Elf64_Rela); ++i) {
        const Elf64_Rela r = *at<Elf64_Rela>(bytes_, h.sh_offset + i * sizeof(Elf64_Rela));
        const auto type = std::uint32_t(ELF64_R_TYPE(r.r_info));
        const std::size_t index = ELF64_R_SYM(r.r_info), bytes_changed = width(all_.machine_, type);
        if (bytes_changed == 0 || index >= symbol_count() || r.r_offset > changed.size ||
            changed.size - r.r_offset < bytes_changed || !fits(r.r_addend, 32))
          return false;
        const std::optional<std::size_t> target = place_of(symbol(index), functions);
        if (!target) return false;
        all_.relocations_.push_back({changed.place + r.r_offset, std::int64_t(*target) + r.r_addend, type});
      }
    }
    return true;
  }

 private:
  std::size_t symbol_count() const { return symbols_->sh_size / sizeof(Elf64_Sym); }
  Elf64_Sym symbol(std::size_t i) const { return *at<Elf64_Sym>(bytes_, symbols_->sh_offset + i * sizeof(Elf64_Sym)); }
  const Section* section_of(const Elf64_Sym& s) const {
    if (s.st_shndx >= sections_.size()) return nullptr;  // absolute ones, too
    const Section& section = sections_[s.st_shndx];
    return section.taken && s.st_value <= section.size ? &section : nullptr;
  }
  std::optional<std::size_t> place_of(const Elf64_Sym& s,
                                      const std::unordered_map<std::string_view, std::size_t>& functions) const {
    if (const Section* section = section_of(s)) return section->place + s.st_value;
    if (s.st_shndx != SHN_UNDEF) return std::nullopt;
    const auto it = functions.find(name_of(s));
    return it == functions.end() ? std::nullopt : std::optional(it->second);
  }
  /// Empty if it does not end within the table of names.
  std::string_view name_of(const Elf64_Sym& s) const {
    if (s.st_name >= names_.size()) return {};
    const std::span<const char> rest = names_.subspan(s.st_name);
    const std::size_t size = ::strnlen(rest.data(), rest.size());
    return size == rest.size() ? std::string_view() : std::string_view(rest.data(), size);
  }

  SmallObject& all_;
  std::span<const char> bytes_, names_;
  std::vector<Elf64_Shdr> headers_;
  std::vector<Section> sections_;
  const Elf64_Shdr* symbols_ = nullptr;
};

std::optional<SmallObject> SmallObject::read(std::span<const std::span<const char>> objects, std::string_view entry) {
  SmallObject all;
  std::vector<Reader> readers;
  std::unordered_map<std::string_view, std::size_t> functions;
  for (const std::span<const char> bytes : objects) {
    Reader& reader = readers.emplace_back(all, bytes);
    if (!reader.sections()) return std::nullopt;
    reader.functions(functions);
    // The entry is the first one's.
    if (readers.size() > 1) continue;
    const auto found = functions.find(entry);
    if (entry.empty() || found == functions.end()) return std::nullopt;
    all.entry_ = found->second;
  }
  for (const Reader& reader : readers)
    if (!reader.relocations(functions)) return std::nullopt;
  return all;
}

bool SmallObject::place(std::uint8_t* memory, std::uint64_t at) const {
  for (const Section& s : sections_) std::memcpy(memory + s.place, s.bytes, s.size);
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
