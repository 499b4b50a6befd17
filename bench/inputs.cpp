#include "bench/inputs.h"

#include <algorithm>

namespace tern::bench {

std::vector<Tensor> inputs_of(const Model& model) {
  std::vector<Tensor> inputs;
  for (const ValueInfo& input : model.functions().at(0).inputs) {
    std::vector<std::int64_t> sizes;
    for (const SizeInfo& s : input.sizes) sizes.push_back(s.constant ? s.value : std::max<std::int64_t>(s.min, 1));
    Tensor& x = inputs.emplace_back(input.dtype, sizes);
    if (input.dtype == DType::f32) std::ranges::fill(x.span<float>(), 0.5F);
  }
  return inputs;
}

}  // namespace tern::bench
