// Nodes are compared with those before them, the latest first: what one of those comes behind need not be waited for again.
#include "cuda/graph_order.h"

#include <algorithm>
#include <utility>

#include "cuda/device.h"
#include "cuda/graph.h"

namespace weft::cuda {
namespace {

using Ranges = std::vector<runtime::ByteRange>;

/// Puts ranges in order, joining those that meet.
void tidy(Ranges& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.lo < b.lo; });
  std::size_t count = 0;
  for (const runtime::ByteRange& range : ranges) {
    if (count && range.lo <= ranges[count - 1].hi)
      ranges[count - 1].hi = std::max(ranges[count - 1].hi, range.hi);
    else
      ranges[count++] = range;
  }
  ranges.resize(count);
}

/// Of tidy ones.
bool any_meet(const Ranges& a, const Ranges& b) {
  for (auto one = a.begin(), other = b.begin(); one != a.end() && other != b.end();) {
    if (one->intersects(*other)) return true;
    one->lo < other->lo ? ++one : ++other;
  }
  return false;
}

/// Whether one of two must wait for the other; their ranges are tidy.
bool meet(const Touched& a, const Touched& b) {
  return any_meet(a.written, b.written) || any_meet(a.written, b.read) || any_meet(a.read, b.written);
}

}  // namespace

std::vector<GraphNodeHandle> GraphOrder::stands_behind() const {
  std::vector<GraphNodeHandle> nodes;
  capture_.so_far(nodes);
  return nodes;
}

void GraphOrder::stand_behind(std::vector<GraphNodeHandle> nodes) {
  WEFT_CUDA(capture_.device().api(), capture_continue, capture_.stream(), nodes.data(), nodes.size(),
            kCaptureSetLeaves);
}

std::vector<GraphNodeHandle> GraphOrder::last() const {
  Numbers followed;
  for (const Node& node : nodes_) followed |= node.before;
  std::vector<GraphNodeHandle> out;
  for (std::size_t k = 0; k < nodes_.size(); ++k)
    if (!followed[k]) out.push_back(nodes_[k].handle);
  return nodes_.empty() ? first_ : out;
}

bool GraphOrder::begin(Touched touched) {
  std::unique_lock lock(mutex_);
  if (refused_) return false;
  std::vector<GraphNodeHandle> stands = stands_behind();
  if (stands != stands_ || nodes_.size() == kMostNodes) {  // something came that said nothing
    first_ = stands;
    nodes_.clear();
  }
  tidy(touched.read);
  tidy(touched.written);
  now_ = {nullptr, std::move(touched), {}};
  waits_.clear();
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    if (now_.before[k] || !meet(nodes_[k].touched, now_.touched)) continue;
    waits_.push_back(nodes_[k].handle);
    now_.before |= nodes_[k].before;
    now_.before.set(k);
  }
  if (waits_.empty()) waits_ = first_;
  stands_ = std::move(stands);
  if (waits_ != stands_) try {
      stand_behind(waits_);
    } catch (const DriverError&) {
      refused_ = true;
      return false;
    }
  lock.release();
  return true;
}

void GraphOrder::end() noexcept {
  std::unique_lock lock(mutex_, std::adopt_lock);
  try {
    std::vector<GraphNodeHandle> made = stands_behind();
    const bool nothing = made == waits_;
    if (made.size() == 1 && !nothing) {
      now_.handle = made.front();
      nodes_.push_back(std::move(now_));
    }
    std::vector<GraphNodeHandle> all = last();
    if (made.size() != 1 && !nothing) {  // no single node: all that follows comes behind it
      all.insert(all.end(), made.begin(), made.end());
      nodes_.clear();
      first_ = all;
    }
    if (all != made) stand_behind(all);
    stands_ = std::move(all);
  } catch (const std::exception&) {
    broken_ = true;
  }
}

GraphOrder* OrderedWork::order_of(Device& device, StreamHandle stream) {
  Capture* capture = device.capture();
  const bool ours = capture && !capture->is_external() && capture->stream() == stream;
  return ours && System::parallel_graphs() ? &capture->order() : nullptr;
}

}  // namespace weft::cuda
