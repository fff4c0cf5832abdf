// The one place where C++ errors become Python exceptions. Compile errors map to warp's own classes, which warp.codegen
// hands in (set_error_classes), by the category of the first error; the runtime's errors to what wp.launch documents.
#include "runtime/errors.h"
#include "bind/bind.h"
#include "bind/empty_launch.h"
#include "bind/gil.h"
#include "codegen/codegen.h"
#include "interp/interpreter.h"
#include "weft/weft.h"

namespace weft::bind {
namespace {

/// By category; filled by set_error_classes. Never freed: it must outlive module teardown.
nb::dict& error_classes() {
  static nb::dict* classes = new nb::dict;
  return *classes;
}

const char* category_name(DiagCategory category) {
  switch (category) {
    case DiagCategory::syntax: return "syntax";
    case DiagCategory::codegen: return "codegen";
    case DiagCategory::type: return "type";
    case DiagCategory::name: return "name";
    case DiagCategory::attribute: return "attribute";
    case DiagCategory::operand: return "operand";
    case DiagCategory::value: return "value";
    default: return "codegen";
  }
}

/// The name in the last `def` at or above a line; Python hands over one function's text at a time.
std::string function_at(const SourceLoc& loc) {
  for (std::uint32_t line = loc.line; loc.file && line >= loc.file->first_line() && line > 0; --line) {
    std::string_view text = loc.file->line(line);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (!text.starts_with("def ")) continue;
    text.remove_prefix(4);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return std::string(text.substr(0, text.find_first_of("( \t:[")));
  }
  return {};
}

/// The first line of every compile error, which programs match on.
std::string headline(const SourceLoc& loc) {
  if (!loc.known() || !loc.file) return {};
  return "Error while parsing function \"" + function_at(loc) + "\" at " + loc.file->name() + ":" +
         std::to_string(loc.line) + ":\n";
}

/// Sets the Python exception for an error of the library; false for any other.
bool set_known_error(const std::exception_ptr& p) {
  try {
    std::rethrow_exception(p);
  } catch (const runtime::OutOfMemory& e) {
    PyErr_SetString(PyExc_MemoryError, e.what());
  } catch (const cuda::Interrupted&) {
    raise_interruption();
  } catch (const runtime::LaunchError& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const runtime::Error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (const interp::Error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (const codegen::Error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    return false;
  }
  return true;
}

}  // namespace

void raise_compile_error(const DiagnosticSink& sink) {
  std::string text;
  const Diagnostic* first = nullptr;
  for (const Diagnostic& d : sink.all()) {
    if (d.severity() != Severity::error) continue;
    if (!first) text += headline((first = &d)->loc);
    text += render(d);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const char* category = first ? category_name(category_of(first->code)) : "codegen";
  nb::object type = nb::borrow(PyExc_RuntimeError);
  if (error_classes().contains(category)) type = error_classes()[category];
  PyErr_SetString(type.ptr(), text.c_str());
  throw nb::python_error();
}

bool is_compile_error() {
  for (auto [category, type] : error_classes())
    if (PyErr_ExceptionMatches(type.ptr())) return true;
  return false;
}

void register_errors(nb::module_& m) {
  m.def(
      "set_error_classes",
      [](nb::dict classes) {
        for (auto [key, value] : classes) error_classes()[key] = value;
      },
      "Exception classes by category: syntax, codegen, type, name, attribute, operand, value.");

  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    if (!set_known_error(p)) std::rethrow_exception(p);
  });
}

void set_python_error() noexcept {
  const std::exception_ptr current = std::current_exception();
  if (!current) park_thread();  // no exception but the unwinding of a thread that Python ends
  try {
    if (set_known_error(current)) return;
    std::rethrow_exception(current);
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const nb::builtin_exception& e) {
    PyObject* type = PyExc_RuntimeError;
    switch (e.type()) {
      case nb::exception_type::index_error: type = PyExc_IndexError; break;
      case nb::exception_type::key_error: type = PyExc_KeyError; break;
      case nb::exception_type::value_error: type = PyExc_ValueError; break;
      case nb::exception_type::type_error: type = PyExc_TypeError; break;
      case nb::exception_type::buffer_error: type = PyExc_BufferError; break;
      case nb::exception_type::attribute_error: type = PyExc_AttributeError; break;
      default: break;
    }
    PyErr_SetString(type, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown C++ exception");
  }
}

}  // namespace weft::bind
