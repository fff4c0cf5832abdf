// Recording per thread, and running what was recorded.
#include "runtime/command_list.h"

#include <algorithm>
#include <cstring>

#include "runtime/errors.h"

namespace weft::runtime {

std::atomic<int> detail::recording_threads{0};

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxDepth = 256;      // of lists in lists: running and dropping them takes the stack
constexpr unsigned kAskEvery = 16;  // commands between two looks at the clock

/// What a thread records: the list itself, then the branches that are open.
struct ThreadRecording {
  std::vector<std::shared_ptr<CommandList>> open;
  std::uint64_t number = 0;
  int paused = 0;
  ~ThreadRecording() {
    if (!open.empty()) detail::recording_threads.fetch_sub(1, std::memory_order_relaxed);
  }
};

thread_local ThreadRecording mine;
std::atomic<std::uint64_t> recordings{0};  // begun so far

class Copy final : public Command {
 public:
  Copy(Array to, Array from) : to_(std::move(to)), from_(std::move(from)) {}
  void run(const LaunchOptions&) const override { to_.assign(from_); }
  std::string text() const override { return "copy " + std::to_string(to_.bytes()) + " bytes"; }

 private:
  Array to_, from_;
};

class Fill final : public Command {
 public:
  Fill(Array to, const void* value) : to_(std::move(to)), value_(to_.element()->size()) {
    std::memcpy(value_.data(), value, value_.size());
  }
  void run(const LaunchOptions&) const override { to_.fill(value_.data()); }
  std::string text() const override { return "fill " + std::to_string(to_.bytes()) + " bytes"; }

 private:
  Array to_;
  std::vector<unsigned char> value_;
};

const std::int32_t* condition_value(const Array& condition) {
  if (!condition.is_valid() || condition.size() != 1 || condition.element() != types::i32() || !condition.on_host())
    throw ArgumentError("a condition is an array of one int32 on the CPU");
  return static_cast<const std::int32_t*>(condition.data());
}

}  // namespace

CommandList* detail::recorded_now() noexcept {
  return mine.open.empty() || mine.paused ? nullptr : mine.open.back().get();
}

/// Asks now and then whether to go on, also between commands that are too short to ask themselves.
struct CommandList::Asking {
  const LaunchOptions& given;
  Clock::time_point next = Clock::now() + kAskInterval;
  unsigned count = 0;
  bool stopped = false;

  static bool asked(void* state) noexcept {
    auto& self = *static_cast<Asking*>(state);
    self.stopped = self.stopped || self.given.interrupted(self.given.interrupted_state);
    return self.stopped;
  }
  bool ended() noexcept {
    if (!given.interrupted || stopped) return stopped;
    if (++count % kAskEvery != 0 || Clock::now() < next) return false;
    asked(this);
    next = Clock::now() + kAskInterval;
    return stopped;
  }
};

/// A list inside another one: always, on a condition, or while it holds.
class CommandList::Nested final : public Command {
 public:
  enum class Kind : std::uint8_t { always, choice, loop };
  Nested(Kind kind, Array condition, std::shared_ptr<const CommandList> first,
         std::shared_ptr<const CommandList> second)
      : kind_(kind), condition_(std::move(condition)), first_(std::move(first)), second_(std::move(second)) {
    if (kind != Kind::always) value_ = condition_value(condition_);
  }
  void run(const LaunchOptions& options) const override {
    // Options of a list that runs carry its Asking, where somebody wants to be asked.
    Asking silent{options};
    Asking& asking = options.interrupted ? *static_cast<Asking*>(options.interrupted_state) : silent;
    switch (kind_) {
      case Kind::always: return first_->run_all(options, asking);
      case Kind::choice:
        if (const CommandList* chosen = *value_ != 0 ? first_.get() : second_.get()) chosen->run_all(options, asking);
        return;
      case Kind::loop:
        while (*value_ != 0 && !asking.ended()) first_->run_all(options, asking);
    }
  }

  std::string text() const override { return kind_ == Kind::always ? "graph" : kind_ == Kind::choice ? "if" : "while"; }
  const CommandList* first() const { return first_.get(); }
  const CommandList* second() const { return second_.get(); }

 private:
  Kind kind_;
  Array condition_;
  const std::int32_t* value_ = nullptr;
  std::shared_ptr<const CommandList> first_, second_;
};

CommandList::CommandList() = default;
CommandList::~CommandList() = default;

void CommandList::add_copy(Array to, Array from) {
  touch(to.range());
  add(std::make_unique<Copy>(std::move(to), std::move(from)));
}

void CommandList::add_fill(Array to, const void* value) {
  touch(to.range());
  add(std::make_unique<Fill>(std::move(to), value));
}

void CommandList::adopt(const std::shared_ptr<const CommandList>& list) {
  if (!list) return;
  if (list->depth_ >= kMaxDepth)
    throw ArgumentError("graphs are nested more than " + std::to_string(kMaxDepth) +
                        " deep; launch the inner ones one after the other");
  depth_ = std::max(depth_, list->depth_ + 1);
  for (auto [lo, hi] : list->touched_) touch({lo, hi});
}

