// Python objects kept alive by tensors. The last copy of a tensor may end on any thread, with or without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

namespace tern::python {

struct ReleaseBuffer {
  void operator()(Py_buffer* view) const {
    PyBuffer_Release(view);
    delete view;
  }
};

/// Holds a reference.
std::shared_ptr<void> owner_of(nanobind::handle object);
/// Holds an object owning Python objects in turn.
std::shared_ptr<void> owner_of(std::shared_ptr<void> object);
/// Holds the view, and through the view the exporter's memory.
std::shared_ptr<void> owner_of(std::unique_ptr<Py_buffer, ReleaseBuffer> view);

}  // namespace tern::python
