// Reading what threads printed.
#include "cuda/print_board.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "cuda/device.h"
#include "runtime/print_buffer.h"
#include "runtime/print_format.h"
#include "runtime/print_record.h"
#include "support/print_marks.h"

namespace weft::cuda {
namespace {

using runtime::GpuPrintBuffer;
using runtime::GpuPrintRecord;

constexpr std::uint64_t kCapacity = 1 << 20;

std::uint64_t look(const std::uint64_t& counter) { return __atomic_load_n(&counter, __ATOMIC_ACQUIRE); }

}  // namespace

std::uint64_t PrintBoard::buffer() {
  if (char* ready = memory_.load(std::memory_order_acquire)) return reinterpret_cast<std::uint64_t>(ready);
  std::lock_guard lock(mutex_);
  if (!owner_ && !failed_) {
    try {
      owner_ = device_.system().pinned().allocate(sizeof(GpuPrintBuffer) + kCapacity, true);
    } catch (const runtime::Error&) {  // kernels run all the same, silently
      failed_ = true;
      return 0;
    }
    reinterpret_cast<GpuPrintBuffer*>(owner_.get())->capacity = kCapacity;
    memory_.store(static_cast<char*>(owner_.get()), std::memory_order_release);
  }
  return reinterpret_cast<std::uint64_t>(owner_.get());
}

std::string PrintBoard::take() {
  auto* head = static_cast<GpuPrintBuffer*>(owner_.get());
  char* data = static_cast<char*>(owner_.get()) + sizeof(GpuPrintBuffer);
  struct Found {
    const GpuPrintRecord* record;
    std::uint64_t launch;  // that it comes with
    std::uint64_t inside;  // 0, or which kernel of a graph it is that ran behind that launch
    std::uint64_t order;
  };
  std::vector<Found> found;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> in_graphs;  // by number: launch and inside
  std::uint64_t latest = 0;
  const std::uint64_t end = std::min(look(head->used), kCapacity);
  while (read_ + sizeof(GpuPrintRecord) <= end) {
    const auto* record = reinterpret_cast<const GpuPrintRecord*>(data + read_);
    const std::uint64_t bytes = look(record->bytes);
    if (bytes < sizeof(GpuPrintRecord) || bytes > kCapacity - read_) break;  // being written, or no room was left
    Found one{record, record->launch, 0, found.size()};
    if (record->launch & kInGraph) {  // its number is from the capture: it runs where it shows up first
      std::tie(one.launch, one.inside) = in_graphs.try_emplace(record->launch, latest, one.order + 1).first->second;
    } else {
      latest = std::max(latest, record->launch);
    }
    found.push_back(one);
    read_ += bytes;
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.launch, a.inside, a.record->linear, a.order) <
           std::tie(b.launch, b.inside, b.record->linear, b.order);
  });
  std::string text;
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::string_view>> said;  // by places that speak once for a launch
  for (const Found& one : found) {
    const char* format = reinterpret_cast<const char*>(one.record + 1);
    const char* values = format + one.record->text_bytes;
    if (*format == kOncePerLaunch && !said.emplace(one.launch, one.inside, format++).second) continue;
    runtime::format_values(format, values, text);
  }
  if (const std::uint64_t lost = look(head->lost); lost != lost_shown_) {
    text += "[" + std::to_string(lost - lost_shown_) + " more prints on " + device_.name() +
            " were lost: there is room for " + std::to_string(kCapacity >> 20) + " MB between two waits]\n";
    lost_shown_ = lost;
  }
  return text;
}

void PrintBoard::show() noexcept {
  char* memory = memory_.load(std::memory_order_acquire);
  if (!memory) return;
  auto* head = reinterpret_cast<GpuPrintBuffer*>(memory);
  std::string text;
  try {
    std::lock_guard lock(mutex_);
    if (look(head->used) == read_) return;
    const std::uint64_t launches = launches_.load(std::memory_order_relaxed);
    text = take();
    // The buffer starts anew when nobody can be writing to it.
    if (device_.idle() && launches_.load(std::memory_order_relaxed) == launches) {
      std::memset(memory + sizeof(GpuPrintBuffer), 0, std::min(look(head->used), kCapacity));
      __atomic_store_n(&head->lost, 0, __ATOMIC_RELEASE);
      __atomic_store_n(&head->used, 0, __ATOMIC_RELEASE);
      read_ = lost_shown_ = 0;
    }
  } catch (const std::exception&) {  // no memory for the text: what was printed is lost, the wait is not
  }
  if (!text.empty()) runtime::print_to_sink(text);
}

}  // namespace weft::cuda
