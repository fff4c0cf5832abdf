// Graphs that were captured without a tape's knowing, and repeat what it has recorded when they run. Nobody writes anything
// down then, so it serves tapes whose backward pass needs nothing but what lies in the arrays at the end.
#pragma once
#include "driver/graph_writes.h"
#include "driver/tape_repeat.h"

namespace weft::driver {

/// One run of a graph, as its work is announced piece by piece, and how far it has repeated each tape.
class GraphRepeats {
 public:
  GraphRepeats();
  using Ranges = std::vector<runtime::ByteRange>;
  /// The graph comes to a launch that writes to these places, or to other work; all of it was announced.
  void note(const GraphWrites::Launch& launch, const Ranges& written);
  void note(const std::string& by, const Ranges& written);

 private:
  struct Followed {
    std::shared_ptr<Tape::Take> take;
    std::size_t at = 0;
    Ranges used{};  // by the steps before
  };
  template <class Fits>
  void note_work(const Ranges& written, const Fits& fits);
  std::vector<Followed> tapes_;
};

}  // namespace weft::driver
