// The elements of a tensor that its text shows.
#pragma once

#include <tern/tensor.h>

#include <cstdint>

namespace tern::python {

/// A copy in the CPU's memory: of an axis longer than 2 * edge + 1 the first edge + 1 and the last `edge` elements.
/// Floats that NumPy lacks become float32, int4 and int2 int8, complex32 complex64. Reads nothing else of the tensor.
Tensor summary_of(const Tensor& t, std::int64_t edge);

}  // namespace tern::python
