// Second names of tiles that a program wishes in shared memory: b = a copies (docs/design/tiles.md), but elsewhere both names
// stand for one memory on GPUs. Where one of the two is changed further on and the other one read behind that, the result
// differs, and the program is told so.
#pragma once
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::sema {

/// The memory of a tile, of a descriptor or of a window of it, as it is before loops that carry it; null where several may be meant.
const ir::Op* tile_memory_of(const ir::Value* value);

class SecondNames {
 public:
  /// A tile that was assigned to another variable: its memory, that of the copy, and the last operation of the copying.
  struct Copy {
    const ir::Op *first, *second, *last;
    std::string first_name, second_name;
    SourceLoc at;
    std::uint32_t underline;
  };
  void note(Copy copy) { copies_.push_back(std::move(copy)); }
  /// An operation that gives a variable a tile, in the memory that it has: no change of the tile it had.
  void note_assignment(const ir::Op& op) { assignments_.push_back(&op); }
  /// Warns of those of a function that is complete.
  void report(const ir::Function& function, DiagnosticSink& sink) const;

 private:
  std::vector<Copy> copies_;
  std::vector<const ir::Op*> assignments_;
};

}  // namespace weft::sema
