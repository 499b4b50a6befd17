#include "python/binding/owner.h"

#include <utility>

#include "python/binding/gil.h"

namespace nb = nanobind;

namespace tern::python {

std::shared_ptr<void> owner_of(nb::handle object) {
  object.inc_ref();
  return {object.ptr(), [](void* p) { call_with_gil([p] { Py_DECREF(static_cast<PyObject*>(p)); }); }};
}

std::shared_ptr<void> owner_of(std::shared_ptr<void> object) {
  void* const address = object.get();
  auto kept = std::make_unique<std::shared_ptr<void>>(std::move(object));
  return {address, [p = kept.release()](void*) {
            call_with_gil([p] { const std::unique_ptr<std::shared_ptr<void>> last(p); });
          }};
}

std::shared_ptr<void> owner_of(std::unique_ptr<Py_buffer, ReleaseBuffer> view) {
  return {view.release(), [](void* p) { call_with_gil([p] { ReleaseBuffer()(static_cast<Py_buffer*>(p)); }); }};
}

}  // namespace tern::python
