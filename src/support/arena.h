// A bump allocator. Objects live until the arena does; destructors are not run, so only trivially destructible types
// may be made here. AST nodes and IR operations live in arenas: allocation is a pointer increment, freeing is free.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Raw memory, aligned; never null.
  void* allocate(std::size_t bytes, std::size_t align) {
    std::uintptr_t at = (next_ + (align - 1)) & ~(std::uintptr_t(align) - 1);
    if (at + bytes > end_) [[unlikely]]
      return allocate_slow(bytes, align);
    next_ = at + bytes;
    return reinterpret_cast<void*>(at);
  }

  /// Constructs a T in the arena.
  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "arena objects are never destroyed");
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  /// An uninitialised array of n trivially copyable elements.
  template <class T>
  std::span<T> make_array(std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    return {static_cast<T*>(allocate(sizeof(T) * n, alignof(T))), n};
  }

  /// A copy of a sequence in the arena.
  template <class T>
  std::span<T> copy(std::span<const T> from) {
    std::span<T> to = make_array<T>(from.size());
    if (!from.empty()) std::memcpy(static_cast<void*>(to.data()), from.data(), from.size_bytes());
    return to;
  }
  template <class T>
  std::span<T> copy(const std::vector<T>& from) {
    return copy(std::span<const T>(from));
  }
  std::string_view copy(std::string_view text) {
    std::span<char> to = copy(std::span<const char>(text.data(), text.size()));
    return {to.data(), to.size()};
  }

  /// Bytes taken from the system so far.
  std::size_t bytes_reserved() const { return reserved_; }

 private:
  void* allocate_slow(std::size_t bytes, std::size_t align);

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::uintptr_t next_ = 0;
  std::uintptr_t end_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace weft
