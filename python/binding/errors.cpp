#include "python/binding/errors.h"

#include <tern/cancel.h>

#include <new>

namespace nb = nanobind;

namespace tern::python {
namespace {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::io: return "io";
    case ErrorCode::bad_file: return "bad_file";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::runtime: return "runtime";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

void set_error(const char* code, const char* message) {
  try {
    // Messages quote names from files, possibly not UTF-8.
    const nb::object text =
        nb::steal(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(strlen(message)), "replace"));
    const nb::object error = nb::module_::import_("tern._errors").attr("make_error")(code, text);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& e) {
    e.restore();
  }
}

}  // namespace

void set_python_error(const std::exception& error) {
  if (const auto* c = dynamic_cast<const Cancelled*>(&error)) {
    set_error("cancelled", c->what());
  } else if (const auto* e = dynamic_cast<const Error*>(&error)) {
    set_error(name_of(e->code()), e->what());
  } else if (const auto* b = dynamic_cast<const nb::builtin_exception*>(&error)) {
    PyErr_SetString(b->type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_RuntimeError, b->what());
  } else if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    set_error("out_of_memory", "out of memory");
  } else {
    set_error("internal", error.what());
  }
}

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      set_python_error(e);
    } catch (const std::bad_alloc& e) {
      set_python_error(e);
    }
  });
}

}  // namespace tern::python
