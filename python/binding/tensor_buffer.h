// The buffer protocol of tern.Tensor: numpy.asarray and memoryview share its memory.
#pragma once

#include <nanobind/nanobind.h>

namespace tern::python {

PyType_Slot* tensor_buffer_slots();

}  // namespace tern::python
