// How each type of object shows its memory: decided once per type, in the order of what it costs.
#include "bind/exchange.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bind/foreign_interfaces.h"
#include "bind/gil.h"
#include "bind/hooks.h"
#include "bind/python_kernel.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft::bind {
namespace {

enum class Way : std::uint8_t {
  table,       // __dlpack_c_exchange_api__ of the type
  tensor,      // torch tensors without that: torch.utils.dlpack.to_dlpack
  paddle,      // attributes of its tensors
  ndarray,     // NumPy's own arrays, by their C structure
  buffer,      // the buffer protocol, then as below
  attributes,  // interfaces that an object may or may not have
  nothing,     // numbers, text, lists and the like
};

struct KnownType {
  PyTypeObject* type = nullptr;  // held: another type could come to lie at its address
  Way way = Way::nothing;
  bool torch = false;
  bool cuda_interface = false;  // instances have __cuda_array_interface__
  const interop::DlExchangeTable* table = nullptr;
};

constexpr std::size_t kKnownTypes = 64;  // as many as a program uses, and few enough to hold
KnownType known_types[kKnownTypes];      // guarded by the GIL, or its stand-in
nb::ft_mutex known_types_mutex;

/// A class of a library that was imported already; null otherwise.
PyObject* class_of_library(const char* library, const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = modules ? PyDict_GetItemString(modules, library) : nullptr;
  if (!module) return nullptr;
  PyObject* found = PyObject_GetAttrString(module, name);
  if (!found) PyErr_Clear();
  return found;  // held for good: there are two of them
}

bool is_kind_of(PyTypeObject* type, const char* library, const char* name) {
  PyObject* base = class_of_library(library, name);
  const bool yes = base && PyType_Check(base) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base));
  Py_XDECREF(base);
  return yes;
}

bool is_numpy_array(PyTypeObject* type) {
  PyObject* numpy = class_of_library("numpy", "ndarray");
  const bool yes = reinterpret_cast<PyObject*>(type) == numpy;
  Py_XDECREF(numpy);
  return yes;
}

KnownType decide(PyTypeObject* type) {
  KnownType known;
  known.torch = is_kind_of(type, "torch", "Tensor");
  known.table = exchange_table(type);
  if (known.table && known.table->tensor_from_object)
    known.way = Way::table;
  else if (known.torch)
    known.way = Way::tensor;
  else if (is_kind_of(type, "paddle", "Tensor"))
    known.way = Way::paddle;
  else if (is_numpy_array(type))
    known.way = Way::ndarray;
  else if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyUnicode_Type || type == &PyList_Type ||
           type == &PyTuple_Type || type == &PyType_Type || type == &PyBool_Type)
    known.way = Way::nothing;
  else
    known.way = type->tp_as_buffer && type->tp_as_buffer->bf_getbuffer ? Way::buffer : Way::attributes;
  if (known.way == Way::attributes)
    known.cuda_interface = PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "__cuda_array_interface__") == 1;
  return known;
}

std::size_t slot_of(const PyTypeObject* type) { return (reinterpret_cast<std::uintptr_t>(type) >> 5) % kKnownTypes; }

WEFT_HOT KnownType known_type(PyTypeObject* type) {
  KnownType& slot = known_types[slot_of(type)];
  {
    const nb::ft_lock_guard lock(known_types_mutex);
    if (slot.type == type) [[likely]]
      return slot;
  }
  KnownType found = decide(type);
  found.type = type;
  Py_INCREF(type);
  PyTypeObject* before = nullptr;
  {
    const nb::ft_lock_guard lock(known_types_mutex);
    before = std::exchange(slot, found).type;
  }
  Py_XDECREF(before);
  return found;
}

