// What the PTX machine runs: functions of decoded instructions, whose operands are numbers of registers only. Constants
// and special registers are registers, too, filled in when a frame is made.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ptx_machine.h"

namespace weft::cuda::fake {

using Word = std::uint64_t;
struct PtxThread;
struct PtxInstruction;
using PtxAction = void (*)(PtxThread&, const PtxInstruction&);

enum class PtxSpace : std::uint8_t { generic, global, shared, local, param };
enum class PtxRound : std::uint8_t { nearest, zero, down, up, away };
/// Instructions for which threads wait for each other.
enum class PtxMeeting : std::uint8_t {
  none,
  block,
  block_reduction,
  warp,
  shuffle,
  vote,
  match,
  reduction,
  active,
  matrices,
  product,
  group
};
/// What is done to memory or among threads, or how numbers are compared.
enum class PtxVerb : std::uint8_t {
  none,
  // of atomics, and of numbers of all threads
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  inc,
  dec,
  exch,
  cas,
  // of shuffles
  up,
  down,
  bfly,
  idx,
  // of votes
  all,
  any,
  uni,
  ballot,
  popc,
  // of comparisons; those that end with u hold for numbers that can't be compared
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};

struct PtxInstruction {
  PtxAction act = nullptr;
  std::int32_t to = -1, second = -1;            // registers of results; -1: none
  std::int32_t a = -1, b = -1, c = -1, d = -1;  // and of operands; a is the base of an address
  std::int32_t guard = -1;
  std::int32_t target = -1;      // of a branch
  std::int32_t statement = -1;   // of the function, for messages
  std::int32_t list = -1;        // of the function: registers of a vector, targets of a table
  std::int64_t offset = 0;       // of an address
  std::int64_t from_offset = 0;  // of the address that a copy reads
  std::uint16_t bytes = 0;       // of one element in memory
  std::uint8_t count = 1;        // of elements
  std::uint8_t bits = 0;         // to which loads extend a sign; 0: they don't
  bool guard_not = false;
  bool strong = false;  // an access that may meet others: atomic or volatile
  bool flush = false, saturate = false;
  PtxSpace space = PtxSpace::generic;
  PtxRound round = PtxRound::nearest;
  PtxMeeting meeting = PtxMeeting::none;
  PtxVerb verb = PtxVerb::none, combine = PtxVerb::none;
  char kind = 0, from_kind = 0;  // of numbers: b, u, s, f, h (binary16), g (bfloat16), p; of a conversion's source
  std::uint8_t width = 0, from_width = 0;
};

/// Bytes in the parameter space of a function.
struct PtxPlace {
  std::uint32_t offset = 0, bytes = 0;
};

struct PtxFunction {
  struct Statement {
    std::string text;
    int line = 0;
  };
  struct Call {
    const PtxFunction* callee = nullptr;
    std::vector<PtxPlace> given, taken;  // of the caller
  };
  std::string name;
  std::vector<PtxInstruction> code;
  std::vector<Statement> statements;
  std::vector<Word> registers;  // as a frame starts: constants in their places, the others with a pattern
  struct Special {
    std::int32_t reg;
    char
        kind;  // t: number of the thread, n: threads, b: number of the block, g: blocks, l: lane, w: warp, <, (, >, ), =
  };
  std::vector<Special> specials;
  std::vector<std::vector<std::int32_t>> lists;
  std::vector<Call> calls;
  std::vector<PtxPlace> results, parameters;
  std::uint32_t param_bytes = 0, local_bytes = 0;
  std::uint32_t least_access = 4;  // bytes, of shared memory
  PtxBounds bounds;
};

struct PtxProgram {
  std::map<std::string, std::unique_ptr<PtxFunction>> functions;
  std::map<std::string, const PtxFunction*> kernels;
  std::set<const PtxFunction*> with_body;
  std::map<std::string, Word> shared;  // offsets of variables
  std::uint32_t shared_bytes = 0, least_access = 4;
  std::map<std::string, std::vector<Word>> globals;
};

class PtxBlock;

enum class PtxState : std::uint8_t { ready, waiting, done };

struct PtxFrame {
  const PtxFunction* function = nullptr;
  std::vector<Word> registers;
  std::vector<unsigned char> params;
  std::size_t local_base = 0;
  std::int32_t return_to = 0;
  const PtxFunction::Call* call = nullptr;
};

struct PtxThread {
  Word* r = nullptr;  // registers of the current frame
  const PtxInstruction* code = nullptr;
  std::int32_t pc = 0;
  PtxState state = PtxState::ready;
  std::uint32_t index = 0;
  std::size_t depth = 0;
  PtxBlock* block = nullptr;
  std::vector<std::unique_ptr<PtxFrame>> frames;
  std::vector<unsigned char> local;
  struct Copy {
    const PtxInstruction* instruction;
    Word to, from;  // an offset in shared memory, an address
    std::size_t bytes;
    std::size_t group = 0;
  };
  std::vector<Copy> copies;    // on their way: done when the thread waits for them
  std::size_t copy_group = 0;  // of copies that begin now
  bool unseen = false;         // copies that are done, which units that read by themselves may not see yet
  /// Products of groups of warps that were begun, and groups of such that were not waited for.
  std::size_t products = 0, product_groups = 0;
  PtxRange known = {0, 0};  // the allocation that was used last

