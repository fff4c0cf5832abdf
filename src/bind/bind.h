// What the files of the binding share: the registration functions, the wrapped types, and the conversion of Python
// objects into the bytes of kernel arguments.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "cuda/device.h"
#include "driver/kernel.h"
#include "runtime/array.h"
#include "sema/symbol.h"
#include "types/type.h"

namespace weft::bind {

namespace nb = nanobind;

/// A type of the kernel language in Python. Types are interned, so handles compare by pointer.
struct TypeHandle {
  const Type* type = nullptr;
};

/// A function of the kernel language given as text, with a Python object that resolves its free names.
struct FunctionObject {
  std::shared_ptr<const sema::FunctionDecl> decl;
};

/// The C++ part of a Python array: warp.array derives from it.
struct ArrayObject {
  runtime::Array array;
  bool read_only = false;         // memory that its owner does not want to be written to
  PyObject* owner = nullptr;      // the tensor whose memory it is, which the memory holds; null: none
  std::shared_ptr<void> shown{};  // what a consumer of DLPack's table was last pointed to
};
/// Copies elements; other Python threads run while many are copied.
void copy_elements(const runtime::Array& to, const runtime::Array& from);
/// A new array object of a class, null for warp.array, without its __init__.
nb::object new_array(nb::handle cls, runtime::Array array, bool read_only = false);

void register_errors(nb::module_& m);
void register_types(nb::module_& m);
void register_exchange(nb::module_& m);
void register_jax_quick_call(nb::module_& m);
void register_dlpack(nb::module_& m);
void register_descriptors(nb::module_& m);
void register_torch(nb::module_& m);
void register_arrays(nb::module_& m);
void register_class_bases(nb::module_& m);
void register_functions(nb::module_& m);
void register_function_calls(nb::module_& m);
void register_kernels(nb::module_& m);
void register_launch(nb::module_& m);
void register_launch_tiled(nb::module_& m);
void register_recorded_launch(nb::module_& m);
void register_tape(nb::module_& m);
void register_builtins(nb::module_& m);
void register_buffers(nb::module_& m);
void register_runtime(nb::module_& m);
void register_graph_journal(nb::module_& m);
void register_graph_writes(nb::module_& m);
void register_saved_graphs(nb::module_& m);
void register_cuda(nb::module_& m);
void register_cuda_work(nb::module_& m);
void register_algorithms(nb::module_& m);
void register_host_graphs(nb::module_& m);
void register_meshes(nb::module_& m);
void register_hash_grids(nb::module_& m);
void register_volumes(nb::module_& m);
void register_textures(nb::module_& m);
void register_xla_targets(nb::module_& m);
void register_jax_exchange(nb::module_& m);

/// Raises the Python exception for a failed compile, by the category of its first error.
[[noreturn]] void raise_compile_error(const DiagnosticSink& sink);
/// Sets the Python exception that ended a wait for a device.
void raise_interruption() noexcept;
/// Sets the Python exception for the C++ exception in flight: for entry points that nanobind does not wrap, inside their
/// catch (...).
void set_python_error() noexcept;

/// A field of a struct's instance; the class hides those that are the library's own.
nb::object struct_field(nb::handle value, const Type* type, const Field& field);

/// Whether a value stands for several numbers: sequences but text, and tensors with dimensions, which are no sequences for Python.
bool is_sequence(nb::handle value);
/// Writes a Python value into `to` in the type's C layout: numbers, warp scalars, vectors and the like (anything with the
/// buffer protocol or a sequence of the right length), struct instances, arrays, None for arrays. Objects that must stay
/// alive until the launch ends are appended to `keep`. Raises the errors of wp.launch, naming kernel and parameter.
void pack_value(nb::handle value, const Type* type, char* to, const char* kernel, const std::string& param,
                std::vector<nb::object>& keep);
/// While it lives, pack_value on this thread demands that arrays lie where a launch runs: on a device, or for null where
/// the CPU reaches them.
class __attribute__((visibility("hidden"))) PackingFor {
 public:
  /// `notes`, if given, takes what the launch has to know of foreign arguments.
  explicit PackingFor(cuda::Device* device, struct LaunchNotes* notes = nullptr);
  ~PackingFor();
  PackingFor(const PackingFor&) = delete;
  PackingFor& operator=(const PackingFor&) = delete;
};
/// The Python value of bytes in C layout: float32, int32 and bool as Python numbers, other scalars and composites through
/// the classes that warp registered (set_value_factory).
nb::object unpack_value(const Type* type, const void* bytes);

/// The type that a generic parameter takes from a Python argument; null if none fits.
const Type* type_of_value(nb::handle value);

}  // namespace weft::bind
