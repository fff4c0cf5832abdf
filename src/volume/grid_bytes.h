// Bytes that somebody else wrote, read with a look at their end: numbers at offsets, and errors that say whose bytes they
// are, where in them something is wrong, and what was expected there.
#pragma once
#include <cstring>
#include <span>
#include <string>

#include "runtime/errors.h"

namespace weft::volume {

/// A file or a buffer that holds no grid, or a broken one.
class FormatError : public runtime::Error {
 public:
  using Error::Error;
};

class GridBytes {
 public:
  /// `source` is the file's name, or what else users know the bytes by; `start` is where in it they begin.
  GridBytes(std::span<const std::byte> bytes, std::string source, std::uint64_t start = 0)
      : bytes_(bytes), source_(std::move(source)), start_(start) {}

  std::uint64_t size() const { return bytes_.size(); }
  const std::string& source() const { return source_; }

  [[noreturn]] void fail(std::uint64_t at, const std::string& what) const {
    throw FormatError(source_ + ", byte " + std::to_string(start_ + at) + ": " + what);
  }

  /// That many bytes from there on; an error that names `what` if they are not there.
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t count, const char* what) const {
    if (at > size() || count > size() - at)
      fail(at, std::string("expected ") + what + " (" + std::to_string(count) + " bytes), but there are only " +
                   std::to_string(at > size() ? 0 : size() - at));
    return bytes_.subspan(std::size_t(at), std::size_t(count));
  }

  /// The number at an offset that is known to lie inside.
  template <class T>
  T get(std::uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  GridBytes from(std::uint64_t at, std::uint64_t count, const char* what) const {
    return GridBytes(part(at, count, what), source_, start_ + at);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string source_;
  std::uint64_t start_;
};

}  // namespace weft::volume