  PtxFrame& frame() { return *frames[depth]; }
  std::uint32_t lane() const { return index % 32; }
};

template <class T>
T get(const PtxThread& t, std::int32_t reg) {
  T out;
  std::memcpy(&out, &t.r[reg], sizeof out);
  return out;
}

template <class T>
void put(PtxThread& t, std::int32_t reg, T value) {
  Word w = 0;
  std::memcpy(&w, &value, sizeof value);
  t.r[reg] = w;
}

inline Word cut(Word value, int bits) { return bits >= 64 ? value : value & ((Word(1) << bits) - 1); }
inline std::int64_t as_signed(Word value, int bits) { return std::int64_t(value << (64 - bits)) >> (64 - bits); }

/// Where generic addresses of shared and of private memory lie: no host has memory there.
inline constexpr Word kSharedWindow = Word(1) << 62, kLocalWindow = Word(1) << 61, kWindowBytes = Word(1) << 32;

[[noreturn]] void ptx_fail(const PtxThread& t, const PtxInstruction& i, const std::string& why);

/// The parts of an instruction's name: "ld", "global", "u32".
using PtxName = std::vector<std::string>;

/// Actions by name, with the fields of the instruction that they read; null: none here knows it.
PtxAction find_arithmetic(const PtxName& name, PtxInstruction& i);
PtxAction find_comparison(const PtxName& name, PtxInstruction& i);
PtxAction find_conversion(const PtxName& name, PtxInstruction& i);
PtxAction find_memory(const PtxName& name, PtxInstruction& i);
PtxAction find_control(const PtxName& name, PtxInstruction& i);
PtxAction find_texture(const PtxName& name, PtxInstruction& i);
/// Copies from arrays to shared memory that run by themselves.
PtxAction find_copy(const PtxName& name, PtxInstruction& i);

/// Bytes of shared memory that a thread reads, checked.
const unsigned char* ptx_shared(PtxThread& t, const PtxInstruction& i, Word address, std::size_t bytes);
/// Instructions of a whole warp (ptx_matrices.cpp).
void load_matrices(PtxThread* warp, const PtxInstruction& i);
void multiply_matrices(PtxThread* warp, const PtxInstruction& i);
/// Instructions of four warps (ptx_groups.cpp).
PtxAction find_group(const PtxName& name, PtxInstruction& i);
void set_group_flags(PtxInstruction& i, const std::vector<std::string>& operands);
void multiply_groups(PtxThread* group, const PtxInstruction& i);

/// "u32": its letter and its bits; f16 is 'h', bf16 'g', and x2 doubles the bits of a letter in capitals.
bool ptx_type(const std::string& text, char& kind, std::uint8_t& width);
bool has_part(const PtxName& name, const char* part);
PtxVerb verb_of(const std::string& text);

/// Number formats of 16 bits.
double half_value(Word bits, char kind);
Word half_bits(double value, char kind);

/// old, operand, comparand (of cas): what an atomic leaves in memory.
Word atomic_result(const PtxThread& t, const PtxInstruction& i, Word old, Word value, Word other);

/// A function's text, split into statements; labels and the braces of scopes are statements of their own.
struct PtxSource {
  PtxFunction* function = nullptr;
  bool kernel = false;
  std::vector<PtxFunction::Statement> results, parameters, statements;
};

/// Splits a module into functions; variables become memory of the program.
std::vector<PtxSource> split_ptx(const std::string& text, PtxProgram& program);
/// Makes instructions of a function's statements.
void decode_ptx(const PtxSource& source, PtxProgram& program);

std::string ptx_trimmed(const std::string& text);
/// The parts of a list between commas that stand in no brackets.
std::vector<std::string> ptx_parts(const std::string& text);
/// A declaration such as ".param .align 8 .b8 name[16]".
struct PtxDeclaration {
  std::string name, numbers;  // what stands behind '='
  std::uint32_t bytes = 0, align = 1, element = 1;
  bool open = false;  // "name[]"
};
PtxDeclaration ptx_declaration(const std::string& text);
/// A number as PTX writes it; false: it is none.
bool ptx_number(const std::string& text, Word& value);

}  // namespace weft::cuda::fake
