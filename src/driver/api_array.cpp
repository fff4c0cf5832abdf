// Arrays and types of the public API.
#include "driver/program_impl.h"
#include "runtime/scheduler.h"

namespace weft {
namespace {

/// Runs a function of the runtime, its errors turned into public ones.
template <class F>
auto guarded(F&& f) {
  try {
    return f();
  } catch (const runtime::ArgumentError& e) {
    throw ArgumentError(e.what());
  } catch (const runtime::Error& e) {
    throw Error(e.what());
  }
}

Array handle(runtime::Array array) {
  auto impl = std::make_shared<Array::Impl>();
  impl->array = std::move(array);
  return Array(std::move(impl));
}

const runtime::Array& valid(const std::shared_ptr<Array::Impl>& impl) {
  if (!impl) throw ArgumentError("this is no array: it was default-constructed");
  return impl->array;
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

Array Array::zeros(DataType type, const Shape& shape) {
  return guarded([&] { return handle(runtime::Array::zeros(type.internal(), runtime::Array::Shape(shape))); });
}
Array Array::empty(DataType type, const Shape& shape) {
  return guarded([&] { return handle(runtime::Array::empty(type.internal(), runtime::Array::Shape(shape))); });
}
Array Array::wrap(DataType type, const Shape& shape, void* data) {
  return guarded([&] {
    runtime::Array::External memory;
    memory.data = data;
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
void* Array::data() const { return valid(impl_).data(); }
bool Array::is_contiguous() const { return valid(impl_).is_contiguous(); }

void Array::write(const void* data, std::size_t bytes) {
  if (bytes) std::memcpy(valid(impl_).data(), data, bytes);
}

void* Array::contiguous_data(std::size_t unit) const {
  const runtime::Array& a = valid(impl_);
  if (!a.is_contiguous())
    throw ArgumentError("the array is not contiguous; read it element by element or copy it first");
  if (a.element()->size() % unit)
    throw ArgumentError("the elements (" + a.element()->user_name() + ") are not made of units of " +
                        std::to_string(unit) + " bytes");
  return a.data();
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

void set_thread_limit(int limit) { runtime::set_thread_limit(limit); }
std::string version() { return WEFT_VERSION; }
std::string cache_folder() { return driver::BinaryStore::shared().cache()->folder(); }

}  // namespace weft