/// Places the memory: on the host, or on a CUDA device of ours.
bool find_place(const interop::ForeignMemory& memory, int& place, std::string& why) {
  switch (memory.where) {
    case interop::Where::host: place = kOnCpu; return true;
    case interop::Where::pinned:
      place = cuda::System::is_open() && cuda::System::shared().available() ? kOnPinned : kOnCpu;
      return true;
    case interop::Where::cuda: break;
  }
  cuda::System& system = cuda::System::shared();
  if (!system.available() || memory.device >= system.device_count()) {
    why = "it is on cuda:" + std::to_string(memory.device) + ", and there is no such device here" +
          (system.available() ? "" : ": " + system.problem());
    return false;
  }
  place = memory.device;
  return true;
}

/// Whether there is a CUDA device of this number.
bool has_device(std::int32_t number) {
  if (!cuda::System::is_open()) return false;  // who asks more closely opens it
  cuda::System& system = cuda::System::shared();
  return number >= 0 && system.available() && number < system.device_count();
}

/// Drops a Python error that says why an object shows no memory.
std::string take_error() {
  nb::python_error error;
  const std::string text = nb::str(error.value()).c_str();
  return text.substr(0, text.find('\n'));
}

}  // namespace

bool settle_foreign(const interop::ForeignMemory& memory, const Type* element, interop::Seen how, ForeignArray& out,
                    std::string& why) {
  out.element = element;
  out.read_only = memory.read_only;
  return interop::fold(memory, out.element, how, out.desc, why) && find_place(memory, out.place, why);
}

namespace {

/// Whether elements lie one after the other, and there are several.
bool is_packed(const interop::ForeignMemory& memory) {
  auto step = std::int64_t(types::scalar(memory.scalar)->size());
  std::int64_t count = 1;
  for (int d = memory.rank; d-- > 0; step *= memory.shape[d]) {
    if (memory.shape[d] > 1 && memory.strides[d] != step) return false;
    count *= memory.shape[d];
  }
  return count != 1;
}

/// Refuses what torch shows as memory though its elements are not what lies there: imaginary parts of conjugated numbers. These
/// lie two by two, so that tensors without gaps need not be asked.
bool is_plain_tensor(nb::handle object, const interop::ForeignMemory& memory, std::string& why) {
  if (is_packed(memory)) return true;
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  PyObject* const arguments[] = {object.ptr()};
  const nb::object negative =
      nb::steal(PyObject_VectorcallMethod(is_neg, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!negative.is_valid()) PyErr_Clear();
  if (negative.is_valid() && negative.ptr() == Py_True) {
    why = "its elements are the negatives of what lies in memory; pass .resolve_neg()";
    return false;
  }
  return true;
}

WEFT_HOT bool read_table(nb::handle object, const KnownType& type, const Type* element, interop::Seen how,
                         ForeignArray& out, std::string& why) {
  interop::DlTensor tensor;
  if (type.table->tensor_from_object(object.ptr(), &tensor) != 0) {
    why = take_error();
    return false;
  }
  out.element = element;
  const std::int32_t device = tensor.device.id;
  const bool on_cuda = tensor.device.type == interop::kDlCuda && has_device(device);
  if (on_cuda) tensor.device.type = interop::kDlCpu;  // packed memory is the same everywhere
  if (interop::read_packed(tensor, out.element, out.desc)) [[likely]] {
    out.place = on_cuda ? device : kOnCpu;
    if (on_cuda) out.provider = type.table;
    out.keep = nb::borrow(object);
    return true;
  }
  if (on_cuda) tensor.device.type = interop::kDlCuda;
  out.desc = ArrayDesc{};
  interop::ForeignMemory memory;
  if (!interop::read_tensor(tensor, 0, memory, why) || (type.torch && !is_plain_tensor(object, memory, why)) ||
      !settle_foreign(memory, element, how, out, why))
    return false;
  if (out.place >= 0) out.provider = type.table;
  out.keep = nb::borrow(object);
  return true;
}

/// What stream torch works on, for versions that have no table to ask.
const interop::DlExchangeTable* older_torch() {
  static const interop::DlExchangeTable made = [] {
    interop::DlExchangeTable table{};
    table.current_stream = [](std::int32_t, std::int32_t device, void** out) {
      static PyObject* current = nullptr;
      try {
        if (!current)
          current = nb::module_::import_("torch").attr("_C").attr("_cuda_getCurrentRawStream").inc_ref().ptr();
        *out = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::handle(current)(device)));
        return 0;
      } catch (nb::python_error& error) {
        error.restore();
        return -1;
      }
    };
    return table;
  }();
  return &made;
}

