// wp.launch_tiled: a launch with a block of threads for each index. The usual one, by keywords whose device is known without
// Python code, is wp.launch with other extents; all else is handed to Python's launch_tiled, mistakes included.
#include "bind/launch_entry.h"
#include "bind/launch_place.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

constexpr std::size_t kMostArguments = 16;  // more than launches take: a mistake
constexpr Py_ssize_t kMostExtents = 3;      // the block is one more
constexpr long kUsualBlock = 256;           // threads, where no number is given

constexpr const char* kDoc =
    "launch_tiled(*args, **kwargs)\n--\n\n"
    "Launches a kernel with a block of threads for each index: as `launch` with `dim=(*dim, block_dim)`.\n\n"
    "In the kernel `wp.tid()` gives one index more than `dim` has extents, the thread's number in its block. On the CPU a "
    "block\nis one thread, whatever `block_dim` says, unless `wp.config.enable_cpu_blocks` is set.\n\n"
    "Args:\n"
    "    kernel: the kernel, by position or by name.\n"
    "    dim: one to three extents, by name.\n"
    "    block_dim: threads of a block, by name; below 1: 256.\n"
    "    inputs, outputs, device, stream…: as of `launch`, by name.\n";

enum Name : std::size_t { kDim, kBlockDim, kInputs, kOutputs, kDevice, kStream, kNames };
constexpr const char* kTexts[kNames] = {"dim", "block_dim", "inputs", "outputs", "device", "stream"};
PyObject* names[kNames];  // interned
PyObject* no_arguments;   // an empty tuple
PyObject* one;            // the number

/// How many extents; 0 for what Python is to look at.
WEFT_HOT Py_ssize_t extents_of(PyObject* dim) {
  if (PyLong_CheckExact(dim)) return 1;
  if (!PyTuple_CheckExact(dim)) return 0;
  const Py_ssize_t count = PyTuple_GET_SIZE(dim);
  return count <= kMostExtents ? count : 0;
}

/// The threads of a block; 0 for what Python is to look at.
WEFT_HOT long threads_of(PyObject* block_dim) {
  if (block_dim == Py_None) return kUsualBlock;
  if (!PyLong_CheckExact(block_dim)) return 0;
  int overflow = 0;
  const long threads = PyLong_AsLongAndOverflow(block_dim, &overflow);
  if (overflow) return 0;
  return threads > 0 ? threads : kUsualBlock;
}

/// The extents and, behind them, the threads of a block.
nb::object with_block(PyObject* dim, Py_ssize_t extents, PyObject* threads) {
  nb::object all = nb::steal(PyTuple_New(extents + 1));
  if (!all.is_valid()) return all;
  for (Py_ssize_t i = 0; i < extents; ++i)
    PyTuple_SET_ITEM(all.ptr(), i, Py_NewRef(PyTuple_CheckExact(dim) ? PyTuple_GET_ITEM(dim, i) : dim));
  PyTuple_SET_ITEM(all.ptr(), extents, Py_NewRef(threads));
  return all;
}

PyObject* launch_rarely(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const nb::object& rare = launch_settings().rare_tiled;
  if (rare.is_valid()) return PyObject_Vectorcall(rare.ptr(), args, std::size_t(count), keywords);
  PyErr_SetString(PyExc_RuntimeError, "warp is not initialised");
  return nullptr;
}

WEFT_HOT PyObject* launch_tiled(PyObject* module, PyObject* const* args, Py_ssize_t count,
                                PyObject* keywords) noexcept {
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (count > 1 || std::size_t(count + named) > kMostArguments) return launch_rarely(args, count, keywords);
  PyObject* values[kMostArguments];
  PyObject** given[kNames] = {};
  for (Py_ssize_t i = 0; i < count + named; ++i) values[i] = args[i];
  for (Py_ssize_t i = 0; i < named; ++i)
    for (std::size_t k = 0; k < kNames; ++k)
      if (PyTuple_GET_ITEM(keywords, i) == names[k]) given[k] = &values[count + i];
  const LaunchSettings& settings = launch_settings();
  if (!given[kDim] || !given[kBlockDim] || settings.cpu_blocks || (given[kStream] && *given[kStream] != Py_None))
    return launch_rarely(args, count, keywords);
  const Py_ssize_t extents = extents_of(*given[kDim]);
  const long threads = threads_of(*given[kBlockDim]);
  if (!extents || !threads) return launch_rarely(args, count, keywords);
  try {
    auto or_none = [&](Name name) { return given[name] && *given[name] != Py_None ? *given[name] : no_arguments; };
    const bool unnamed = !given[kDevice] || *given[kDevice] == Py_None;
    const int place = unnamed ? place_unnamed(or_none(kInputs), or_none(kOutputs)) : place_named(*given[kDevice]);
    if (place == kOnCpu) {  // one thread needs no extent: an index that a launch does not have is zero
      *given[kBlockDim] = one;
      return launch_entry(module, values, count, keywords);
    }
    if (place < 0) return launch_rarely(args, count, keywords);
    const nb::object block = nb::steal(PyLong_FromLong(threads));
    const nb::object dim = block.is_valid() ? with_block(*given[kDim], extents, block.ptr()) : nb::object();
    if (!dim.is_valid()) return nullptr;
    *given[kDim] = dim.ptr();
    *given[kBlockDim] = block.ptr();
    return launch_entry(module, values, count, keywords);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyMethodDef method = {"launch_tiled", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(launch_tiled)),
                      METH_FASTCALL | METH_KEYWORDS, kDoc};

}  // namespace

void register_launch_tiled(nb::module_& m) {
  for (std::size_t i = 0; i < kNames; ++i) names[i] = PyUnicode_InternFromString(kTexts[i]);
  no_arguments = PyTuple_New(0);
  one = PyLong_FromLong(1);
  nb::object module_name = nb::str("warp");
  m.attr("launch_tiled") = nb::steal(PyCFunction_NewEx(&method, nullptr, module_name.ptr()));
}

}  // namespace weft::bind
