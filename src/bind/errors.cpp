// The one place where C++ errors become Python exceptions. Compile errors map to warp's own classes, which warp.codegen
// hands in (set_error_classes), by the category of the first error; the runtime's errors to what wp.launch documents.
#include "runtime/errors.h"
#include "bind/bind.h"
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

}  // namespace

void raise_compile_error(const DiagnosticSink& sink) {
  std::string text;
  const Diagnostic* first = nullptr;
  for (const Diagnostic& d : sink.all()) {
    if (d.severity() != Severity::error) continue;
    if (!first) first = &d;
    text += render(d);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const char* category = first ? category_name(category_of(first->code)) : "codegen";
  nb::object type = nb::borrow(PyExc_RuntimeError);
  if (error_classes().contains(category)) type = error_classes()[category];
  PyErr_SetString(type.ptr(), text.c_str());
  throw nb::python_error();
}

void register_errors(nb::module_& m) {
  m.def(
      "set_error_classes",
      [](nb::dict classes) {
        for (auto [key, value] : classes) error_classes()[key] = value;
      },
      "Exception classes by category: syntax, codegen, type, name, attribute, operand, value.");

  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const runtime::OutOfMemory& e) {
      PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const runtime::LaunchError& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const runtime::Error& e) {
      PyErr_SetString(PyExc_RuntimeError, e.what());
    } catch (const interp::Error& e) {
      PyErr_SetString(PyExc_RuntimeError, e.what());
    } catch (const codegen::Error& e) {
      PyErr_SetString(PyExc_RuntimeError, e.what());
    }
  });
}

}  // namespace weft::bind
