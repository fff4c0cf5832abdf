// Arrays in Python: the C++ part that warp.array derives from. Everything that touches memory happens here; shapes and
// keywords are Python's business.
#include "bind/bind.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

using Shape = std::vector<std::int64_t>;

const runtime::Array& valid(const ArrayObject& a) {
  if (!a.array.is_valid()) throw runtime::ArgumentError("the array has no memory");
  return a.array;
}

nb::tuple to_tuple(const std::int64_t* values, std::int32_t n) {
  nb::list list;
  for (std::int32_t i = 0; i < n; ++i) list.append(values[i]);
  return nb::tuple(list);
}

/// Keeps a Python object alive as long as the array's memory.
std::function<void()> holder(nb::object owner, nb::object deleter, std::uintptr_t ptr, std::size_t size) {
  struct State {
    nb::object owner, deleter;
    std::uintptr_t ptr;
    std::size_t size;
  };
  auto state = std::make_shared<State>(State{std::move(owner), std::move(deleter), ptr, size});
  return [state] {
    if (!nb::is_alive()) {  // the interpreter is going: leave the references
      state->owner.release();
      state->deleter.release();
      return;
    }
    nb::gil_scoped_acquire gil;
    if (state->deleter.is_valid() && !state->deleter.is_none()) {
      try {
        state->deleter(state->ptr, state->size);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("array deleter");
      }
    }
    state->owner.reset();
    state->deleter.reset();
  };
}

}  // namespace

void register_arrays(nb::module_& m) {
  nb::class_<ArrayObject>(m, "Array", "Memory, shape and strides of an array; warp.array derives from it.", nb::is_weak_referenceable())
      .def(nb::init<>())
      .def("_allocate", [](ArrayObject& a, const TypeHandle& element, const Shape& shape, bool zero, bool requires_grad) {
        a.array = zero ? runtime::Array::zeros(element.type, shape, requires_grad) : runtime::Array::empty(element.type, shape, requires_grad);
      })
      .def("_wrap", [](ArrayObject& a, const TypeHandle& element, const Shape& shape, std::optional<Shape> strides, std::uintptr_t ptr,
                       nb::object owner, nb::object deleter, std::uintptr_t grad) {
        runtime::Array::External memory;
        memory.data = reinterpret_cast<void*>(ptr);
        memory.grad = reinterpret_cast<void*>(grad);
        Shape s = strides.value_or(Shape());
        memory.strides = s;
        std::size_t size = element.type->size();
        for (std::int64_t n : shape) size *= std::size_t(n < 0 ? 0 : n);
        if (!owner.is_none() || !deleter.is_none()) memory.release = holder(std::move(owner), std::move(deleter), ptr, size);
        a.array = runtime::Array::wrap(element.type, shape, std::move(memory));
      }, nb::arg("element"), nb::arg("shape"), nb::arg("strides").none(), nb::arg("ptr"), nb::arg("owner").none(), nb::arg("deleter").none(), nb::arg("grad") = 0)
      .def("_set_slice", [](ArrayObject& a, const ArrayObject& from, int dim, std::int64_t start, std::int64_t stop, std::int64_t step) {
        a.array = valid(from).slice(dim, start, stop, step);
      })
      .def("_set_index", [](ArrayObject& a, const ArrayObject& from, int dim, std::int64_t index) { a.array = valid(from).index(dim, index); })
      .def("_set_reshape", [](ArrayObject& a, const ArrayObject& from, const Shape& shape) { a.array = valid(from).reshape(shape); })
      .def("_set_transpose", [](ArrayObject& a, const ArrayObject& from, const std::vector<int>& order) { a.array = valid(from).transpose(order); })
      .def("_set_grad_of", [](ArrayObject& a, const ArrayObject& from) { a.array = valid(from).grad(); })
      .def("_share", [](ArrayObject& a, const ArrayObject& from) { a.array = valid(from); })
      .def("_copy_from", [](ArrayObject& a, const ArrayObject& from) {
        runtime::Array to = valid(a), source = valid(from);
        nb::gil_scoped_release release;
        to.assign(source);
      })
      .def("_fill", [](ArrayObject& a, nb::bytes value) {
        if (value.size() != valid(a).element()->size()) throw nb::value_error("the value does not have the element's size");
        runtime::Array to = a.array;
        std::string bytes(value.c_str(), value.size());
        nb::gil_scoped_release release;
        to.fill(bytes.data());
      })
      .def("_zero", [](ArrayObject& a) {
        runtime::Array to = valid(a);
        nb::gil_scoped_release release;
        to.fill_zero();
      })
      .def("_read", [](const ArrayObject& a, const Shape& index) {
        const void* at = valid(a).address(index);
        return unpack_value(a.array.element(), at);
      })
      .def("_write", [](ArrayObject& a, const Shape& index, nb::handle value) {
        std::vector<nb::object> keep;
        void* at = valid(a).address(index);
        pack_value(value, a.array.element(), static_cast<char*>(at), "", "value", keep);
      })
      .def("_set_requires_grad", [](ArrayObject& a, bool on) {
        valid(a);
        a.array.set_requires_grad(on);
      })
      .def_prop_ro("_element", [](const ArrayObject& a) { return TypeHandle{valid(a).element()}; })
      .def_prop_ro("_valid", [](const ArrayObject& a) { return a.array.is_valid(); })
      .def_prop_ro("_has_grad", [](const ArrayObject& a) { return a.array.is_valid() && a.array.has_grad(); })
      .def_prop_ro("ptr", [](const ArrayObject& a) -> std::optional<std::uintptr_t> {
        if (!a.array.is_valid()) return std::nullopt;
        return reinterpret_cast<std::uintptr_t>(a.array.data());
      })
      .def_prop_ro("_grad_ptr", [](const ArrayObject& a) { return reinterpret_cast<std::uintptr_t>(valid(a).desc().grad); })
      .def_prop_ro("shape", [](const ArrayObject& a) { return to_tuple(valid(a).desc().shape, a.array.desc().ndim); })
      .def_prop_ro("strides", [](const ArrayObject& a) { return to_tuple(valid(a).desc().strides, a.array.desc().ndim); })
      .def_prop_ro("ndim", [](const ArrayObject& a) { return valid(a).desc().ndim; })
      .def_prop_ro("size", [](const ArrayObject& a) { return valid(a).size(); })
      .def_prop_ro("is_contiguous", [](const ArrayObject& a) { return valid(a).is_contiguous(); });
}

}  // namespace weft::bind
