// Builtins called from Python: the same definition as in kernels, evaluated by the interpreter. What a call lowers to is
// kept per name and argument types.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <span>

#include "analysis/handles.h"
#include "bind/bind.h"
#include "builtins/row.h"
#include "driver/held_objects.h"
#include "driver/pipeline.h"
#include "interp/interpreter.h"
#include "sema/sema.h"

namespace weft::bind {
namespace {

struct Prepared {
  std::unique_ptr<ir::Module> module;  // its last function is the call
  std::vector<analysis::HandleArgument> ids;
};

/// What a call on these types lowers to; null if no row takes them.
const Prepared* prepare(const std::string& name, const std::vector<const Type*>& types) {
  static auto* prepared = new std::map<std::pair<std::string, std::vector<const Type*>>, Prepared>;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto key = std::make_pair(name, types);
  if (auto it = prepared->find(key); it != prepared->end()) return &it->second;
  DiagnosticSink sink;
  auto module = sema::lower_builtin(name, types, {}, sink);
  if (!module) return nullptr;
  for (const builtins::Row& row : builtins::rows(name)) {
    bool updates = std::any_of(row.params.begin(), row.params.end(),
                               [](const builtins::RowParam& p) { return p.pattern.by_reference; });
    // A state may stay as it is (randf), a query that does not go on means nothing.
    bool query = std::any_of(row.params.begin(), row.params.end(), [](const builtins::RowParam& p) {
      return p.pattern.by_reference && p.pattern.kind == builtins::Pattern::Kind::library_struct;
    });
    if (query || (updates && row.result == "None" && row.params.size() == types.size())) {
      std::string text = "'" + name + "' updates variables here, which only kernels can do";
      PyErr_SetString(PyExc_RuntimeError, text.c_str());
      throw nb::python_error();
    }
  }
  std::vector<analysis::HandleArgument> ids = analysis::handle_arguments(*module->functions.back());
  if (std::ranges::any_of(ids, [](const auto& one) { return one.kind != HandleKind::volume; })) {
    std::string text = "'" + name + "' asks an object by its id, which only kernels can do (Python can with volumes)";
    PyErr_SetString(PyExc_RuntimeError, text.c_str());
    throw nb::python_error();
  }
  // As in kernels: sums of products are fused where wp.config.fuse_fp says so by default.
  driver::optimize(*module, {});
  return &prepared->emplace(std::move(key), Prepared{std::move(module), std::move(ids)}).first->second;
}

/// An id is an address: it is looked up before anything is read there, as launches do. The objects keep still meanwhile.
driver::HeldObjects objects_of_ids(const std::string& name, const std::vector<analysis::HandleArgument>& ids,
                                   std::span<const interp::Datum> data) {
  std::vector<std::shared_ptr<geometry::Object>> objects;
  for (const analysis::HandleArgument& one : ids) {
    std::uint64_t id = 0;
    std::memcpy(&id, data[one.param].bytes.data() + one.offset, sizeof id);
    if (id == 0) continue;
    geometry::FoundObject found = geometry::find_object(id);
    std::string fault = driver::fault_of_id(one.kind, id, found);
    if (fault.empty() && found.object->device())
      fault = "the " + std::string(handle_user_name(one.kind)) + " lies on " + found.object->place() +
              ", a call from Python runs on the CPU: ask it in a kernel";
    if (!fault.empty()) {
      PyErr_SetString(PyExc_RuntimeError,
                      ("'" + name + "', argument " + std::to_string(one.param + 1) + ": " + fault).c_str());
      throw nb::python_error();
    }
    if (std::find(objects.begin(), objects.end(), found.object) == objects.end())
      objects.push_back(std::move(found.object));
  }
  return driver::HeldObjects(std::move(objects));
}

/// An argument's type as the user wrote it: Python's numbers by their Python name.
std::string written_type(nb::handle arg, const Type* type) {
  PyObject* p = arg.ptr();
  if (PyBool_Check(p) || PyLong_CheckExact(p) || PyFloat_CheckExact(p)) return Py_TYPE(p)->tp_name;
  return type->user_name();
}

[[noreturn]] void no_row_fits(const std::string& name, const nb::args& args, const std::vector<const Type*>& types) {
  std::string text = "Couldn't find a function '" + name + "' compatible with the arguments '";
  for (std::size_t i = 0; i < types.size(); ++i) text += (i ? ", " : "") + written_type(args[i], types[i]);
  PyErr_SetString(PyExc_RuntimeError, (text + "'").c_str());
  throw nb::python_error();
}

nb::object call_builtin(const std::string& name, nb::args args) {
  std::vector<const Type*> types;
  std::vector<interp::Datum> data;
  std::vector<nb::object> keep;
  for (nb::handle arg : args) {
    const Type* type = type_of_value(arg);
    if (!type) {
      std::string text =
          "the type of an argument of '" + name + "' can't be told: " + nb::cast<std::string>(nb::str(nb::repr(arg)));
      PyErr_SetString(PyExc_TypeError, text.c_str());
      throw nb::python_error();
    }
    interp::Datum d{type, std::vector<std::byte>(type->size())};
    pack_value(arg, type, reinterpret_cast<char*>(d.bytes.data()), "", name, keep);
    types.push_back(type);
    data.push_back(std::move(d));
  }
  const Prepared* prepared = prepare(name, types);
  if (!prepared) no_row_fits(name, args, types);
  const driver::HeldObjects held = objects_of_ids(name, prepared->ids, data);
  std::vector<interp::Datum> results = interp::call(*prepared->module->functions.back(), data);
  if (results.empty()) return nb::none();
  if (results.size() == 1) return unpack_value(results[0].type, results[0].bytes.data());
  nb::list out;
  for (const interp::Datum& r : results) out.append(unpack_value(r.type, r.bytes.data()));
  return nb::tuple(out);
}

}  // namespace

void register_builtins(nb::module_& m) {
  m.def("call_builtin", &call_builtin, "Evaluates a builtin on Python values by the interpreter.");
  m.def("builtin_names", [] {
    nb::list out;
    for (std::string_view name : builtins::builtin_names()) out.append(std::string(name));
    return out;
  });
  m.def(
      "builtin_rows",
      [](const std::string& name) {
        nb::list out;
        for (const builtins::Row& row : builtins::rows(name))
          out.append(nb::make_tuple(row.signature, row.doc, row.sample));
        return out;
      },
      "Signatures, documentation and sample domains of a builtin's overloads.");
  m.def(
      "builtin_gradients",
      [](const std::string& name) {
        nb::list out;
        for (const builtins::Row& row : builtins::rows(name)) {
          nb::list params;
          for (const builtins::RowParam& param : row.params) params.append(param.differentiable);
          out.append(nb::tuple(params));
        }
        return out;
      },
      "For each overload of a builtin and each of its parameters: whether gradients go to it, as far as it has floats.");
  m.def(
      "builtin_older_names",
      [](const std::string& name) {
        nb::list out;
        for (const builtins::Row& row : builtins::rows(name)) {
          nb::dict names;
          for (const builtins::RowParam& param : row.params)
            for (const std::string& older : param.older_names) names[older.c_str()] = param.name;
          out.append(names);
        }
        return out;
      },
      "For each overload of a builtin: the parameter that a keyword of older versions means.");
}

}  // namespace weft::bind
