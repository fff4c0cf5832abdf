// Reading what threads printed.
#include "cuda/print_board.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/device.h"
#include "runtime/print_buffer.h"
#include "runtime/print_format.h"
#include "runtime/print_record.h"

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
    std::uint64_t order;
  };
  std::vector<Found> found;
  const std::uint64_t end = std::min(look(head->used), kCapacity);
  while (read_ + sizeof(GpuPrintRecord) <= end) {
    const auto* record = reinterpret_cast<const GpuPrintRecord*>(data + read_);
    const std::uint64_t bytes = look(record->bytes);
    if (bytes < sizeof(GpuPrintRecord) || bytes > kCapacity - read_) break;  // being written, or no room was left
    found.push_back({record, found.size()});
    read_ += bytes;
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    if (a.record->launch != b.record->launch) return a.record->launch < b.record->launch;
    return a.record->linear != b.record->linear ? a.record->linear < b.record->linear : a.order < b.order;
  });
  std::string text;
  for (const Found& one : found) {
    const char* format = reinterpret_cast<const char*>(one.record + 1);
    runtime::format_values(format, format + one.record->text_bytes, text);
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
