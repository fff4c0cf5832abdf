// Reserving, trimming and describing the log.
#include "runtime/tape_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/errors.h"

namespace weft::runtime {
namespace {

/// Address space that belongs to nobody until it is written to.
class Reservation {
 public:
  explicit Reservation(std::uint64_t most) {
    for (bytes_ = most; bytes_ >= kLeast; bytes_ /= 2) {
      void* got = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (got == MAP_FAILED) continue;
      data_ = got;
      return;
    }
    throw OutOfMemory(most, "there is no memory for what a taped launch must write down");
  }
  ~Reservation() { munmap(data_, bytes_); }
  Reservation(const Reservation&) = delete;

  void* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Gives back all behind the first `used` bytes.
  void trim(std::uint64_t used) {
    const auto page = std::uint64_t(sysconf(_SC_PAGESIZE));
    used = std::max(page, (used + page - 1) / page * page);
    if (used >= bytes_) return;
    munmap(static_cast<char*>(data_) + used, bytes_ - used);
    bytes_ = used;
  }

 private:
  static constexpr std::uint64_t kLeast = 1 << 20;
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

std::uint64_t most_bytes() {
  const std::uint64_t memory = std::uint64_t(sysconf(_SC_PHYS_PAGES)) * std::uint64_t(sysconf(_SC_PAGESIZE));
  return std::max<std::uint64_t>(memory / 2, 1 << 26) & ~std::uint64_t(0xffff);
}

constexpr std::int64_t kGpuPagesPerThread = 4, kGpuLeastPages = 1 << 16;

Array make(ScalarKind kind, std::initializer_list<std::int64_t> shape, MemorySpace* space) {
  return Array::empty(types::scalar(kind), Array::Shape(shape.begin(), shape.size()), false, space);
}

}  // namespace

TapeLog::TapeLog(std::uint32_t fixed_words, std::uint32_t page_words, std::int64_t threads, MemorySpace* space,
                 std::int64_t words_before)
    : page_words_(page_words) {
  fixed_ = make(ScalarKind::u32, {fixed_words, threads}, space);
  first_ = make(ScalarKind::i64, {page_words ? threads : 0}, space);
  next_ = make(ScalarKind::i64, {1}, space);
  const std::int64_t start = page_words;  // page 0 takes what has no place
  next_.fill(&start);
  if (!page_words) {
    pages_ = make(ScalarKind::u32, {0}, space);
    return;
  }
  if (space && !space->on_host()) {
    std::int64_t words = guess(page_words, threads);
    if (words_before) words = ((words_before / 8 * 9 + words_before % 8) / page_words + 2) * page_words;
    pages_ = make(ScalarKind::u32, {words}, space);
    return;
  }
  auto reservation = std::make_shared<Reservation>(most_bytes());
  Array::External memory;
  memory.data = reservation->data();
  memory.release = [reservation] {};
  const auto words = std::int64_t(reservation->bytes() / 4 / page_words * page_words);
  pages_ = Array::wrap(types::scalar(ScalarKind::u32), {words}, std::move(memory));
  trim_ = [reservation](std::uint64_t used) { reservation->trim(used); };
}

std::int64_t TapeLog::guess(std::uint32_t page_words, std::int64_t threads) {
  return std::max(threads * kGpuPagesPerThread, kGpuLeastPages) * page_words;
}

void TapeLog::write_descs(ArrayDesc out[kArrays]) const {
  out[0] = fixed_.desc();
  out[1] = first_.desc();
  out[2] = pages_.desc();
  out[3] = next_.desc();
}

bool TapeLog::fits() {
  if (settled() || !next_.is_valid()) return true;
  std::int64_t next = 0;
  if (next_.on_host()) {
    next = *next_.span<std::int64_t>().data();
  } else {
    Array here = Array::empty(types::i64(), {1});
    here.assign(next_);
    next = *here.span<std::int64_t>().data();
  }
  return fits(next);
}

bool TapeLog::fits(std::int64_t counted) {
  words_ = counted;
  if (counted > pages_.size()) return false;
  finished_ = !open_;
  used_bytes_ = std::uint64_t(counted) * 4;
  if (trim_) trim_(used_bytes_);
  trim_ = nullptr;
  return true;
}

void TapeLog::finish() {
  if (fits()) return;
  throw Error("a taped launch wrote down more than there was room for: " + std::to_string(words_ >> 18) +
              " MB were needed, " + std::to_string(pages_.bytes() >> 20) + " MB were there; " +
              (pages_.on_host() ? "launch fewer threads at a time or split the loop"
                                : "record it again, the next launch gets enough, or launch fewer threads at a time"));
}

void TapeLog::shrink() {
  if (!finished_ || !page_words_ || pages_.on_host() || words_ * 2 > pages_.size()) return;
  Array small = make(ScalarKind::u32, {words_}, pages_.space());
  small.assign(pages_.slice(0, 0, words_));
  pages_ = std::move(small);
}

std::vector<Array> TapeLog::keep_open() {
  open_ = true;
  trim_ = nullptr;
  return arrays();
}

std::uint64_t TapeLog::bytes() const {
  return fixed_.is_valid() ? fixed_.bytes() + first_.bytes() + next_.bytes() + used_bytes_ : 0;
}

}  // namespace weft::runtime
