// Changing stacks takes a few instructions of each processor's own: what a function call must keep is put on the stack, and
// the stack pointer changed. Stacks are memory that the system gives page by page as it is used, with a page between two that
// nobody may touch.
#include "runtime/fibers.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(WEFT_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" {
/// Keeps the caller's place in *from and goes on at `to`.
void weft_change_stack(void** from, void* to);
/// Where a new stack begins: calls the function kept there with the pointer kept there.
void weft_begin_stack();
}

#if defined(__aarch64__)
asm(R"(
    .text
    .p2align 4
    .hidden weft_change_stack
    .globl weft_change_stack
    .type weft_change_stack, %function
weft_change_stack:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size weft_change_stack, .-weft_change_stack
    .hidden weft_begin_stack
    .globl weft_begin_stack
    .type weft_begin_stack, %function
weft_begin_stack:
    mov x0, x19
    blr x20
    brk #1
    .size weft_begin_stack, .-weft_begin_stack
)");
#elif defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
    .hidden weft_change_stack
    .globl weft_change_stack
    .type weft_change_stack, @function
weft_change_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size weft_change_stack, .-weft_change_stack
    .hidden weft_begin_stack
    .globl weft_begin_stack
    .type weft_begin_stack, @function
weft_begin_stack:
    movq %rbx, %rdi
    call *%r12
    ud2
    .size weft_begin_stack, .-weft_begin_stack
)");
#else
#error "how stacks are changed on this processor is not known"
#endif

namespace weft::runtime {

bool Fibers::reserve(int count, std::size_t stack_bytes) noexcept {
  const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
  stack_bytes = (stack_bytes + page - 1) / page * page;
  if (memory_ && reserved_ >= count && stack_bytes_ >= stack_bytes) return true;
  const int most = std::max(count, reserved_);
  const std::size_t each = std::max(stack_bytes, stack_bytes_);
  release();
  const std::size_t all = std::size_t(most) * (each + page);
  void* memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<char*>(memory);
  stack_bytes_ = each;
  guard_ = page;
  reserved_ = most;
  // Stacks grow down, into the page in front of them.
  for (int k = 0; k < most; ++k) mprotect(bottom(k), guard_, PROT_NONE);
  places_.resize(std::size_t(most));
  return true;
}

void Fibers::release() noexcept {
  if (memory_) munmap(memory_, std::size_t(reserved_) * (stack_bytes_ + guard_));
  memory_ = nullptr;
  reserved_ = 0;
}

void Fibers::prepare(int number) noexcept {
  char* const top = bottom(number) + guard_ + stack_bytes_;
#if defined(__aarch64__)
  constexpr std::size_t kWords = 20;
  void** const words = reinterpret_cast<void**>(top) - kWords;
  std::memset(words, 0, kWords * sizeof(void*));
  words[0] = this;                                     // x19
  words[1] = reinterpret_cast<void*>(&Fibers::enter);  // x20
  words[11] = reinterpret_cast<void*>(&weft_begin_stack);
#else
  // Six registers, where to return to, and two more: at the call in weft_begin_stack the stack is a multiple of 16.
  constexpr std::size_t kWords = 9;
  void** const words = reinterpret_cast<void**>(top) - kWords;
  std::memset(words, 0, kWords * sizeof(void*));
  words[3] = reinterpret_cast<void*>(&Fibers::enter);  // r12
  words[4] = this;                                     // rbx
  words[6] = reinterpret_cast<void*>(&weft_begin_stack);
#endif
  places_[std::size_t(number)].stack_pointer = words;
}

void Fibers::arrived([[maybe_unused]] void* shadow) noexcept {
#if defined(WEFT_ADDRESS_SANITIZER)
  const void* from = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(shadow, &from, &size);
  if (!outside_bottom_) outside_bottom_ = from, outside_size_ = size;
#endif
}

/// `to` < 0: back to whoever called run().
void Fibers::go(void** from, [[maybe_unused]] void** shadow, int to) noexcept {
  current_ = to;
#if defined(WEFT_ADDRESS_SANITIZER)
  const void* at = to < 0 ? outside_bottom_ : bottom(to) + guard_;
  __sanitizer_start_switch_fiber(shadow, at, to < 0 ? outside_size_ : stack_bytes_);
#endif
  weft_change_stack(from, to < 0 ? outside_ : places_[std::size_t(to)].stack_pointer);
}

void Fibers::enter(void* self) noexcept {
  Fibers& all = *static_cast<Fibers*>(self);
  all.arrived(nullptr);
  const int own = all.current_;
  all.body_(all.state_, own);
  Place& place = all.places_[std::size_t(own)];
  const int next = place.next == own ? -1 : place.next;
  if (next >= 0) {
    all.places_[std::size_t(place.before)].next = next;
    all.places_[std::size_t(next)].before = place.before;
  }
  place.next = place.before = -1;
  --all.alive_;
  all.go(&place.stack_pointer, nullptr, next);  // it never comes back
  __builtin_unreachable();
}

void Fibers::yield() noexcept {
  Place& own = places_[std::size_t(current_)];
  if (own.next == current_) return;
  go(&own.stack_pointer, &own.shadow, own.next);
  arrived(own.shadow);
}

bool Fibers::run(int count, std::size_t stack_bytes, void (*body)(void*, int), void* state) noexcept {
  if (count < 1) return true;
  if (!reserve(count, stack_bytes)) return false;
  for (int k = 0; k < count; ++k) {
    prepare(k);
    places_[std::size_t(k)].next = k + 1 < count ? k + 1 : 0;
    places_[std::size_t(k)].before = k > 0 ? k - 1 : count - 1;
  }
  body_ = body;
  state_ = state;
  alive_ = count;
  outside_bottom_ = nullptr;
  go(&outside_, &outside_shadow_, 0);
  arrived(outside_shadow_);
  current_ = -1;
  return true;
}

}  // namespace weft::runtime
