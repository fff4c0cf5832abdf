// Scopes of threads, and the device of a launch's arrays.
#include "bind/launch_place.h"

#include "bind/exchange.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

thread_local int thread_place = kNoScope;

/// Where the memory of an array or of another library's tensor lies; kOnPinned if an argument says nothing about it. Of
/// other objects only tensors count: values have buffers, too.
int place_of_argument(PyObject* value) {
  if (const runtime::Array* array = as_array(value)) return array->size() == 0 ? kOnPinned : place_of(*array);
  if (!is_tensor_type(Py_TYPE(value))) return kOnPinned;
  ForeignArray foreign;
  std::string why;
  try {
    return read_foreign(value, nullptr, {}, foreign, why) ? foreign.place : kOnPinned;
  } catch (const nb::python_error&) {  // the launch reads it again, and says what is wrong
    return kOnPinned;
  }
}

/// The one device where all arrays lie that only one device reaches; `otherwise` if there are none, or on several.
int place_of_arrays(const ArgumentList& args, int otherwise) {
  int found = kPlaceUnknown;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const int place = place_of_argument(args[i]);
    if (place == kOnPinned || place == found) continue;
    if (found != kPlaceUnknown) return otherwise;
    found = place;
  }
  return found == kPlaceUnknown ? otherwise : found;
}

}  // namespace

WEFT_HOT int place_of_thread() { return thread_place; }

WEFT_HOT int place_unnamed(PyObject* inputs, PyObject* outputs) {
  if (thread_place != kNoScope) return thread_place;
  const LaunchSettings& settings = launch_settings();
  const int current = settings.current;
  if (current == kPlaceUnknown || !settings.has_gpus) return current;
  return place_of_arrays(ArgumentList(inputs, outputs), current);
}

WEFT_HOT int place_named(PyObject* device) {
  static PyObject* const cpu_name = PyUnicode_InternFromString("cpu");
  const LaunchSettings& settings = launch_settings();
  if (device == cpu_name || device == settings.cpu.ptr()) return kOnCpu;
  PyObject* known = nullptr;
  if (settings.by_device.is_valid()) {
    known = PyDict_GetItemWithError(settings.by_device.ptr(), device);
    if (!known) PyErr_Clear();  // what has no hash is no device
  }
  if (known) return int(PyLong_AsLong(known));
  return PyUnicode_Check(device) && PyUnicode_Compare(device, cpu_name) == 0 ? kOnCpu : kPlaceUnknown;
}

WEFT_HOT int block_on_cpu(std::int64_t block_dim) {
  if (!launch_settings().cpu_blocks || block_dim <= 1) return 0;
  if (block_dim > ir::kMaxBlock)
    throw nb::value_error(
        ("block_dim must be at most " + std::to_string(ir::kMaxBlock) + " on CPU, got " + std::to_string(block_dim))
            .c_str());
  return int(block_dim);
}

void register_launch_place(nb::module_& m) {
  m.def(
      "set_thread_device", [](nb::handle place) { thread_place = place.is_none() ? kNoScope : nb::cast<int>(place); },
      nb::arg("place").none(), "The device of the calling thread's launches: its number, or None for no choice.");
  m.def(
      "launch_place", [](nb::handle inputs, nb::handle outputs) { return place_unnamed(inputs.ptr(), outputs.ptr()); },
      nb::arg("inputs"), nb::arg("outputs"),
      "The number of the device where a launch with these arguments runs that names none; -3 if none was ever current.");
}

}  // namespace weft::bind
