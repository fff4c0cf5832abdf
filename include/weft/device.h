// Where arrays lie and launches run: the CPU and the machine's GPUs, queues of work on a GPU, and marks in them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace weft {

namespace cuda {
class Device;
class Event;
class Stream;
}  // namespace cuda

class Stream;

/// The CPU or a GPU. A cheap handle; equal handles are the same device.
class Device {
 public:
  /// The CPU.
  Device() = default;
  /// A GPU by its number. Throws DeviceError, which says why, if there is none.
  static Device cuda(int number = 0);
  /// How many GPUs there are; 0 also where there is no driver, and why_no_cuda() says what is missing.
  static int cuda_count();
  static std::string why_no_cuda();

  bool is_cuda() const { return gpu_ != nullptr; }
  /// "cpu", "cuda:0".
  std::string name() const;
  /// What the maker calls it: "NVIDIA H200".
  std::string model() const;
  /// Bytes of a GPU's memory; 0 for the CPU.
  std::uint64_t total_memory() const;
  std::uint64_t free_memory() const;

  /// Waits for all work of a GPU. Throws KernelError if a check of a kernel failed meanwhile.
  void synchronize() const;
  /// The stream that work goes to unless told otherwise. Throws ArgumentError for the CPU.
  Stream stream() const;
  void set_stream(const Stream& stream) const;

  bool operator==(const Device&) const = default;
  cuda::Device* internal() const { return gpu_; }
  explicit Device(cuda::Device* gpu) : gpu_(gpu) {}

 private:
  cuda::Device* gpu_ = nullptr;
};

/// A mark in a stream. Without timing it is cheaper.
class Event {
 public:
  explicit Event(const Device& device, bool timing = false);
  /// Whether all that was queued before it is done.
  bool done() const;
  void synchronize() const;
  /// Milliseconds from `start` to this event; both were made with timing, recorded, and are done.
  float elapsed_since(const Event& start) const;
  const std::shared_ptr<cuda::Event>& internal() const { return impl_; }

 private:
  std::shared_ptr<cuda::Event> impl_;
};

/// A queue of work on a GPU: its launches and copies run one after the other, those of different streams beside each other.
class Stream {
 public:
  /// No stream: where one is asked for, the current one of the device.
  Stream() = default;
  /// A new one; `priority` 0 is the usual one, lower numbers go first.
  explicit Stream(const Device& device, int priority = 0);

  bool is_valid() const { return impl_ != nullptr; }
  Device device() const;
  bool done() const;
  /// Waits for what is queued. Throws KernelError if a check of a kernel failed meanwhile.
  void synchronize() const;
  /// Puts a mark behind what is queued.
  void record(const Event& event) const;
  /// Lets what is queued from now on wait for a mark, or for all that another stream has queued.
  void wait(const Event& event) const;
  void wait(const Stream& other) const;

  const std::shared_ptr<cuda::Stream>& internal() const { return impl_; }
  explicit Stream(std::shared_ptr<cuda::Stream> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<cuda::Stream> impl_;
};

/// While it lives, a stream is the current one of its device.
class ScopedStream {
 public:
  explicit ScopedStream(const Stream& stream) : before_(stream.device().stream()) {
    stream.device().set_stream(stream);
  }
  ~ScopedStream() { before_.device().set_stream(before_); }
  ScopedStream(const ScopedStream&) = delete;
  ScopedStream& operator=(const ScopedStream&) = delete;

 private:
  Stream before_;
};

}  // namespace weft
