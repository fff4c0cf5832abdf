// Writes that no gradient goes back over: those that a tape did not record or can't reverse, and those through an array
// that shares memory with another one, but not its gradient. Going back past one is an error.
#pragma once
#include <string>
#include <vector>

#include "driver/tape.h"

namespace weft::driver {

struct UnreversedWrite {
  std::size_t moment = 0;  // how many operations the tape had then
  std::string why;         // what happened and what to do
  runtime::ByteRange range;
  std::vector<std::int64_t> layout;  // of the elements that were written (runtime::layout_of); empty: all of the range
  /// An array with a gradient that the tape used there.
  struct Use {
    const runtime::Array* array;
    bool written;
  };
  std::vector<Use> arrays;
};
std::vector<UnreversedWrite> unreversed_writes(const Tape& tape);

/// The gradients on the far side of such a write; to be made before gradients are seeded.
class FarSide {
 public:
  explicit FarSide(const UnreversedWrite& write);
  std::size_t moment() const { return moment_; }
  /// Throws if gradients would go past.
  void check() const;

 private:
  struct Watched {
    const runtime::Array* array;
    std::vector<std::size_t> elements;
    std::vector<double> before;  // components of their gradients
  };
  std::size_t moment_;
  std::string why_;
  std::vector<Watched> watched_;
};

}  // namespace weft::driver
