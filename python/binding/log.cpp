// Passes messages not delivered as errors to Python.
#include <nanobind/stl/string.h>
#include <tern/log.h>

#include <cstring>
#include <string>

#include "python/binding/gil.h"
#include "python/binding/model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

/// tern._log.receive() passes the message on. Exceptions of the application go to sys.unraisablehook.
void receive(std::int32_t level, const char* message, void*) {
  call_with_gil([&] {
    try {
      const nb::object text =
          nb::steal(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(strlen(message)), "replace"));
      nb::module_::import_("tern._log").attr("receive")(level, text);
    } catch (nb::python_error& e) {
      e.discard_as_unraisable("tern's log");
    }
  });
}

}  // namespace

void add_log(nb::module_& m) {
  set_log(&receive);
  // For tests.
  m.def(
      "_log",
      [](std::int32_t level, const std::string& message) {
        const WithoutGil released;
        receive(level, message.c_str(), nullptr);
      },
      "level"_a, "message"_a);
}

}  // namespace tern::python
