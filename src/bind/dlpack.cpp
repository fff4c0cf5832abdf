// DLPack in Python: capsules in and out, and the table by which others read our arrays without one.
#include "bind/foreign_interfaces.h"
#include "bind/gil.h"
#include "bind/hooks.h"
#include "bind/python_kernel.h"
#include "bind/torch_exchange.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

using interop::DlManagedTensor;
using interop::DlManagedTensorVersioned;

constexpr const char *kFresh = "dltensor", *kFreshVersioned = "dltensor_versioned";
constexpr const char *kUsed = "used_dltensor", *kUsedVersioned = "used_dltensor_versioned";
constexpr const char* kTaken = "weft_dltensor";  // of the capsules that hold what was taken

/// Calls a deleter, which may be dropped while an exception is under way.
template <class Managed>
void give_back(Managed* managed) noexcept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (managed && managed->deleter) managed->deleter(managed);
  PyErr_Restore(type, value, trace);
}

/// A capsule that nobody took gives the memory back.
template <class Managed>
void drop_fresh(PyObject* capsule) noexcept {
  const char* name = std::is_same_v<Managed, DlManagedTensor> ? kFresh : kFreshVersioned;
  if (PyCapsule_IsValid(capsule, name)) give_back(static_cast<Managed*>(PyCapsule_GetPointer(capsule, name)));
}

template <class Managed>
void drop_taken(PyObject* capsule) noexcept {
  give_back(static_cast<Managed*>(PyCapsule_GetPointer(capsule, kTaken)));
}

/// What a capsule holds; raises for one that holds no tensor any more, or never did.
struct Inside {
  DlManagedTensor* plain = nullptr;
  DlManagedTensorVersioned* versioned = nullptr;
};

Inside look_inside(nb::handle capsule) {
  PyObject* p = capsule.ptr();
  Inside out;
  if (PyCapsule_IsValid(p, kFresh)) {
    out.plain = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(p, kFresh));
  } else if (PyCapsule_IsValid(p, kFreshVersioned)) {
    out.versioned = static_cast<DlManagedTensorVersioned*>(PyCapsule_GetPointer(p, kFreshVersioned));
    if (out.versioned->version.major != 1) {
      PyErr_Format(PyExc_RuntimeError, "the DLPack capsule is of version %u.%u; 1.x is understood",
                   unsigned(out.versioned->version.major), unsigned(out.versioned->version.minor));
      throw nb::python_error();
    }
  } else if (PyCapsule_IsValid(p, kUsed) || PyCapsule_IsValid(p, kUsedVersioned)) {
    throw nb::value_error("the DLPack capsule was used already; each can be taken once");
  } else {
    const char* name = PyCapsule_CheckExact(p) ? PyCapsule_GetName(p) : nullptr;
    if (PyErr_Occurred()) PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "a capsule named '%s' holds no DLPack tensor", name ? name : "");
    throw nb::python_error();
  }
  return out;
}

bool read_inside(const Inside& inside, const Type* element, interop::Seen how, ForeignArray& out, std::string& why) {
  interop::ForeignMemory memory;
  const interop::DlTensor& tensor = inside.plain ? inside.plain->tensor : inside.versioned->tensor;
  return interop::read_tensor(tensor, inside.plain ? 0 : inside.versioned->flags, memory, why) &&
         settle_foreign(memory, element, how, out, why);
}

template <class Managed>
nb::object hold_taken(Managed* managed) {
  PyObject* made = PyCapsule_New(managed, kTaken, &drop_taken<Managed>);
  if (!made) {
    give_back(managed);
    throw nb::python_error();
  }
  return nb::steal(made);
}

}  // namespace

bool read_capsule_memory(nb::handle capsule, const Type* element, interop::Seen how, ForeignArray& out,
                         std::string& why) {
  if (!read_inside(look_inside(capsule), element, how, out, why)) return false;
  out.keep = nb::borrow(capsule);
  return true;
}

bool take_capsule(nb::handle capsule, const Type* element, interop::Seen how, ForeignArray& out, std::string& why) {
  const Inside inside = look_inside(capsule);
  if (!read_inside(inside, element, how, out, why)) return false;
  if (PyCapsule_SetName(capsule.ptr(), inside.plain ? kUsed : kUsedVersioned) != 0) throw nb::python_error();
  out.keep = inside.plain ? hold_taken(inside.plain) : hold_taken(inside.versioned);
  return true;
}

