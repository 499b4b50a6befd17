// The elements of a tensor shown in its text.
#pragma once

#include <tern/tensor.h>

#include <cstdint>

namespace tern::python {

/// A copy in the CPU's memory: for an axis longer than 2 * edge + 1 only the first edge + 1 and the last `edge`
/// elements. Floats missing in NumPy become float32, int4 and int2 int8, complex32 complex64. Reads no other elements
/// of the tensor.
Tensor summary_of(const Tensor& t, std::int64_t edge);

}  // namespace tern::python
