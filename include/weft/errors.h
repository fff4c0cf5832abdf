// Exceptions of the library; all derive from weft::Error.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft {

/// Base of every error that Weft throws at its users.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A message of the compiler.
struct Message {
  enum class Kind : std::uint8_t { error, warning, note } kind;
  std::string code;  // "unknown_name"
  std::string file;
  std::uint32_t line, column;
  std::string text;
  std::string rendered;  // with source line, caret and notes
};

/// Source text that does not compile; what() holds all messages as a compiler prints them.
class CompileError : public Error {
 public:
  CompileError(const std::string& what, std::vector<Message> messages) : Error(what), messages_(std::move(messages)) {}
  const std::vector<Message>& messages() const { return messages_; }

 private:
  std::vector<Message> messages_;
};

/// An argument of the wrong type, rank or range; unknown names.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// Launch dimensions that cannot be run.
class LaunchError : public Error {
 public:
  using Error::Error;
};

/// Memory that could not be had.
class MemoryError : public Error {
 public:
  using Error::Error;
};

/// A GPU that is not there, or does not do what it is asked.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A check that failed inside a kernel (debug mode: bounds, assert, division by zero).
class KernelError : public Error {
 public:
  KernelError(const std::string& what, std::string file, int line, std::vector<std::int64_t> thread)
      : Error(what), file_(std::move(file)), line_(line), thread_(std::move(thread)) {}
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::vector<std::int64_t>& thread() const { return thread_; }

 private:
  std::string file_;
  int line_;
  std::vector<std::int64_t> thread_;
};

}  // namespace weft
