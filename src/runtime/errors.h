// What can go wrong at run time, as types a caller can tell apart. All derive from runtime::Error; messages name the
// kernel, the parameter or the place, say what was expected and what was given, and how to cure it.
#pragma once
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "types/type.h"

namespace weft::runtime {

/// Base of every error of the runtime.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument of the wrong type, rank, shape or range; a missing or unknown parameter.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// Launch dimensions that cannot be run.
class LaunchError : public Error {
 public:
  using Error::Error;
};

/// Memory that could not be had; also sizes that no memory could hold.
class OutOfMemory : public Error {
 public:
  OutOfMemory(std::uint64_t bytes, const std::string& what) : Error(what), bytes_(bytes) {}
  /// The size asked for; UINT64_MAX when it does not fit in 64 bits.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_;
};

/// A check that failed in a kernel: assert, array bounds, division by zero, NaN.
class KernelError : public Error {
 public:
  /// Where and what, in parts; what() is the same in words.
  struct Details {
    std::string kernel;
    std::int32_t site = 0;  // index into the kernel's check sites
    std::string file;
    std::int32_t line = 0;
    std::int32_t column = 0;
    std::array<std::int64_t, kMaxRank> thread{};  // outermost first; zero beyond the rank
    std::int32_t rank = 1;
    std::int64_t index = 0;
    std::int64_t extent = 0;
  };
  KernelError(const std::string& what, Details details) : Error(what), details_(std::move(details)) {}
  const Details& details() const { return details_; }

 private:
  Details details_;
};

}  // namespace weft::runtime
