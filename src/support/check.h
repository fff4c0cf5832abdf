// Internal consistency checks. A failed check is a bug in Weft, never the user's fault: it throws InternalError with the
// place and, where given, a dump of the IR at hand. It never aborts the process that embeds us.
#pragma once
#include <stdexcept>
#include <string>

namespace weft {

/// A broken invariant inside Weft.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& what) : std::logic_error(what) {}
};

/// Throws InternalError naming the failed condition and where it stood.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace weft

/// Checks an invariant; the optional second argument is a std::string with details, evaluated only on failure.
#define WEFT_CHECK(condition, ...)                                                      \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::weft::check_failed(__FILE__, __LINE__, #condition, ::std::string(__VA_ARGS__)); \
  } while (false)

/// Marks a place that control flow can't reach.
#define WEFT_UNREACHABLE(...) ::weft::check_failed(__FILE__, __LINE__, "unreachable", ::std::string(__VA_ARGS__))