bool read_dlpack(nb::handle object, const Type* element, interop::Seen how, ForeignArray& out, std::string& why) {
  nb::object stream = nb::none();
  nb::object capsule;
  try {
    const auto [type, number] = nb::cast<std::pair<int, nb::object>>(object.attr("__dlpack_device__")());
    const int id = number.is_none() ? 0 : nb::cast<int>(number);  // Paddle's host has none
    if (type == interop::kDlCuda || type == interop::kDlCudaManaged) {
      cuda::System& system = cuda::System::shared();
      if (!system.available() || id < 0 || id >= system.device_count()) {
        why = "it is on cuda:" + std::to_string(id) + ", and there is no such device here";
        return false;
      }
      const auto handle = reinterpret_cast<std::uintptr_t>(system.device(id).stream()->handle());
      stream = nb::int_(handle ? handle : 1);
    } else if (type != interop::kDlCpu && type != interop::kDlCudaHost) {
      why = "it is on a device of DLPack type " + std::to_string(type) + "; kernels run on the CPU and on CUDA devices";
      return false;
    }
    const nb::object ask = object.attr("__dlpack__");
    try {
      capsule = ask(nb::arg("stream") = stream, nb::arg("max_version") = nb::make_tuple(1, 3));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = stream.is_none() ? ask() : ask(nb::arg("stream") = stream);  // producers from before version 1
    }
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    why = std::string("its __dlpack__ says: ") + nb::str(error.value()).c_str();
    return false;
  } catch (const nb::cast_error&) {
    why = "its __dlpack_device__ is no pair of integers";
    return false;
  }
  if (!PyCapsule_CheckExact(capsule.ptr())) {
    why = "its __dlpack__ gives no capsule";
    return false;
  }
  out.ordered = !stream.is_none();
  return take_capsule(capsule, element, how, out, why);
}

