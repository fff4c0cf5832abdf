// Arrays and types of the public API.
#include <cstring>

#include "driver/program_impl.h"
#include "driver/tape.h"
#include "driver/tape_copies.h"
#include "runtime/half.h"
#include "runtime/scheduler.h"

namespace weft {
namespace {

using driver::guarded;

Array handle(runtime::Array array) {
  auto impl = std::make_shared<Array::Impl>();
  impl->array = std::move(array);
  return Array(std::move(impl));
}

runtime::Array& valid(const std::shared_ptr<Array::Impl>& impl) {
  if (!impl) throw ArgumentError("this is no array: it was default-constructed");
  return impl->array;
}

/// The bytes of an element all of whose scalars are a number.
void write_scalars(const Type* type, double value, char* to) {
  if (type->is_struct()) {
    for (const Field& f : type->fields()) write_scalars(f.type, value, to + f.offset);
    return;
  }
  if (!type->is_numeric()) throw ArgumentError("elements of type " + type->user_name() + " are not made of numbers");
  const std::size_t size = types::scalar(type->scalar_kind())->size();
  const std::size_t count = type->is_scalar() ? 1 : type->component_count();
  auto put = [&](auto one) {
    for (std::size_t k = 0; k < count; ++k) std::memcpy(to + k * size, &one, sizeof one);
  };
  switch (type->scalar_kind()) {
    case ScalarKind::boolean: return put(std::uint8_t(value != 0));
    case ScalarKind::f16: return put(runtime::f16_from_double(value));
    case ScalarKind::bf16: return put(runtime::bf16_from_double(value));
    case ScalarKind::f32: return put(float(value));
    case ScalarKind::f64: return put(value);
    default: break;
  }
  if (!(value >= -0x1p63 && value < 0x1p64)) throw ArgumentError("the value is not in the range of any integer type");
  const std::uint64_t whole = value < 0 ? std::uint64_t(std::int64_t(value)) : std::uint64_t(value);
  for (std::size_t k = 0; k < count; ++k) std::memcpy(to + k * size, &whole, size);  // the low bytes come first
}

}  // namespace

DataType::DataType(std::string_view name) : type_(nullptr) {
  auto symbol = sema::warp_scope()->lookup(name);
  if (symbol && symbol->kind == sema::Symbol::Kind::pattern && symbol->pattern.kind == builtins::Pattern::Kind::exact)
    type_ = symbol->pattern.type;
  if (!type_) throw ArgumentError("unknown type '" + std::string(name) + "'");
}

std::string DataType::name() const { return type_->user_name(); }
std::size_t DataType::size() const { return type_->size(); }

Array Array::zeros(DataType type, const Shape& shape, const Device& device) {
  return guarded([&] {
    return handle(runtime::Array::zeros(type.internal(), runtime::Array::Shape(shape), false, device.internal()));
  });
}
Array Array::empty(DataType type, const Shape& shape, const Device& device) {
  return guarded([&] {
    return handle(runtime::Array::empty(type.internal(), runtime::Array::Shape(shape), false, device.internal()));
  });
}
Array Array::pinned(DataType type, const Shape& shape) {
  return guarded([&] {
    runtime::MemorySpace& memory = cuda::System::shared().pinned();
    return handle(runtime::Array::zeros(type.internal(), runtime::Array::Shape(shape), false, &memory));
  });
}
Array Array::wrap(DataType type, const Shape& shape, void* data, const Device& device) {
  return guarded([&] {
    runtime::Array::External memory;
    memory.data = data;
    memory.space = device.internal();
    return handle(runtime::Array::wrap(type.internal(), runtime::Array::Shape(shape), std::move(memory)));
  });
}

DataType Array::type() const { return DataType(valid(impl_).element()); }
Array::Shape Array::shape() const {
  const runtime::Array& a = valid(impl_);
  return Shape(a.desc().shape, a.desc().shape + a.desc().ndim);
}
std::int64_t Array::size() const { return valid(impl_).size(); }
std::size_t Array::bytes() const { return valid(impl_).bytes(); }
Device Array::device() const { return Device(driver::gpu_of(valid(impl_))); }
void* Array::data() const { return valid(impl_).data(); }
bool Array::is_contiguous() const { return valid(impl_).is_contiguous(); }

void Array::write(const void* data, std::size_t bytes) {
  if (!bytes) return;
  if (valid(impl_).on_host()) {
    std::memcpy(impl_->array.data(), data, bytes);
  } else {
    impl_->array.assign(host_view(data, bytes / type().size(), type()).impl_->array);
  }
}

void* Array::contiguous_data(std::size_t unit) const {
  const runtime::Array& a = valid(impl_);
  if (!a.on_host()) throw ArgumentError("the array's memory is on " + a.space()->name() + "; read() gives a copy");
  if (!a.is_contiguous()) throw ArgumentError("the array is not contiguous; read() gives a copy that is");
  if (a.element()->size() % unit)
    throw ArgumentError("the elements (" + a.element()->user_name() + ") are not made of units of " +
                        std::to_string(unit) + " bytes");
  return a.data();
}

Array Array::host_copy(std::size_t unit) const {
  return guarded([&] {
    const runtime::Array& a = valid(impl_);
    if (runtime::awaits_recorded_work(a.range())) runtime::refuse_while_recording("read an array");
    const runtime::RecordingPaused now;
    runtime::Array here = runtime::Array::empty(a.element(), a.shape());
    here.assign(a);
    Array out = handle(std::move(here));
    out.contiguous_data(unit);
    return out;
  });
}

Array Array::host_view(const void* values, std::size_t count, DataType scalar) const {
  return guarded([&] {
    const runtime::Array& a = valid(impl_);
    if (count * scalar.size() != a.bytes() || a.element()->size() % scalar.size())
      throw ArgumentError("the array has " + std::to_string(a.size()) + " elements of type " +
                          a.element()->user_name() + "; " + std::to_string(count) + " of type " + scalar.name() +
                          " don't make them up");
    const cuda::Device* gpu = driver::gpu_of(a);
    if (runtime::recording() || (gpu && gpu->capture())) {  // a graph reads them whenever it runs
      const runtime::Array own = runtime::Array::empty(a.element(), a.shape());
      std::memcpy(own.data(), values, a.bytes());
      return handle(own);
    }
    runtime::Array::External memory;
    memory.data = const_cast<void*>(values);
    return handle(runtime::Array::wrap(a.element(), a.shape(), std::move(memory)));
  });
}

Array Array::slice(int dim, std::int64_t start, std::int64_t stop, std::int64_t step) const {
  return guarded([&] { return handle(valid(impl_).slice(dim, start, stop, step)); });
}
Array Array::index(int dim, std::int64_t index) const {
  return guarded([&] { return handle(valid(impl_).index(dim, index)); });
}
Array Array::reshape(const Shape& shape) const {
  return guarded([&] { return handle(valid(impl_).reshape(runtime::Array::Shape(shape))); });
}

void Array::assign(const Array& source) const {
  guarded([&] {
    const runtime::Array& from = valid(source.impl_);
    driver::announce_array_write(valid(impl_), "a copy");
    impl_->array.assign(from);
    if (driver::copies_are_followed())
      driver::record_copy(impl_, source.impl_, [to = *this, source] { to.assign(source); });
  });
}
void Array::fill_zero() const {
  guarded([&] {
    driver::announce_array_write(valid(impl_), "a fill with zeros");
    impl_->array.fill_zero();
    if (driver::copies_are_followed()) driver::record_copy(impl_, nullptr, [to = *this] { to.fill_zero(); });
  });
}
void Array::fill(double value) const {
  guarded([&] {
    std::vector<char> element(valid(impl_).element()->size());
    write_scalars(impl_->array.element(), value, element.data());
    driver::announce_array_write(impl_->array, "a fill");
    impl_->array.fill(element.data());
    if (driver::copies_are_followed()) driver::record_copy(impl_, nullptr, [to = *this, value] { to.fill(value); });
  });
}
Array Array::copy() const { return to(device()); }
Array Array::to(const Device& device) const {
  Array made = empty(type(), shape(), device);
  guarded([&] { made.impl_->array.assign(impl_->array); });
  return made;
}

bool Array::requires_grad() const { return valid(impl_).has_grad(); }
void Array::set_requires_grad(bool on) const {
  guarded([&] { valid(impl_).set_requires_grad(on); });
}
Array Array::grad() const {
  return guarded([&] { return valid(impl_).has_grad() ? handle(impl_->array.grad()) : Array(); });
}
void Array::set_grad(const Array& gradient) const {
  guarded([&] { valid(impl_).set_grad(gradient.impl_ ? gradient.impl_->array : runtime::Array()); });
}
void Array::zero_grad() const {
  if (requires_grad()) grad().fill_zero();
}
bool Array::retains_grad() const {
  valid(impl_);
  return impl_->retains_grad;
}
void Array::set_retain_grad(bool on) const {
  valid(impl_);
  impl_->retains_grad = on;
}

void set_thread_limit(int limit) { runtime::set_thread_limit(limit); }
std::string version() { return WEFT_VERSION; }
std::string cache_folder() { return driver::BinaryStore::shared().cache()->folder(); }

}  // namespace weft
