// For one axis of a resize: which input elements make an output element, with which weights. Positions and weights are
// those of PyTorch's CPU kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/window_kinds.h"

namespace tern::cpu {

/// Output i is the sum over k < taps of weight[i * taps + k] times input index[i * taps + k].
template <class T>
struct ResizeTable {
  std::int64_t in = 1, out = 1, taps = 1;
  bool identity = true;
  std::vector<std::int64_t> index;
  std::vector<T> weight;
};

struct ResizeAxis {
  std::int64_t in, out;
  double factor;  ///< output size / input size as given, 0 if not
  bool align_corners;
};

/// T is float or double.
template <class T>
ResizeTable<T> resize_table(const ResizeAxis& a, ResizeMode mode, bool antialias);

/// PyTorch resizes uint8 images with weights of 15 bits and a precision that the largest of them allows. Elements of
/// one output that read the same input element have their weights added first.
template <class T>
void quantise(const std::vector<std::int64_t>& index, std::vector<T>& weight, std::int64_t out, std::int64_t taps);

}  // namespace tern::cpu
