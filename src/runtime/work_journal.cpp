// The journal of each thread.
#include "runtime/work_journal.h"

namespace weft::runtime {
namespace {

thread_local WorkJournal* mine = nullptr;
thread_local int paused = 0;

}  // namespace

namespace detail {
std::atomic<int> journals{0};
WorkJournal* journal_now() noexcept { return paused == 0 ? mine : nullptr; }
}  // namespace detail

void set_journal(WorkJournal* journal) {
  detail::journals.fetch_add((journal != nullptr) - (mine != nullptr), std::memory_order_relaxed);
  mine = journal;
}

HeardWork::HeardWork(const Array& to, const Array& from) {
  WorkJournal* heard = journal();
  if (!heard) return;
  heard->copied(to, from);
  pause();
}

HeardWork::HeardWork(const Array& to, const void* value) {
  WorkJournal* heard = journal();
  if (!heard) return;
  heard->filled(to, value);
  pause();
}

HeardWork::HeardWork() {
  if (journal()) pause();
}

void HeardWork::pause() {
  ++paused;
  paused_ = true;
}

HeardWork::~HeardWork() {
  if (paused_) --paused;
}

}  // namespace weft::runtime