/// torch.utils.dlpack.to_dlpack: unlike __dlpack__ it takes tensors that require gradients.
bool read_tensor_object(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out,
                        std::string& why) {
  static PyObject* to_dlpack = nullptr;
  if (!to_dlpack) to_dlpack = nb::module_::import_("torch.utils.dlpack").attr("to_dlpack").inc_ref().ptr();
  const nb::object capsule = nb::steal(PyObject_CallOneArg(to_dlpack, object.ptr()));
  if (!capsule.is_valid()) {
    why = take_error();
    return false;
  }
  interop::ForeignMemory gaps;  // ask in any case: this way is the slow one
  gaps.rank = 0;
  if (!is_plain_tensor(object, gaps, why) || !read_capsule_memory(capsule, element, how, out, why)) return false;
  if (out.place >= 0) out.provider = older_torch();
  out.keep = capsule;
  return true;
}

}  // namespace

const interop::DlExchangeTable* exchange_table(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  const nb::object capsule = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
  if (!capsule.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  if (!PyCapsule_IsValid(capsule.ptr(), interop::kExchangeTableName)) return nullptr;
  const auto* table =
      static_cast<const interop::DlExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), interop::kExchangeTableName));
  while (table && table->version.major > 1) table = table->previous;
  return table && table->version.major == 1 ? table : nullptr;
}

WEFT_HOT bool is_tensor_type(PyTypeObject* type) {
  const KnownType known = known_type(type);
  return known.way == Way::table || known.way == Way::tensor || known.way == Way::paddle || known.cuda_interface;
}

WEFT_HOT bool is_memory_type(PyTypeObject* type) {
  const Way way = known_type(type).way;
  return way == Way::table || way == Way::tensor || way == Way::paddle || way == Way::ndarray;
}

WEFT_HOT bool read_foreign(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out,
                           std::string& why) {
  if (element && !element->is_numeric()) return false;
  const KnownType type = known_type(Py_TYPE(object.ptr()));
  out.tracks = type.torch;
  switch (type.way) {
    case Way::table: return read_table(object, type, element, how, out, why);
    case Way::tensor: return read_tensor_object(object, element, how, out, why);
    case Way::paddle: return read_paddle(object, element, how, out, why);
    case Way::ndarray:
      if (read_ndarray(object, element, how, out, why)) return true;
      if (!why.empty()) return false;
      [[fallthrough]];
    case Way::buffer:
      if (read_buffer(object, element, how, out, why)) return true;
      if (!why.empty()) return false;
      [[fallthrough]];
    case Way::attributes: return read_interfaces(object, element, how, out, why);
    case Way::nothing: return false;
  }
  return false;
}

WEFT_HOT bool read_plain_tensor(PyObject* object, const Type* type, const cuda::Device* device, LaunchNotes& notes,
                                ArrayDesc& out) {
  if (kFreeThreaded) return false;  // entries change
  PyTypeObject* const python_type = Py_TYPE(object);
  const KnownType& known = known_types[slot_of(python_type)];
  if (known.type != python_type || !known.torch || known.way != Way::table) return false;
  interop::DlTensor tensor;
  if (known.table->tensor_from_object(object, &tensor) != 0) [[unlikely]] {
    PyErr_Clear();  // who asks again hears why
    return false;
  }
  if (device) {
    if (tensor.device.type != interop::kDlCuda || tensor.device.id != device->ordinal()) return false;
    tensor.device.type = interop::kDlCpu;  // packed memory is the same everywhere
  }
  const Type* element = type->element();
  if (!interop::read_packed(tensor, element, out) || out.ndim != std::int32_t(type->rank())) return false;
  notes.plain_tensors = true;
  if (device && !notes.provider) notes.provider = known.table, notes.provider_device = tensor.device.id;
  return true;
}

