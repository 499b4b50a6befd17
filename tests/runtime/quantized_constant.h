// Makes constants with quantized values for test programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/runtime/support.h"

namespace tern::testing {

/// `bytes` is the whole value of m.bytes() bytes. Leading axes of `sizes` are rows of `m`.
inline ValueId quantized_constant(TestProgram& p, const QuantizedMatrix& m, const std::vector<std::int64_t>& sizes,
                                  const std::vector<std::byte>& bytes) {
  const ValueId v = p.b().constant(DType::u8, {m.bytes()}, bytes.data());
  State& s = p.program().states.back();
  const TensorType type{m.element, Dims(sizes.begin(), sizes.end()), m.blocks};
  s.type = p.program().functions[0].values[static_cast<std::size_t>(v)].type = type;
  s.strides.assign(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) s.strides[i - 1] = s.strides[i] * sizes[i];
  return v;
}

}  // namespace tern::testing
