// Sample nodes of the portable kernels compiled with Tern: one of each kind, in the element types of compiled texts.
// Samples are written in the definitions (kernels/portable/definitions.h), a line for several nodes:
//
//     T=f32|f64: T[3,4], -|T[4], i64[n]; kind=sum|mean, range=[0,1]
//
// T stands for each of the types in turn; then come the operands, `-` an absent operand, and the attributes. `|`
// separates alternatives; every combination is a node. Values of an enumeration are written by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern::generate {

struct SampleOperand {
  DType dtype = DType::invalid;  ///< invalid: absent
  std::vector<std::int64_t> sizes;
};

struct Sample {
  Op op;
  std::vector<SampleOperand> inputs;
  std::vector<Attr> attrs;
};

/// The nodes of a line. Throws tern::Error, naming the invalid part.
std::vector<Sample> read_samples(Op op, std::string_view line);
/// Samples of all definitions.
std::vector<Sample> samples();

template <class T>
Attr integer(AttrKey key, T value) {
  return {key, Dims{Dim(static_cast<std::int64_t>(value))}};
}

}  // namespace tern::generate
