// The order of what is captured into a graph. Streams put one piece of work behind the other; a graph need not: work that says
// which memory it touches goes behind those that touch the same, and beside all others. What says nothing is behind all that came
// before it, and in front of all that follows.
#pragma once
#include <atomic>
#include <bitset>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/driver_types.h"
#include "runtime/array.h"

namespace weft::cuda {

class Capture;
class Device;

/// The memory of a piece of work.
struct Touched {
  std::vector<runtime::ByteRange> read, written;
};

/// Of one capture. The stream always stands behind everything that was captured, so that whoever knows nothing of this comes
/// behind all of it; between begin() and end() it stands behind what the work has to wait for.
class GraphOrder {
 public:
  explicit GraphOrder(const Capture& capture) : capture_(capture) {}

  /// Work is about to be captured; until end() other threads wait with theirs. False if it is to come behind everything.
  bool begin(Touched touched);
  /// It was, or failed.
  void end() noexcept;
  /// Whether the stream stands where it should not, so that the graph must not be used.
  bool broken() const { return broken_; }

 private:
  static constexpr std::size_t kMostNodes = 256;  // that are compared; more are begun anew behind all of these
  using Numbers = std::bitset<kMostNodes>;
  struct Node {
    GraphNodeHandle handle;
    Touched touched;
    Numbers before;  // all that it comes behind
  };
  std::vector<GraphNodeHandle> stands_behind() const;
  void stand_behind(std::vector<GraphNodeHandle> nodes);
  /// Nodes that no other one comes behind.
  std::vector<GraphNodeHandle> last() const;

  const Capture& capture_;
  std::mutex mutex_;      // held from begin() to end()
  bool refused_ = false;  // by a driver that can't: all comes behind everything then
  std::atomic<bool> broken_{false};
  std::vector<GraphNodeHandle> first_;  // behind which the nodes come
  std::vector<Node> nodes_;
  std::vector<GraphNodeHandle> stands_;  // as it was left
  std::vector<GraphNodeHandle> waits_;   // behind which the work comes that is captured now
  Node now_;
};

/// A piece of work on a device, from its beginning to its end, if it is captured into a graph of ours there.
class OrderedWork {
 public:
  /// `touched` gives what it touches, or nothing if nobody knows. Asked only where it matters: most work is not captured.
  template <class Tell>
  OrderedWork(Device& device, StreamHandle stream, const Tell& touched) : order_(order_of(device, stream)) {
    if (!order_) return;
    std::optional<Touched> memory = touched();
    if (!memory || !order_->begin(std::move(*memory))) order_ = nullptr;
  }
  ~OrderedWork() {
    if (order_) order_->end();
  }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

 private:
  /// Null where nobody asks.
  static GraphOrder* order_of(Device& device, StreamHandle stream);

  GraphOrder* order_;
};

}  // namespace weft::cuda
