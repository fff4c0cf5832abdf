// Gradients: a tape records launches, copies and fills, and goes back over them.
#pragma once
#include <functional>
#include <utility>

#include <weft/array.h>

namespace weft {

/// What was recorded. A handle: copies are the same tape.
///
/// Gradients are exact when arrays are overwritten later on, too: the tape keeps a copy of what the backward pass still
/// needs (kept_bytes says how much), and kernels that overwrite what they have read write it down (log_bytes). Throws Error
/// where there is no gradient, with the reason.
class Tape {
 public:
  /// Without `keep_copies`, an operation that overwrites what the backward pass still needs throws instead.
  explicit Tape(bool keep_copies = true);

  /// While it lives the tape records what all threads of the program do. One at a time: a second one throws Error.
  class Recording {
   public:
    explicit Recording(const Tape& tape);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    std::shared_ptr<void> tape_;
  };
  /// Records what a function does.
  template <class Work>
  void record(Work&& work) const {
    const Recording recording(*this);
    std::forward<Work>(work)();
  }
  /// Calls `backward` when a backward pass comes to this place; `arrays` are those whose gradients it touches.
  void record_function(std::function<void()> backward, const std::vector<Array>& arrays) const;

  /// Adds to the gradient of every array that was read what the gradients of the written ones say. `loss`, an array of one
  /// element, begins with a gradient of 1.
  void backward(const Array& loss) const;
  /// The same from given gradients: pairs of an array and the gradient it begins with.
  void backward(const std::vector<std::pair<Array, Array>>& gradients) const;
  /// The same from the gradients that arrays have.
  void backward() const;

  /// Runs everything that was recorded again, on the values that arrays have now, and goes back over that from then on. A
  /// program that does the same launches, copies and fills itself, in the same order and outside of a recording, needs no
  /// call: the tape sees it.
  void replay() const;

  /// Sets the gradients of all recorded arrays to zero.
  void zero() const;
  /// The same, and forgets what was recorded.
  void reset() const;

  /// Launches, copies, fills and functions so far.
  std::size_t size() const;
  /// Bytes of arrays that were copied because a later operation overwrote them; bytes that launches wrote down.
  std::uint64_t kept_bytes() const;
  std::uint64_t log_bytes() const;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
