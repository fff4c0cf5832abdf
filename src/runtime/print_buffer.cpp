// Collecting and writing what kernels print, and the helper that generated code calls.
#include "runtime/print_buffer.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>

#include "support/print_marks.h"

namespace weft::runtime {
namespace {

// A launch that is printing may still hold the sink that was just replaced, so sinks live until the process ends: they
// are few. Readers take no lock, which also keeps a forked child from inheriting one.
std::atomic<const PrintSink*> current_sink{nullptr};

void write_stdout(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

void set_print_sink(PrintSink sink) {
  static std::mutex mutex;
  static auto& all = *new std::vector<std::unique_ptr<const PrintSink>>;
  if (!sink) {
    current_sink.store(nullptr, std::memory_order_release);
    return;
  }
  std::lock_guard lock(mutex);
  all.push_back(std::make_unique<const PrintSink>(std::move(sink)));
  current_sink.store(all.back().get(), std::memory_order_release);
}

void print_to_sink(std::string_view text) {
  if (const PrintSink* sink = current_sink.load(std::memory_order_acquire))
    (*sink)(text);
  else
    write_stdout(text);
}

void PrintBuffer::add(std::int64_t linear, const char* format, const void* values) noexcept {
  // In serial mode order matters more than memory: a chunk's output is sorted before it is written.
  const std::size_t limit = group_size_ == 1 ? std::size_t(64) << 20 : std::size_t(1) << 20;
  try {
    if (*format == kOncePerLaunch) {
      std::lock_guard lock(mutex_);
      if (said_.contains(std::string_view(format))) return;
      said_.emplace(format++);
    }
    std::string line;
    format_values(format, values, line);
    std::string text;
    std::vector<Record> records;
    {
      std::lock_guard lock(mutex_);
      const std::size_t begin = text_.size();
      text_ += line;
      records_.push_back({linear, begin, text_.size()});
      if (text_.size() < limit) return;
      text.swap(text_);
      records.swap(records_);
    }
    write(std::move(text), std::move(records));
  } catch (...) {
    // Out of memory, or a sink that throws: output is lost, the kernel goes on.
  }
}

void PrintBuffer::flush() noexcept {
  try {
    std::string text;
    std::vector<Record> records;
    {
      std::lock_guard lock(mutex_);
      text.swap(text_);
      records.swap(records_);
    }
    if (!records.empty()) write(std::move(text), std::move(records));
  } catch (...) {
    // As above.
  }
}

void PrintBuffer::write(std::string text, std::vector<Record> records) const {
  // `begin` grows in the order of arrival, which breaks ties.
  const auto before = [&](const Record& a, const Record& b) {
    const std::int64_t group_a = a.linear / group_size_, group_b = b.linear / group_size_;
    return group_a != group_b ? group_a < group_b : a.begin < b.begin;
  };
  if (!std::is_sorted(records.begin(), records.end(), before)) {
    std::sort(records.begin(), records.end(), before);
    std::string sorted;
    sorted.reserve(text.size());
    for (const Record& r : records) sorted.append(text, r.begin, r.end - r.begin);
    text.swap(sorted);
  }
  if (sink_)
    (*sink_)(text);
  else
    print_to_sink(text);
}

}  // namespace weft::runtime

void weft_rt_print(weft::runtime::LaunchContext* context, const char* format, std::int64_t linear, const void* values) {
  if (context->print) context->print->add(linear, format, values);
}