void CommandList::add_list(std::shared_ptr<const CommandList> list) {
  adopt(list);
  add(std::make_unique<Nested>(Nested::Kind::always, Array(), std::move(list), nullptr));
}

void CommandList::add_if(Array condition, std::shared_ptr<const CommandList> then,
                         std::shared_ptr<const CommandList> otherwise) {
  adopt(then);
  adopt(otherwise);
  add(std::make_unique<Nested>(Nested::Kind::choice, std::move(condition), std::move(then), std::move(otherwise)));
}

void CommandList::add_while(Array condition, std::shared_ptr<const CommandList> body) {
  adopt(body);
  add(std::make_unique<Nested>(Nested::Kind::loop, std::move(condition), std::move(body), nullptr));
}

void CommandList::touch(ByteRange range) {
  if (range.lo >= range.hi) return;
  auto it = touched_.upper_bound(range.lo);
  if (it != touched_.begin() && std::prev(it)->second >= range.lo) --it;
  while (it != touched_.end() && it->first <= range.hi) {
    range.lo = std::min(range.lo, it->first);
    range.hi = std::max(range.hi, it->second);
    it = touched_.erase(it);
  }
  touched_.emplace(range.lo, range.hi);
}

bool CommandList::touches(ByteRange range) const {
  if (range.lo >= range.hi) return false;
  auto it = touched_.lower_bound(range.hi);  // the first that begins behind it
  return it != touched_.begin() && std::prev(it)->second > range.lo;
}

bool CommandList::run(const LaunchOptions& options) const {
  Asking asking{options};
  LaunchOptions inside = options;
  if (options.interrupted) {
    inside.interrupted = &Asking::asked;
    inside.interrupted_state = &asking;
  }
  run_all(inside, asking);
  return !asking.stopped;
}

void CommandList::run_all(const LaunchOptions& options, Asking& asking) const {
  for (const auto& command : commands_) {
    if (asking.ended()) return;
    command->run(options);
  }
}

int CommandList::dot(std::string& out, int last, int& next) const {
  for (const auto& command : commands_) {
    const int node = next++;
    const std::string name = "n" + std::to_string(node);
    out += "  " + name + " [label=\"";
    for (char c : command->text())
      out += c == '"' || c == '\\' ? std::string("\\") + c : c == '\n' ? "\\n" : std::string(1, c);
    out += "\"];\n";
    if (last >= 0) out += "  n" + std::to_string(last) + " -> " + name + ";\n";
    last = node;
    const auto* nested = dynamic_cast<const Nested*>(command.get());
    if (!nested) continue;
    for (const CommandList* body : {nested->first(), nested->second()}) {
      if (!body) continue;
      out += "  subgraph cluster_" + std::to_string(next) + " {\n";
      const int begin = next;
      body->dot(out, -1, next);
      out += "  }\n";
      if (next > begin)
        out += "  " + name + " -> n" + std::to_string(begin) + " [style=dashed, label=\"" +
               (body == nested->first() ? "then" : "else") + "\"];\n";
    }
  }
  return last;
}

std::string CommandList::dot() const {
  std::string out = "digraph graph_on_cpu {\n  node [shape=box];\n";
  int next = 0;
  dot(out, -1, next);
  return out + "}\n";
}

std::uint64_t recording_number() { return recording() ? mine.number : 0; }

void begin_recording() {
  if (!mine.open.empty()) throw ArgumentError("Graph capture already in progress on cpu");
  mine.open.push_back(std::make_shared<CommandList>());
  mine.number = recordings.fetch_add(1, std::memory_order_relaxed) + 1;
  detail::recording_threads.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<CommandList> end_recording() {
  if (mine.open.empty()) throw ArgumentError("Graph capture is not active on cpu in this thread");
  std::shared_ptr<CommandList> made = std::move(mine.open.front());
  const bool whole = mine.open.size() == 1;
  mine.open.clear();
  detail::recording_threads.fetch_sub(1, std::memory_order_relaxed);
  if (!whole) throw ArgumentError("a graph capture can't end inside a branch of wp.capture_if or wp.capture_while");
  return made;
}

void begin_branch() {
  if (mine.open.empty()) throw ArgumentError("Graph capture is not active on cpu in this thread");
  mine.open.push_back(std::make_shared<CommandList>());
}

bool in_branch() { return mine.open.size() > 1; }

std::shared_ptr<CommandList> end_branch() {
  if (mine.open.size() < 2) throw ArgumentError("the graph capture that a branch belongs to was ended inside of it");
  std::shared_ptr<CommandList> made = std::move(mine.open.back());
  mine.open.pop_back();
  return made;
}

bool awaits_recorded_work(ByteRange range) {
  if (!recording()) return false;
  return std::any_of(mine.open.begin(), mine.open.end(), [&](const auto& list) { return list->touches(range); });
}

void refuse_while_recording(const std::string& what) {
  if (recording())
    throw ArgumentError("can't " + what +
                        " while a graph is captured on cpu; do it before wp.capture_begin or after wp.capture_end");
}

RecordingPaused::RecordingPaused() noexcept { ++mine.paused; }
RecordingPaused::~RecordingPaused() { --mine.paused; }

}  // namespace weft::runtime
