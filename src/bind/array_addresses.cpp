// Memory on a device is private until somebody is told where it is (docs/design/tiers.md, "GPUs"). Most programs that read an
// address compare it with another one, or lay an array of ours over it, in the same expression; Python's part sees that.
#include "bind/array_addresses.h"

#include <optional>

#include "bind/python_kernel.h"
#include "runtime/errors.h"
#include "runtime/late_work.h"

namespace weft::bind {
namespace {

PyObject* stays_inside = nullptr;  // Python's function; called by the attribute, it sees the frame that reads it

const runtime::Array& valid(const ArrayObject& a) {
  if (!a.array.is_valid()) throw runtime::ArgumentError("the array has no memory");
  return a.array;
}

/// Says that a program is told the address, unless it is seen not to keep it.
void tell(nb::handle self, const runtime::Array& array) {
  using runtime::LateWork;
  if (array.on_host()) return;
  if (!kFreeThreaded && stays_inside && LateWork::enabled() && LateWork::is_private(array) &&
      nb::cast<bool>(nb::handle(stays_inside)(self)))
    return;
  LateWork::expose(array);
}

nb::object address(nb::handle self) {
  const auto& a = nb::cast<const ArrayObject&>(self);
  if (!a.array.is_valid()) return self.attr("_without_memory")("ptr");
  if (a.array.size() == 0) return nb::none();
  tell(self, a.array);
  return nb::int_(reinterpret_cast<std::uintptr_t>(a.array.data()));
}

}  // namespace

void register_array_addresses(nb::module_& m, nb::class_<ArrayObject>& arrays) {
  m.def(
      "set_address_hook", [](nb::object hook) { stays_inside = hook.release().ptr(); }, nb::arg("hook"),
      "What is asked, with the array, whether an address that is being read stays inside of the package.");
  arrays.def_prop_ro("ptr", &address, "Address of the first element; None when there are no elements.")
      .def_prop_ro("_grad_ptr",
                   [](const ArrayObject& a) {
                     if (valid(a).has_grad()) runtime::LateWork::expose(a.array.grad());
                     return reinterpret_cast<std::uintptr_t>(a.array.desc().grad);
                   })
      .def(
          "_expose", [](const ArrayObject& a) { runtime::LateWork::expose(a.array); },
          "The address was given to others after all.")
      .def(
          "_lies_at",
          [](const ArrayObject& a, std::uintptr_t place) {
            return a.array.is_valid() && reinterpret_cast<std::uintptr_t>(a.array.data()) == place;
          },
          nb::arg("address"), "Whether this is the address of the first element.")
      .def(
          "_lay_over",
          [](const ArrayObject& a, const TypeHandle& element, const std::vector<std::int64_t>& shape,
             const std::optional<std::vector<std::int64_t>>& strides) {
            runtime::Array over = valid(a).lay_over(element.type, shape, strides.value_or(std::vector<std::int64_t>()));
            return over.is_valid() ? new_array(nb::handle(), std::move(over), a.read_only) : nb::none();
          },
          nb::arg("element"), nb::arg("shape"), nb::arg("strides").none(),
          "An array over the same address that holds the memory as well; None if it would reach beyond this one.");
}

}  // namespace weft::bind
