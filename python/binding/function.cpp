// tern.Function: a function of a program, bound to its runner.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/binding/call.h"
#include "python/binding/instance.h"
#include "python/binding/model.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

PyObject* call_function(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call_slot([&] {
    const auto& f = instance<PyFunction>(self);
    return call(*f.entry, *f.runner, args, kwargs);
  });
}

}  // namespace

nb::dict functions_of(const std::shared_ptr<Facts>& facts, const std::shared_ptr<Runner>& runner) {
  nb::dict all;
  for (const FunctionEntry& e : facts->entries) all[nb::cast(e.info->name)] = PyFunction{facts, &e, runner};
  return all;
}

void add_function(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_function)}, {0, nullptr}};
  nb::class_<PyFunction>(m, "Function", nb::type_slots(slots), R"(A function of a program. Call it as in PyTorch.

f(x, mask=m) takes NumPy arrays, torch tensors, numbers and objects with DLPack, without a copy if they are contiguous,
and returns a Tensor, or the structure of tensors that the program had in PyTorch. f(x, out=y) writes the results to the
arrays y, and returns y.)")
      .def_prop_ro("name", [](const PyFunction& f) { return f.entry->info->name; })
      .def_prop_ro(
          "inputs", [](const PyFunction& f) { return f.entry->info->inputs; }, "A ValueInfo for each input.")
      .def_prop_ro(
          "outputs", [](const PyFunction& f) { return f.entry->info->outputs; }, "A ValueInfo for each result.")
      .def_prop_ro("__signature__",
                   [](nb::handle self) { return nb::module_::import_("tern._pytree").attr("signature")(self); })
      .def("__repr__", [](nb::handle self) { return nb::module_::import_("tern._pytree").attr("describe")(self); });
}

}  // namespace tern::python
