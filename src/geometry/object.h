// Objects that kernels reach by ids. Each has a slot of memory on its device, where kernels find its descriptor; the id is
// the slot's address. Slots live in slabs that stay as long as the process, so that a stale id never leads out of memory
// that is ours; those of dead objects are zeroed where the host can (an empty object) and reused as late as possible.
#pragma once
#include <memory>
#include <shared_mutex>
#include <string>

#include "cuda/device.h"
#include "geometry/descriptors.h"
#include "runtime/memory_space.h"

namespace weft::geometry {

class Object : public std::enable_shared_from_this<Object> {
 public:
  /// Takes a slot on a device; null is the CPU.
  Object(HandleKind kind, cuda::Device* device);
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  HandleKind kind() const { return kind_; }
  cuda::Device* device() const { return device_; }
  std::uint64_t id() const { return id_; }
  /// "cpu" or "cuda:0".
  std::string place() const { return device_ ? device_->name() : "cpu"; }
  /// Launches on the CPU hold it shared while they run; who changes what kernels read holds it alone. On a GPU streams
  /// keep the order.
  std::shared_mutex& in_use() const { return in_use_; }
  /// Brings gradients that arrays were given since into the descriptor; called for launches of adjoints.
  virtual void refresh_gradients() {}
  /// Which changes of the topology kernels have seen.
  std::uint32_t generation() const { return generation_; }

  /// Makes it known by its id from now on; whoever makes an object calls it once.
  template <class T>
  static std::shared_ptr<T> publish(std::shared_ptr<T> object) {
    object->enter();
    return object;
  }

 protected:
  /// Puts a descriptor into the slot. On a GPU behind the work of the current stream, and part of a graph that is captured.
  void write(const void* descriptor, std::size_t bytes);
  template <class T>
  void write(const T& descriptor) {
    static_assert(sizeof(T) <= kSlotBytes);
    write(&descriptor, sizeof(T));
  }
  std::uint32_t next_generation() { return ++generation_; }

 private:
  void enter();

  HandleKind kind_;
  cuda::Device* device_;
  std::uint64_t id_;
  std::uint32_t generation_ = 0;
  mutable std::shared_mutex in_use_;
};

/// What is known of a number that should be an id.
struct FoundObject {
  std::shared_ptr<Object> object;      // null: no living object has this id
  HandleKind kind = HandleKind::mesh;  // what the id stands for: a mesh's tree is a Bvh by an id of its own
  bool dead = false;                   // an object had it once
};
FoundObject find_object(std::uint64_t id);

/// Objects alive, of all kinds; for tests.
std::size_t living_objects();

}  // namespace weft::geometry
