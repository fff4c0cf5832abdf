// The PTX machine's memory: loads, stores and atomics of all spaces, every access checked.
#include <algorithm>
#include <bit>

#include "ptx_threads.h"

namespace weft::cuda::fake {
namespace {

using Access = PtxRaces::Access;

unsigned char* global_place(PtxThread& t, const PtxInstruction& i, Word address, std::size_t bytes) {
  if (address % bytes) ptx_fail(t, i, "misaligned");
  if (PtxCounts* counts = t.block->counts()) counts->note_access(t, i, false, address, bytes);
  if (address >= t.known.first && address + bytes <= t.known.second) return reinterpret_cast<unsigned char*>(address);
  t.known = t.block->launch().allocation(address);
  const bool inside = address >= t.known.first && address + bytes <= t.known.second;
  if (!inside && !t.block->is_variable(address, bytes)) ptx_fail(t, i, "beyond the memory that was allocated");
  return reinterpret_cast<unsigned char*>(address);
}

void start_copy(PtxThread& t, const PtxInstruction& i);

/// Whether a store leaves the bits that are there.
bool leaves_bits(const PtxThread& t, const PtxInstruction& i, const unsigned char* at) {
  if (i.act == &start_copy) return false;  // what it brings is not known
  if (i.count == 1) return std::memcmp(at, &t.r[i.b], i.bytes) == 0;
  const std::vector<std::int32_t>& list = t.frames[t.depth]->function->lists[std::size_t(i.list)];
  for (std::size_t k = 0; k < i.count; ++k)
    if (std::memcmp(at + k * i.bytes, &t.r[list[k]], i.bytes)) return false;
  return true;
}

unsigned char* shared_place(PtxThread& t, const PtxInstruction& i, Word offset, std::size_t bytes, Access access) {
  std::vector<unsigned char>& shared = t.block->shared();
  if (offset > shared.size() || bytes > shared.size() - offset) ptx_fail(t, i, "beyond shared memory");
  if (offset % bytes) ptx_fail(t, i, "misaligned");
  unsigned char* at = shared.data() + offset;
  if (i.strong) access = Access::atomic;
  if (PtxCounts* counts = t.block->counts()) counts->note_access(t, i, true, offset, bytes);
  if (PtxRaces* races = t.block->races())
    races->note(t, i, offset, bytes, access, access == Access::write && leaves_bits(t, i, at));
  return at;
}

unsigned char* local_place(PtxThread& t, const PtxInstruction& i, Word offset, std::size_t bytes) {
  if (offset > t.local.size() || bytes > t.local.size() - offset) ptx_fail(t, i, "beyond private memory");
  if (offset % bytes) ptx_fail(t, i, "misaligned");
  return t.local.data() + offset;
}

unsigned char* param_place(PtxThread& t, const PtxInstruction& i, Word offset, std::size_t bytes) {
  std::vector<unsigned char>& params = t.frame().params;
  if (offset > params.size() || bytes > params.size() - offset) ptx_fail(t, i, "arguments end before");
  return params.data() + offset;
}

template <PtxSpace S>
unsigned char* place(PtxThread& t, const PtxInstruction& i, std::size_t bytes, Access access) {
  const Word address = t.r[i.a] + Word(i.offset);
  if constexpr (S == PtxSpace::global) return global_place(t, i, address, bytes);
  if constexpr (S == PtxSpace::shared) return shared_place(t, i, cut(address, 32), bytes, access);
  if constexpr (S == PtxSpace::local) return local_place(t, i, cut(address, 32), bytes);
  if constexpr (S == PtxSpace::param) return param_place(t, i, cut(address, 32), bytes);
  if (address - kSharedWindow < kWindowBytes) return shared_place(t, i, address - kSharedWindow, bytes, access);
  if (address - kLocalWindow < kWindowBytes) return local_place(t, i, address - kLocalWindow, bytes);
  return global_place(t, i, address, bytes);
}

template <PtxSpace S, class T>
void load(PtxThread& t, const PtxInstruction& i) {
  T value;
  std::memcpy(&value, place<S>(t, i, sizeof(T), Access::read), sizeof(T));
  if constexpr (std::is_signed_v<T>)
    t.r[i.to] = Word(std::int64_t(value));
  else
    t.r[i.to] = value;
}

template <PtxSpace S, class T>
void store(PtxThread& t, const PtxInstruction& i) {
  std::memcpy(place<S>(t, i, sizeof(T), Access::write), &t.r[i.b], sizeof(T));
}

template <PtxSpace S>
void load_vector(PtxThread& t, const PtxInstruction& i) {
  const std::vector<std::int32_t>& list = t.frame().function->lists[std::size_t(i.list)];
  const unsigned char* from = place<S>(t, i, std::size_t(i.bytes) * i.count, Access::read);
  for (std::size_t k = 0; k < i.count; ++k) {
    Word value = 0;
    std::memcpy(&value, from + k * i.bytes, i.bytes);
    t.r[list[k]] = i.kind == 's' ? Word(as_signed(value, i.width)) : value;
  }
}

template <PtxSpace S>
void store_vector(PtxThread& t, const PtxInstruction& i) {
  const std::vector<std::int32_t>& list = t.frame().function->lists[std::size_t(i.list)];
  unsigned char* to = place<S>(t, i, std::size_t(i.bytes) * i.count, Access::write);
  for (std::size_t k = 0; k < i.count; ++k) std::memcpy(to + k * i.bytes, &t.r[list[k]], i.bytes);
}

template <PtxSpace S>
void change(PtxThread& t, const PtxInstruction& i) {
  unsigned char* at = place<S>(t, i, i.bytes, Access::atomic);
  Word old = 0;
  std::memcpy(&old, at, i.bytes);
  const Word next = atomic_result(t, i, old, t.r[i.b], i.c >= 0 ? t.r[i.c] : 0);
  std::memcpy(at, &next, i.bytes);
  if (i.to >= 0) t.r[i.to] = old;
}

/// The sum of floats of any width.
Word float_sum(const PtxInstruction& i, Word a, Word b) {
  if (i.kind == 'f' && i.width == 32)
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(std::uint32_t(a)) +
                                        std::bit_cast<float>(std::uint32_t(b)));
  if (i.kind == 'f') return std::bit_cast<Word>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  const char kind = i.kind == 'H' ? 'h' : i.kind == 'G' ? 'g' : i.kind;
  Word out = 0;
  for (int shift = 0; shift < i.width; shift += 16)
    out |= half_bits(half_value((a >> shift) & 0xFFFF, kind) + half_value((b >> shift) & 0xFFFF, kind), kind) << shift;
  return out;
}

template <PtxSpace S>
PtxAction find_load(const PtxInstruction& i) {
  if (i.count > 1) return load_vector<S>;
  const bool sign = i.kind == 's';
  switch (i.bytes) {
    case 1: return sign ? load<S, std::int8_t> : load<S, std::uint8_t>;
    case 2: return sign ? load<S, std::int16_t> : load<S, std::uint16_t>;
    case 4: return sign ? load<S, std::int32_t> : load<S, std::uint32_t>;
    default: return load<S, Word>;
  }
}

template <PtxSpace S>
PtxAction find_store(const PtxInstruction& i) {
  if (i.count > 1) return store_vector<S>;
  switch (i.bytes) {
    case 1: return store<S, std::uint8_t>;
    case 2: return store<S, std::uint16_t>;
    case 4: return store<S, std::uint32_t>;
    default: return store<S, Word>;
  }
}

template <PtxSpace S>
PtxAction find_in_space(const std::string& op, const PtxInstruction& i) {
  return op == "ld" || op == "ldu" ? find_load<S>(i) : op == "st" ? find_store<S>(i) : change<S>;
}

// Addresses.

void to_generic_shared(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] + kSharedWindow; }
void to_generic_local(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] + kLocalWindow; }
void from_generic_shared(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] - kSharedWindow; }
void from_generic_local(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] - kLocalWindow; }
void same_address(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a]; }
void is_shared(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] - kSharedWindow < kWindowBytes; }
void is_local(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] - kLocalWindow < kWindowBytes; }
void is_global(PtxThread& t, const PtxInstruction& i) { t.r[i.to] = t.r[i.a] < kLocalWindow; }

