// What one compile asks of Python. A session asks each question once, so that everything in a compile sees the same
// answers, and hashes the questions that a kernel's text suggests before the front end runs: that hash is the source key.
// The key is exact because the session also notices when the front end asks anything else; then the result is not stored
// under the key.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bind/bind.h"
#include "support/hash.h"

namespace weft::bind {

class __attribute__((visibility("hidden"))) CompileSession {
 public:
  using Answer = std::optional<sema::Symbol>;

  /// What a session that builds ahead throws where the program's own code or another compiler would run: they run only
  /// for kernels that are launched, and in the thread that launches.
  struct NotAhead {};

  /// Makes itself the session of this thread until it is destroyed; sessions nest, for wp.static may launch kernels.
  /// Throws std::runtime_error where that would never end.
  explicit CompileSession(const sema::FunctionDecl& kernel, bool ahead = false);
  ~CompileSession();
  CompileSession(const CompileSession&) = delete;
  CompileSession& operator=(const CompileSession&) = delete;
  /// The session of this thread; null when nothing is compiled.
  static CompileSession* current();

  /// A hash of the kernel's text and of what every name in it means: constants by value, types by layout, functions by
  /// their own text and names, wp.static by its results. With `places` (code that reports lines) files and lines, too.
  Hash128 fingerprint(const sema::FunctionDecl& kernel, bool places);
  /// True if something was asked that the fingerprint does not cover.
  bool asked_more() const { return asked_more_; }

  enum class Question : std::uint8_t { name, static_value };
  /// The answer of `ask`, remembered for the scope and the question. The reference holds as long as the session. An
  /// expression that failed (sema::StaticError) fails again without a second try.
  const Answer& remember(const sema::Scope& scope, Question kind, std::string_view text,
                         const std::function<Answer()>& ask);
  /// Names of a scope that stand for nothing unless something else is remembered of them. They stand in the text of one of
  /// the session's functions.
  void remember_absent(const sema::Scope& scope, std::vector<std::string_view> names);
  /// What was remembered; null if nothing was.
  const Answer* find(const sema::Scope& scope, Question kind, std::string_view text) const;
  /// For questions that can't be remembered.
  void note_unknown() { asked_more_ = true; }

 private:
  class Fingerprint;
  friend class Fingerprint;
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Answers = std::unordered_map<std::string, Answer, TextHash, std::equal_to<>>;
  struct Absent {
    std::vector<std::string_view> names;
    bool sorted = false;  // once somebody has asked: a kernel whose code is in the cache is not compiled
  };

  CompileSession* outer_;
  const sema::FunctionDecl* kernel_;
  std::map<std::pair<const sema::Scope*, Question>, Answers> answers_;  // they hold the scopes that they are asked of
  mutable std::map<const sema::Scope*, Absent> absent_;
  std::map<std::pair<const sema::Scope*, std::string>, std::string> failures_;  // of expressions, and what they say
  bool ahead_;
  bool collecting_ = false;
  bool asked_more_ = false;
};

/// What a kernel's names stand for in Python: text that differs where it differs.
struct __attribute__((visibility("hidden"))) Meaning {
  std::string text;
  bool variable = false;  // it may well change: numbers, and variables of functions around the kernel
};
Meaning meaning_of(const sema::FunctionDecl& kernel);

/// Whether a scope is the module `warp`.
bool is_warp(const sema::Scope& scope);

/// Asks a function's scope for many names at once, for the session of this thread to remember. Gives those that stand for
/// something, in their order. All of them, unanswered, where the scope can't be asked so, or a lookup raises. The texts stand in
/// one of the session's functions.
std::vector<std::string_view> ask_names(sema::Scope& scope, std::vector<std::string_view> names);

}  // namespace weft::bind
