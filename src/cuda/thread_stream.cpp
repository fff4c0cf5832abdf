// Streams of threads: a thread inside of a scope queues its work there, whatever other threads have made current. Frameworks
// call from threads of their own (one for each device, or for backward passes), which must not change each other's stream.
#include <algorithm>

#include "cuda/device.h"
#include "runtime/late_work.h"

namespace weft::cuda {
namespace {

struct ThreadStream {
  const Device* device;
  std::shared_ptr<Stream> stream;
};

/// One entry for each device on which the thread has a stream of its own; mostly none.
thread_local std::vector<ThreadStream> thread_streams;

auto entry_of(const Device* device) {
  return std::find_if(thread_streams.begin(), thread_streams.end(),
                      [&](const ThreadStream& entry) { return entry.device == device; });
}

}  // namespace

const std::shared_ptr<Stream>* Device::thread_stream() const {
  if (!thread_streams_.load(std::memory_order_relaxed)) return nullptr;
  const auto entry = entry_of(this);
  return entry == thread_streams.end() ? nullptr : &entry->stream;
}

std::shared_ptr<Stream> Device::set_thread_stream(std::shared_ptr<Stream> stream) {
  const auto entry = entry_of(this);
  if (!stream) {
    if (entry == thread_streams.end()) return nullptr;
    std::shared_ptr<Stream> before = std::move(entry->stream);
    thread_streams.erase(entry);
    thread_streams_.fetch_sub(1, std::memory_order_relaxed);
    runtime::LateWork::resume();
    return before;
  }
  check_stream(stream);
  stream->use();
  if (entry != thread_streams.end()) {
    entry->stream.swap(stream);
    return stream;
  }
  runtime::LateWork::suspend();  // whichever thread does work that waits does it on the stream of the process
  thread_streams.push_back({this, std::move(stream)});
  thread_streams_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace weft::cuda
