// Nodes whose portable kernels are compiled when Tern is built: one of each kind, in the element types that texts are
// compiled for (kernels/portable/compiled_types.h). Sizes and what is a parameter do not matter.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern::generate {

struct Operand {
  DType dtype = DType::invalid;  ///< invalid: absent
  std::vector<std::int64_t> sizes;
};

struct Sample {
  Op op;
  std::vector<Operand> inputs;
  std::vector<Attr> attrs;
};

std::vector<Sample> samples();
void add_linalg_samples(std::vector<Sample>& samples);  ///< and Fourier transforms

template <class T>
Attr integer(AttrKey key, T value) {
  return {key, Dims{Dim(static_cast<std::int64_t>(value))}};
}

}  // namespace tern::generate