namespace {

const runtime::Array& shown(PyObject* object) {
  const runtime::Array* array = as_array(object);
  if (!array || !array->is_valid()) throw nb::buffer_error("the array has no memory to show");
  return *array;
}

nb::object new_capsule(const runtime::Array& array, bool versioned, bool read_only, bool plain_host) {
  plain_host = plain_host && array.on_host();
  try {
    if (versioned) {
      DlManagedTensorVersioned* made = interop::Export::managed_versioned(array, read_only);
      if (plain_host) made->tensor.device = {interop::kDlCpu, 0};
      return nb::steal(PyCapsule_New(made, kFreshVersioned, &drop_fresh<DlManagedTensorVersioned>));
    }
    DlManagedTensor* made = interop::Export::managed(array);
    if (plain_host) made->tensor.device = {interop::kDlCpu, 0};
    return nb::steal(PyCapsule_New(made, kFresh, &drop_fresh<DlManagedTensor>));
  } catch (const runtime::ArgumentError& error) {
    throw nb::buffer_error(error.what());
  }
}

bool is_read_only(PyObject* object) { return nb::inst_ptr<ArrayObject>(object)->read_only; }

nb::object dlpack_of(nb::handle self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy) {
  runtime::Array array = shown(self.ptr());
  bool read_only = is_read_only(self.ptr()), plain_host = false;
  if (!dl_device.is_none()) {
    const auto [type, id] = nb::cast<std::pair<int, int>>(dl_device);
    plain_host = type == interop::kDlCpu;
    const bool here = array.on_host() ? type == interop::kDlCpu || type == interop::kDlCudaHost
                                      : type == interop::kDlCuda && id == array.space()->ordinal();
    if (!here && (type != interop::kDlCpu || copy.ptr() == Py_False))
      throw nb::buffer_error("the array is not on that device; copy it there first, with .to(device)");
    if (!here) {
      const runtime::Array made = runtime::Array::empty(array.element(), array.shape());
      made.assign(array);
      array = made, read_only = false;
    }
  }
  if (copy.ptr() == Py_True) array = array.copy(), read_only = false;
  if (!array.on_host() && !(nb::isinstance<int>(stream) && nb::cast<std::int64_t>(stream) == -1)) {
    auto& device = *static_cast<cuda::Device*>(array.space());
    std::uintptr_t handle = 1;
    if (!stream.is_none()) {
      const nb::object number = nb::steal(PyNumber_Index(stream.ptr()));
      if (!number.is_valid()) throw nb::python_error();
      handle = PyLong_AsUnsignedLongLongMask(number.ptr());
      if (handle == 0)
        throw nb::value_error("stream=0 may mean two streams; 1 is the legacy default stream, 2 that of the thread");
    }
    put_in_order(*device.stream(), *device.adopt_stream(reinterpret_cast<cuda::StreamHandle>(handle)));
  }
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  // A consumer before version 1 can't be told that memory is read-only. It gets it all the same, as those do who ask for such
  // memory by other ways: most often it is JAX's own, on its way back to JAX, which writes to none.
  if (read_only && !versioned && hooks().warn.is_valid())
    hooks().warn(
        "Warp: memory that its owner calls read-only goes to a consumer of DLPack before version 1, which can't be told so and "
        "must not write to it");
  return new_capsule(array, versioned, read_only, plain_host);
}

// ---- Our own exchange table: whoever knows it reads arrays without a capsule ------------------------------------------

template <class Call>
int guarded(Call call) noexcept {
  try {
    call();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

interop::DlExchangeTable our_table() {
  interop::DlExchangeTable table;
  table.allocate = [](interop::DlTensor* prototype, DlManagedTensorVersioned** out, void* context,
                      void (*set_error)(void*, const char*, const char*)) {
    try {
      interop::DlTensor shape = *prototype;
      char nothing = 0;
      shape.data = &nothing, shape.byte_offset = 0, shape.strides = nullptr;
      interop::ForeignMemory memory;
      const Type* element = nullptr;
      ArrayDesc desc;
      std::string why;
      interop::Seen how;
      how.zero_rank = true;
      std::uint64_t bytes = 1;
      for (std::int32_t d = 0; d < shape.ndim && shape.shape; ++d) bytes *= std::uint64_t(shape.shape[d]);
      shape.data = bytes ? reinterpret_cast<void*>(std::uintptr_t(64)) : nullptr;
      if (!interop::read_tensor(shape, 0, memory, why) || !interop::fold(memory, element, how, desc, why))
        throw runtime::ArgumentError(why);
      runtime::MemorySpace* space = memory.where == interop::Where::host     ? nullptr
                                    : memory.where == interop::Where::pinned ? space_of(kOnPinned)
                                                                             : space_of(memory.device);
      *out = interop::Export::managed_versioned(
          runtime::Array::empty(element, {desc.shape, std::size_t(desc.ndim)}, false, space), false);
      return 0;
    } catch (const std::exception& error) {
      if (set_error) set_error(context, "BufferError", error.what());
      return -1;
    }
  };
  table.managed_from_object = [](void* object, DlManagedTensorVersioned** out) {
    return guarded([&] {
      auto* self = static_cast<PyObject*>(object);
      *out = interop::Export::managed_versioned(shown(self), is_read_only(self));
    });
  };
  table.tensor_from_object = [](void* object, interop::DlTensor* out) {
    return guarded([&] {
      auto* self = static_cast<PyObject*>(object);
      const runtime::Array& array = shown(self);
      auto& kept = nb::inst_ptr<ArrayObject>(self)->shown;
      auto fresh = std::make_shared<interop::Export>(array);
      fresh->describe(*out);
      kept = std::move(fresh);
    });
  };
  table.managed_to_object = [](DlManagedTensorVersioned* tensor, void** out) {
    return guarded([&] {
      ForeignArray foreign;
      std::string why;
      interop::Seen how;
      how.zero_rank = true;
      const bool read = read_inside({nullptr, tensor}, nullptr, how, foreign, why);
      if (!read) throw nb::buffer_error(why.c_str());
      foreign.keep = hold_taken(tensor);
      const bool read_only = foreign.read_only;
      *out = new_array(nb::handle(), wrap_foreign(std::move(foreign)), read_only).release().ptr();
    });
  };
  table.current_stream = [](std::int32_t type, std::int32_t id, void** out) {
    return guarded([&] {
      *out = nullptr;
      if (type != interop::kDlCuda) return;
      *out = cuda::System::shared().device(id).stream()->handle();
    });
  };
  return table;
}

}  // namespace

nb::object new_dlpack_capsule(const runtime::Array& array, bool plain_host) {
  return new_capsule(array, false, false, plain_host);
}

void register_dlpack(nb::module_& m) {
  nb::object cls = m.attr("Array");
  nb::setattr(
      cls, "__dlpack__",
      nb::cpp_function(
          &dlpack_of, nb::name("__dlpack__"), nb::scope(cls), nb::is_method(), nb::kw_only(),
          nb::arg("stream").none() = nb::none(), nb::arg("max_version").none() = nb::none(),
          nb::arg("dl_device").none() = nb::none(), nb::arg("copy").none() = nb::none(),
          "A DLPack capsule over the same memory. Work that the consumer queues on `stream` (None or 1: the legacy "
          "default stream, 2: the thread's, -1: nobody waits) comes behind that of the device's current stream."));
  nb::setattr(cls, "__dlpack_device__",
              nb::cpp_function(
                  [](nb::handle self) {
                    const runtime::Array* array = as_array(self.ptr());
                    if (!array || !array->is_valid() || !array->space()) return nb::make_tuple(int(interop::kDlCpu), 0);
                    if (array->on_host()) return nb::make_tuple(int(interop::kDlCudaHost), 0);
                    const auto& device = *static_cast<cuda::Device*>(array->space());
                    return nb::make_tuple(int(interop::kDlCuda), device.number());
                  },
                  nb::name("__dlpack_device__"), nb::scope(cls), nb::is_method()));
  static interop::DlExchangeTable table = our_table();
  nb::setattr(cls, "__dlpack_c_exchange_api__", nb::steal(PyCapsule_New(&table, interop::kExchangeTableName, nullptr)));
  m.def(
      "to_dlpack", [](nb::handle array) { return new_capsule(shown(array.ptr()), false, false, false); },
      nb::arg("array"), "A DLPack capsule over an array's memory; nothing is waited for.");
  m.def(
      "from_dlpack",
      [](nb::handle cls, nb::handle source, const TypeHandle* element) {
        ForeignArray foreign;
        std::string why;
        interop::Seen how;
        how.any_sign = how.zero_rank = true;
        const Type* wanted = element ? element->type : nullptr;
        bool read = false;
        if (PyCapsule_CheckExact(source.ptr())) {
          read = take_capsule(source, wanted, how, foreign, why);
        } else if (const interop::DlExchangeTable* table = exchange_table(Py_TYPE(source.ptr()));
                   table && table->tensor_from_object && nb::hasattr(source, "__dlpack__")) {
          read = read_foreign(source, wanted, how, foreign, why);
          void* stream = nullptr;
          if (read && foreign.place >= 0 && table->current_stream &&
              table->current_stream(interop::kDlCuda, foreign.place, &stream) == 0)
            foreign.stream = stream ? reinterpret_cast<std::uintptr_t>(stream) : 1;
        } else if (nb::hasattr(source, "__dlpack__") && nb::hasattr(source, "__dlpack_device__")) {
          read = read_dlpack(source, wanted, how, foreign, why);
        } else {
          PyErr_Format(PyExc_TypeError,
                       "from_dlpack takes a DLPack capsule or an object with __dlpack__ and __dlpack_device__, not %s",
                       Py_TYPE(source.ptr())->tp_name);
          throw nb::python_error();
        }
        if (!read) {
          const std::string name =
              PyCapsule_CheckExact(source.ptr()) ? "DLPack capsule" : Py_TYPE(source.ptr())->tp_name;
          PyErr_SetString(PyExc_RuntimeError, ("the " + name + " can't become an array: " + why).c_str());
          throw nb::python_error();
        }
        const bool read_only = foreign.read_only;
        return new_array(cls, wrap_foreign(std::move(foreign)), read_only);
      },
      nb::arg("cls"), nb::arg("source").none(), nb::arg("element").none(),
      "An array over the memory of a DLPack capsule, or of an object that gives one.");
}

}  // namespace weft::bind
