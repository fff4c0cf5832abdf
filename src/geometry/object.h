// Objects that kernels reach by ids. Each has a slot of memory on its device, where kernels find its descriptor; the id is
// the slot's address. Slots live in slabs that stay as long as the process, so that a stale id never leads out of memory
// that is ours; those of dead objects are zeroed where the host can (an empty object) and reused as late as possible.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "geometry/descriptors.h"
#include "runtime/array.h"

namespace weft::geometry {

class Object;

/// What kernels saw of an object at one moment, for tapes that will go back over them. While the object is unchanged that
/// is the object itself; a change leaves what was there to another object, with an id of its own.
class Pin {
 public:
  explicit Pin(std::uint64_t id) : id_(id) {}
  /// The id under which kernels find it now.
  std::uint64_t id() const;
  /// What keeps it alive; null while the object is as it was.
  std::shared_ptr<Object> kept() const {
    std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  friend class Object;
  std::uint64_t id_;
  mutable std::mutex mutex_;  // who goes back may be another thread than who changes the object
  std::shared_ptr<Object> kept_;
};

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
  /// Arrays of the program that kernels read through the descriptor, and to whose gradients, where they have some, they add.
  virtual std::vector<const runtime::Array*> arrays() const { return {}; }
  /// An object like this one, in a slot of its own, whose arrays() are these instead.
  virtual std::shared_ptr<Object> with_arrays(std::span<const runtime::Array> arrays) = 0;
  /// What the language has for arrays(): kept for it, never looked into.
  std::shared_ptr<const void> owner() const {
    std::lock_guard lock(owner_mutex_);
    return owner_;
  }
  void set_owner(std::shared_ptr<const void> owner) {
    std::lock_guard lock(owner_mutex_);
    owner_.swap(owner);  // that of before dies behind the lock
  }
  /// Whether somebody asks a mesh for winding numbers that was not made for them, and nobody did before.
  virtual bool first_without_winding() { return false; }
  /// How often it was built, refitted or given other arrays.
  std::uint32_t generation() const { return generation_; }
  /// How often somebody was about to change what kernels see of it; gradients that arrays are given don't count.
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  /// A kernel is about to write to what it finds in the object: who needs it as it is gets a copy.
  virtual void before_write() {}
  /// Keeps what kernels see now reachable as long as the pin lives.
  std::shared_ptr<Pin> pin();

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
  /// To be called by whoever is about to change the object, alone: if somebody holds a pin, keep() is asked to leave what
  /// is there to another object, and whoever changes it must not write to memory that keep() gave away.
  bool leave_to_pins();
  /// An object of the same kind with all that kernels see of this one, in a slot of its own.
  virtual std::shared_ptr<Object> keep() = 0;

 private:
  void enter();

  HandleKind kind_;
  cuda::Device* device_;
  std::uint64_t id_;
  std::uint32_t generation_ = 0;
  std::atomic<std::uint64_t> changes_{0};
  std::shared_ptr<const void> owner_;
  mutable std::mutex owner_mutex_;
  std::weak_ptr<Pin> pin_;
  std::mutex pin_mutex_;
  mutable std::shared_mutex in_use_;
};

/// What is known of a number that should be an id.
struct FoundObject {
  std::shared_ptr<Object> object;      // null: no living object has this id
  HandleKind kind = HandleKind::mesh;  // what the id stands for: a mesh's tree is a Bvh by an id of its own
  bool dead = false;                   // an object had it once
};
FoundObject find_object(std::uint64_t id);

/// The address of the table of objects that live on a device (geometry/object_table.h), kept up from now on; 0 while it has
/// had none. Null is the CPU.
std::uint64_t object_table(cuda::Device* device);

/// Objects alive, of all kinds; for tests.
std::size_t living_objects();

}  // namespace weft::geometry
