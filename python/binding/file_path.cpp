#include "python/binding/file_path.h"

namespace nb = nanobind;

namespace tern::python {

std::string file_path_of(nb::handle object) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(object.ptr(), &bytes) == 0) throw nb::python_error();
  const nb::object owner = nb::steal(bytes);
  return PyBytes_AsString(bytes);
}

}  // namespace tern::python