PtxAction find_address(const PtxName& name) {
  const bool shared = has_part(name, "shared"), local = has_part(name, "local"), global = has_part(name, "global");
  if (name[0] == "isspacep") return shared ? is_shared : local ? is_local : global ? is_global : nullptr;
  if (global || has_part(name, "const")) return same_address;
  const bool to = has_part(name, "to");
  if (shared) return to ? from_generic_shared : to_generic_shared;
  if (local) return to ? from_generic_local : to_generic_local;
  return nullptr;
}

}  // namespace

Word atomic_result(const PtxThread& t, const PtxInstruction& i, Word old, Word value, Word other) {
  const int bits = i.width;
  const Word a = cut(old, bits), b = cut(value, bits);
  const bool less = i.kind == 's' ? as_signed(a, bits) < as_signed(b, bits) : a < b;
  const bool floats = std::strchr("fhgHG", i.kind);
  switch (i.verb) {
    case PtxVerb::add: return floats ? float_sum(i, a, b) : cut(a + b, bits);
    case PtxVerb::bit_and: return a & b;
    case PtxVerb::bit_or: return a | b;
    case PtxVerb::bit_xor: return a ^ b;
    case PtxVerb::exch: return b;
    case PtxVerb::cas: return a == b ? cut(other, bits) : a;
    case PtxVerb::inc: return a >= b ? 0 : a + 1;
    case PtxVerb::dec: return a == 0 || a > b ? b : a - 1;
    case PtxVerb::min:
      if (!floats) return less ? a : b;
      break;
    case PtxVerb::max:
      if (!floats) return less ? b : a;
      break;
    default: break;
  }
  ptx_fail(t, i, "unknown atomic");
}

