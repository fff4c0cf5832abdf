// Questions to the host, from the launcher and from inside of kernels.
#include "runtime/stopping.h"

namespace weft::runtime {

Questions::Questions(const LaunchOptions& options, LaunchContext& context) noexcept
    : interrupted_(options.interrupted), state_(options.interrupted_state), context_(context) {
  if (!interrupted_) return;
  caller_ = std::this_thread::get_id();
  context.ask = [](void* self) { static_cast<Questions*>(self)->ask(); };
  context.ask_state = this;
}

Questions::~Questions() {
  context_.ask = nullptr;
  context_.ask_state = nullptr;
}

void Questions::ask() noexcept {
  if (!interrupted_ || stopped() || std::this_thread::get_id() != caller_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  if (next_ != Clock::time_point{} && interrupted_(state_)) context_.stop.store(1, std::memory_order_relaxed);
  next_ = Clock::now() + kAskInterval;
}

}  // namespace weft::runtime

std::int32_t weft_rt_turns(weft::runtime::LaunchContext* context) {
  if (context->ask) context->ask(context->ask_state);
  return context->stop.load(std::memory_order_relaxed) ? 0 : weft::runtime::kTurnsBetweenQuestions;
}
