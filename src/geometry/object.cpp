// Slots, slabs, and the registry from ids to objects.
#include "geometry/object.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "geometry/object_table.h"
#include "runtime/allocator.h"
#include "runtime/kernel_abi.h"
#include "support/check.h"

namespace weft::geometry {
namespace {

// A freed slot waits behind this many others: stale ids then find an empty slot rather than a stranger.
constexpr std::size_t kFreeSlots = 256;

using Memory = std::shared_ptr<void>;

/// The slots of one device. Never given back: ids stay addresses of memory that is ours.
struct Slots {
  std::deque<std::uint64_t> free;
  std::vector<Memory> slabs;
  std::unique_ptr<ObjectTable> table;  // on a GPU once somebody asked for it
};

struct Registry {
  std::shared_mutex mutex;
  std::map<cuda::Device*, Slots> slots;
  std::unordered_map<std::uint64_t, std::weak_ptr<Object>> objects;  // by slot
  std::map<std::uint64_t, std::uint64_t> slabs;                      // address → end
  std::size_t alive = 0;
};

Registry& registry() {
  static Registry* all = new Registry;  // objects may outlive static destruction
  return *all;
}

void copy_to(cuda::Device& device, std::uint64_t to, const void* from, std::size_t bytes) {
  // As the value of a fill: it travels in the launch's arguments, so the host's memory is free at once, and graphs that
  // are captured keep it.
  ArrayDesc slot;
  slot.data = reinterpret_cast<void*>(to);
  slot.ndim = 1;
  slot.shape[0] = 1;
  slot.strides[0] = std::int64_t(bytes);
  device.fill(slot, bytes, from);
}

std::uint64_t take_slot(cuda::Device* device) {
  Registry& all = registry();
  {
    std::unique_lock lock(all.mutex);
    Slots& slots = all.slots[device];
    if (slots.free.size() > (slots.slabs.empty() ? 0 : kFreeSlots)) {
      const std::uint64_t slot = slots.free.front();
      slots.free.pop_front();
      return slot;
    }
  }
  // Outside of the lock: a device may have to wait.
  Memory slab = device ? device->allocate_here(kSlabBytes, true) : runtime::host_buffer(kSlabBytes, true);
  std::unique_lock lock(all.mutex);
  Slots& slots = all.slots[device];
  const auto first = reinterpret_cast<std::uint64_t>(slab.get());
  all.slabs[first] = first + kSlabBytes;
  for (std::size_t at = kSlotBytes; at < kSlabBytes; at += kSlotBytes) slots.free.push_back(first + at);
  slots.slabs.push_back(std::move(slab));
  if (!device && !slots.table) {
    slots.table = std::make_unique<ObjectTable>(runtime::host_buffer(ObjectTable::kBytes, true));
    runtime::object_table.store(slots.table->address());
  }
  if (slots.table) slots.table->add_slab(first);
  return first;
}

}  // namespace

Object::Object(HandleKind kind, cuda::Device* device) : kind_(kind), device_(device), id_(take_slot(device)) {}

void Object::enter() {
  Registry& all = registry();
  std::unique_lock lock(all.mutex);
  all.objects[id_] = weak_from_this();
  if (ObjectTable* table = all.slots[device_].table.get()) table->set_kind(id_, std::uint8_t(kind_));
  ++all.alive;
}

Object::~Object() {
  // A GPU's slot stays as it is: kernels that were queued may still read it, and who takes it next writes all of it.
  if (!device_) std::memset(reinterpret_cast<void*>(id_), 0, kSlotBytes);
  Registry& all = registry();
  std::unique_lock lock(all.mutex);
  all.alive -= all.objects.erase(id_);
  Slots& slots = all.slots[device_];
  if (slots.table) slots.table->set_kind(id_, 0);
  slots.free.push_back(id_);
}

void Object::write(const void* descriptor, std::size_t bytes) {
  WEFT_CHECK(bytes <= kSlotBytes && bytes % 8 == 0);
  if (device_)
    copy_to(*device_, id_, descriptor, bytes);
  else
    std::memcpy(reinterpret_cast<void*>(id_), descriptor, bytes);
}

std::uint64_t Pin::id() const {
  const std::shared_ptr<Object> kept = this->kept();
  return kept ? kept->id() : id_;
}

std::shared_ptr<Pin> Object::pin() {
  std::lock_guard lock(pin_mutex_);
  std::shared_ptr<Pin> now = pin_.lock();
  if (!now) pin_ = now = std::make_shared<Pin>(id_);
  return now;
}

bool Object::leave_to_pins() {
  changes_.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard lock(pin_mutex_);
  const std::shared_ptr<Pin> held = pin_.lock();
  if (!held) return false;
  std::shared_ptr<Object> kept = publish(keep());
  {
    std::lock_guard inside(held->mutex_);
    held->kept_ = std::move(kept);
  }
  pin_.reset();
  return true;
}

FoundObject find_object(std::uint64_t id) {
  Registry& all = registry();
  FoundObject found;
  std::shared_lock lock(all.mutex);
  if (auto it = all.objects.find(id); it != all.objects.end()) {
    found.object = it->second.lock();
    if (found.object) found.kind = found.object->kind();
    found.dead = !found.object;
    return found;
  }
  if (auto it = all.objects.find(id - kMeshTree); it != all.objects.end()) {
    found.object = it->second.lock();
    if (found.object && found.object->kind() == HandleKind::mesh) {
      found.kind = HandleKind::bvh;
      return found;
    }
    found.object = nullptr;
  }
  if (auto it = all.slabs.upper_bound(id); it != all.slabs.begin()) {
    --it;
    found.dead = id < it->second &&
                 (id % kSlotBytes == it->first % kSlotBytes || (id - kMeshTree) % kSlotBytes == it->first % kSlotBytes);
  }
  return found;
}

std::uint64_t object_table(cuda::Device* device) {
  Registry& all = registry();
  {
    std::shared_lock lock(all.mutex);
    const auto known = all.slots.find(device);
    if (known == all.slots.end() || known->second.slabs.empty()) return 0;
    if (known->second.table) return known->second.table->address();
  }
  Memory memory = device->system().pinned().allocate(ObjectTable::kBytes, true);  // the CPU's is there from the start
  std::vector<std::shared_ptr<Object>> seen;  // whose last owner may be this list: dropped behind the lock
  std::unique_lock lock(all.mutex);
  Slots& slots = all.slots[device];
  if (slots.table) return slots.table->address();
  slots.table = std::make_unique<ObjectTable>(std::move(memory));
  for (const Memory& slab : slots.slabs) slots.table->add_slab(reinterpret_cast<std::uint64_t>(slab.get()));
  for (const auto& [id, weak] : all.objects) {
    seen.push_back(weak.lock());
    if (seen.back() && seen.back()->device() == device) slots.table->set_kind(id, std::uint8_t(seen.back()->kind()));
  }
  return slots.table->address();
}

std::size_t living_objects() {
  Registry& all = registry();
  std::shared_lock lock(all.mutex);
  return all.alive;
}

}  // namespace weft::geometry