namespace {

constexpr std::size_t kCopied = 16;  // bytes of copies past the first cache

/// Noted when it begins and when it is done: in between nobody may touch what it writes.
void start_copy(PtxThread& t, const PtxInstruction& i) {
  PtxThread::Copy copy{&i, cut(t.r[i.a] + Word(i.offset), 32), t.r[i.b] + Word(i.from_offset), i.bytes, t.copy_group};
  if (i.c >= 0) copy.bytes = std::size_t(cut(t.r[i.c], 32));
  if (copy.bytes > i.bytes) ptx_fail(t, i, "more bytes than a copy has");
  if (copy.from % i.bytes) ptx_fail(t, i, "misaligned");
  if (copy.bytes) global_place(t, i, copy.from, 1), global_place(t, i, copy.from + copy.bytes - 1, 1);
  shared_place(t, i, copy.to, i.bytes, Access::write);
  t.copies.push_back(copy);
}

/// Copies of groups in front of `end` are done.
void finish_copies(PtxThread& t, std::size_t end) {
  std::erase_if(t.copies, [&](const PtxThread::Copy& copy) {
    if (copy.group >= end) return false;
    unsigned char* to = shared_place(t, *copy.instruction, copy.to, copy.instruction->bytes, Access::write);
    std::memset(to, 0, copy.instruction->bytes);
    std::memcpy(to, reinterpret_cast<const void*>(copy.from), copy.bytes);
    t.unseen = true;
    return true;
  });
}

void wait_for_copies(PtxThread& t, const PtxInstruction&) { finish_copies(t, t.copy_group + 1); }
void commit_copies(PtxThread& t, const PtxInstruction&) { ++t.copy_group; }

/// All committed groups but the last ones.
void wait_for_groups(PtxThread& t, const PtxInstruction& i) {
  const auto left = std::size_t(cut(t.r[i.a], 32));
  if (left < t.copy_group) finish_copies(t, t.copy_group - left);
}

}  // namespace

PtxAction find_copy(const PtxName& name, PtxInstruction& i) {
  if (name[0] != "cp" || name.size() < 3 || name[1] != "async") return nullptr;
  if (name[2] == "wait_all") return wait_for_copies;
  if (name[2] == "commit_group") return commit_copies;
  if (name[2] == "wait_group") return wait_for_groups;
  if ((name[2] != "cg" && name[2] != "ca") || !has_part(name, "global")) return nullptr;
  i.bytes = kCopied;  // of others the operands tell
  i.space = PtxSpace::shared;
  i.strong = false;
  return start_copy;
}

const unsigned char* ptx_shared(PtxThread& t, const PtxInstruction& i, Word address, std::size_t bytes) {
  return shared_place(t, i, cut(address, 32), bytes, Access::read);
}

PtxAction find_memory(const PtxName& name, PtxInstruction& i) {
  const std::string& op = name[0];
  if (op == "cvta" || op == "isspacep") return find_address(name);
  const bool atomic = op == "atom" || op == "red";
  if (op != "ld" && op != "ldu" && op != "st" && !atomic) return nullptr;
  if (!ptx_type(name.back(), i.kind, i.width) || i.width < 8 || i.width > 64) return nullptr;
  i.bytes = std::uint16_t(i.width / 8);
  i.strong = atomic;
  for (std::size_t k = 1; k + 1 < name.size(); ++k) {
    const std::string& part = name[k];
    if (part == "v2" || part == "v4") i.count = std::uint8_t(part[1] - '0');
    if (part == "volatile" || part == "relaxed" || part == "acquire" || part == "release") i.strong = true;
    if (part == "global" || part == "const") i.space = PtxSpace::global;
    if (part.starts_with("shared")) i.space = PtxSpace::shared;
    if (part == "local") i.space = PtxSpace::local;
    if (part.starts_with("param")) i.space = PtxSpace::param;
    if (atomic && i.verb == PtxVerb::none) i.verb = verb_of(part);
  }
  if (atomic && i.count > 1) return nullptr;
  switch (i.space) {
    case PtxSpace::generic: return find_in_space<PtxSpace::generic>(op, i);
    case PtxSpace::global: return find_in_space<PtxSpace::global>(op, i);
    case PtxSpace::shared: return find_in_space<PtxSpace::shared>(op, i);
    case PtxSpace::local: return find_in_space<PtxSpace::local>(op, i);
    case PtxSpace::param: return find_in_space<PtxSpace::param>(op, i);
  }
  return nullptr;
}

}  // namespace weft::cuda::fake