void put_in_order(const cuda::Stream& earlier, const cuda::Stream& later) {
  if (earlier.handle() == later.handle()) return;
  const auto legacy = [](const cuda::Stream& s) { return reinterpret_cast<std::uintptr_t>(s.handle()) <= 1; };
  const bool first = legacy(earlier), second = legacy(later);
  if (first && second) return;
  if ((!first && earlier.capturing()) != (!second && later.capturing())) return;
  if (first ? later.blocking() : second && earlier.blocking()) return;  // CUDA orders these by itself
  later.wait(earlier);
}

void wait_for_foreign(cuda::Device& device, std::uintptr_t stream) {
  put_in_order(*device.adopt_stream(reinterpret_cast<cuda::StreamHandle>(stream)), *device.stream());
}

namespace {

/// Gives up a reference, on whatever thread the last array over its memory goes.
void drop_reference(void* object) {
  if (!nb::is_alive()) return;  // the interpreter is going: leave the reference
  GilAcquire gil;
  Py_DECREF(static_cast<PyObject*>(object));
}

/// Memory of one piece, which the next one that is made gets at once: mostly one thing is held and let go after the other.
template <class T>
struct SpareMemory {
  using value_type = T;
  SpareMemory() = default;
  template <class U>
  SpareMemory(const SpareMemory<U>&) {}
  static std::atomic<void*>& spare() {
    static constinit std::atomic<void*> one{nullptr};
    return one;
  }
  T* allocate(std::size_t count) {
    void* const kept = count == 1 ? spare().exchange(nullptr, std::memory_order_acquire) : nullptr;
    return static_cast<T*>(kept ? kept : ::operator new(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) {
    void* none = nullptr;  // all pieces have the same size
    if (!spare().compare_exchange_strong(none, memory, std::memory_order_release, std::memory_order_relaxed))
      ::operator delete(memory);
  }
  friend bool operator==(const SpareMemory&, const SpareMemory&) { return true; }
};

}  // namespace

WEFT_HOT runtime::Array wrap_foreign(ForeignArray&& foreign) {
  runtime::Array::External memory;
  memory.data = foreign.desc.data;
  memory.strides = {foreign.desc.strides, std::size_t(foreign.desc.ndim)};
  memory.space = space_of(foreign.place);
  memory.owner = {static_cast<void*>(foreign.keep.release().ptr()), &drop_reference, SpareMemory<char>()};
  runtime::Array made =
      runtime::Array::wrap(foreign.element, {foreign.desc.shape, std::size_t(foreign.desc.ndim)}, std::move(memory));
  if (foreign.stream && foreign.place >= 0) wait_for_foreign(*static_cast<cuda::Device*>(made.space()), foreign.stream);
  return made;
}

std::optional<runtime::Array> from_foreign(nb::handle source, const Type* element, bool copy, bool& read_only) {
  ForeignArray foreign;
  std::string why;
  if (!read_foreign(source, element, {.host_first = true}, foreign, why) || foreign.place >= 0) return std::nullopt;
  read_only = !copy && foreign.read_only;
  if (!copy && !foreign.copied) return wrap_foreign(std::move(foreign));
  const std::span<const std::int64_t> shape{foreign.desc.shape, std::size_t(foreign.desc.ndim)};
  runtime::Array made = runtime::Array::empty(foreign.element, shape);
  runtime::Array::External memory;
  memory.data = foreign.desc.data;
  memory.strides = {foreign.desc.strides, shape.size()};
  const runtime::Array buffer = runtime::Array::wrap(foreign.element, shape, std::move(memory));
  if (!runtime::recording()) {
    copy_elements(made, buffer);
    return made;
  }
  runtime::Array values;  // the buffer may be gone or changed when the graph runs
  {
    const runtime::RecordingPaused now;
    copy_elements(made, buffer);
    values = made.copy();
  }
  made.assign(values);
  return made;
}

void warn_of_write(const std::string& owner, bool debug) {
  const std::string text = "memory of a " + owner + " is written to, though its owner calls it read-only";
  if (debug) {
    PyErr_SetString(PyExc_RuntimeError, (text + "; pass a copy, or clear debug mode to go on with a warning").c_str());
    throw nb::python_error();
  }
  if (hooks().warn.is_valid()) hooks().warn("Warp: " + text + "; other holders of the memory don't expect that");
}

void check_guarded(PythonKernel& kernel, driver::KernelSignature& signature, const LaunchNotes& notes,
                   const char* block, std::size_t rank) {
  const driver::LaunchForm form = driver::tape_form(kernel, signature, block, rank);
  const driver::TapeFacts& facts = kernel.facts_for(signature, form);
  for (const LaunchNotes::Guarded& one : notes.guarded) {
    const auto leaf = std::ranges::find(facts.leaves, one.offset, &autodiff::ArrayLeaf::offset);
    // Where the kernel's accesses go through descriptors of unknown origin, any array may be meant.
    const bool written =
        leaf == facts.leaves.end() ? facts.written_elsewhere : facts.written[std::size_t(leaf - facts.leaves.begin())];
    if (!written) continue;
    if (one.memory == LaunchNotes::Memory::shared) {
      warn_of_write(one.owner, kernel.options().debug);
      continue;
    }
    const bool jax = one.owner == "ArrayImpl" || one.owner == "DeviceArray";
    const std::string cure =
        jax ? "JAX arrays don't change; call the kernel through wp.jax_kernel, or write to a wp.array"
        : one.memory == LaunchNotes::Memory::copied ? "write to a wp.array, or to an array that shares its memory"
                                                    : "pass a copy, or share it with wp.array(…, copy=False)";
    PyErr_SetString(
        PyExc_RuntimeError,
        ("Error launching kernel '" + kernel.name() + "': argument '" + one.param + "': the kernel writes to it, but " +
         (one.memory == LaunchNotes::Memory::copied
              ? "a " + one.owner + " gives out copies of its elements: what is written would be lost; "
              : "the memory of this " + one.owner + " is read-only; ") +
         cure)
            .c_str());
    throw nb::python_error();
  }
}

void register_exchange(nb::module_& m) {
  prepare_foreign_interfaces();
  m.def(
      "foreign_array",
      [](nb::handle cls, nb::handle source, const TypeHandle* element, bool any_sign, bool zero_rank,
         bool flat) -> nb::object {
        ForeignArray foreign;
        std::string why;
        if (!read_foreign(source, element ? element->type : nullptr,
                          {.any_sign = any_sign, .zero_rank = zero_rank, .flat_inner = flat}, foreign, why)) {
          if (why.empty()) return nb::none();
          const std::string name = Py_TYPE(source.ptr())->tp_name;
          PyErr_SetString(PyExc_RuntimeError, ("the " + name + " can't become an array: " + why).c_str());
          throw nb::python_error();
        }
        if (foreign.copied) return nb::none();
        const bool read_only = foreign.read_only;
        return new_array(cls, wrap_foreign(std::move(foreign)), read_only);
      },
      nb::arg("cls"), nb::arg("source").none(), nb::arg("element").none() = nb::none(), nb::arg("any_sign") = false,
      nb::arg("zero_rank") = false, nb::arg("flat") = false,
      "An array over the memory of another library's object, by whatever protocol it has: exchange table, buffer, CUDA or "
      "host array interface, DLPack. `element` is the wanted element type, None the scalars as they are; `any_sign` lets "
      "integers differ in sign; `zero_rank` makes an array of shape (1,) of what has no dimension; `flat` takes components "
      "that lie flat in the last dimension. Read-only memory is shared, too. None if the object shows no memory of its own; "
      "RuntimeError with the reason if that can't be such an array.");
  m.def(
      "foreign_type",
      [](nb::handle value) -> std::optional<TypeHandle> {
        ForeignArray foreign;
        std::string why;
        if (!read_foreign(value, nullptr, {}, foreign, why)) return std::nullopt;
        return TypeHandle{types::array(foreign.element, std::uint32_t(foreign.desc.ndim))};
      },
      nb::arg("value").none(), "The array type as which a launch sees an object of another library, or None.");
}

}  // namespace weft::bind
