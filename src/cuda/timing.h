// How long kernels, copies, fills and graphs take on the devices, between two calls of a program: each is put between two
// events while somebody asks. Off, it costs a look at one number.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/stream.h"

namespace weft::cuda {

/// Kinds of work, as bits of filters.
inline constexpr unsigned kTimeKernel = 1, kTimeBuiltin = 2, kTimeCopy = 4, kTimeFill = 8, kTimeGraph = 16;

struct TimedWork {
  Device* device = nullptr;
  std::string name;
  unsigned kind = 0;
  float milliseconds = 0;
};

class Timing {
 public:
  /// Measures work of these kinds from now on, until the end() that belongs to it; ranges may be nested.
  void begin(unsigned filter);
  /// Ends the innermost range: all that was queued in it, in that order. Work still under way is waited for. Empty if
  /// nothing was begun.
  std::vector<TimedWork> end();
  bool wants(unsigned kind) const { return (filter_.load(std::memory_order_relaxed) & kind) != 0; }
  bool wants_any() const { return filter_.load(std::memory_order_relaxed) != 0; }

 private:
  friend class TimedScope;
  struct Entry {
    std::shared_ptr<Event> start, end;
    std::string name;
    unsigned kind = 0;
  };
  struct Range {
    unsigned filter = 0;
    std::size_t first = 0;
  };
  std::atomic<unsigned> filter_{0};  // of all ranges
  std::mutex mutex_;                 // guards the rest
  std::vector<Range> ranges_;
  std::vector<Entry> entries_;
};

/// Work queued on a stream while this lives is one entry, if somebody asks for its kind. Not while a graph is captured.
class TimedScope {
 public:
  /// `prefix` and `name` are its name together.
  TimedScope(Device& device, StreamHandle stream, unsigned kind, const char* prefix, const std::string& name = {});
  ~TimedScope();
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;

 private:
  void start(const char* prefix, const std::string& name);

  Device& device_;
  StreamHandle stream_;
  unsigned kind_;
  std::shared_ptr<Event> begun_;
  std::string name_;
};

}  // namespace weft::cuda
