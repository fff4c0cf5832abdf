// Who hears of the copies and fills that a thread asks for while a graph is captured, on whichever device: what is saved
// of a graph is what was asked for, not how it was done. Costs a look at one number when nobody listens.
#pragma once
#include <atomic>

#include "runtime/array.h"

namespace weft::runtime {

class WorkJournal {
 public:
  virtual ~WorkJournal() = default;
  virtual void copied(const Array& to, const Array& from) = 0;
  virtual void filled(const Array& to, const void* value) = 0;
};

namespace detail {
extern std::atomic<int> journals;
WorkJournal* journal_now() noexcept;
}  // namespace detail

/// The journal of the calling thread; null when it has none, or inside of work that was heard already.
inline WorkJournal* journal() noexcept {
  return detail::journals.load(std::memory_order_relaxed) == 0 ? nullptr : detail::journal_now();
}
/// Sets it; null: none any more.
void set_journal(WorkJournal* journal);

/// Tells the journal, if there is one, of a copy or a fill; what is done while this lives is a part of it.
class HeardWork {
 public:
  HeardWork(const Array& to, const Array& from);
  HeardWork(const Array& to, const void* value);
  /// Of nothing: what follows is no matter of the journal.
  HeardWork();
  ~HeardWork();
  HeardWork(const HeardWork&) = delete;
  HeardWork& operator=(const HeardWork&) = delete;

 private:
  void pause();
  bool paused_ = false;
};

}  // namespace weft::runtime
