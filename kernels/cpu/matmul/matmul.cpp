// matmul, by the first of its algorithms that takes the node. A matrix of float32 or narrower floats whose columns lie
// in one piece each is read as it lies, unless it was packed at export; a constant bfloat16 one is packed once where
// the processor multiplies that type, and other narrow ones where their columns do not.
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/matmul/algorithms.h"

namespace tern::cpu {
namespace {

constexpr std::unique_ptr<Algorithm> (*kAlgorithms[])(const Product&) = {
    product_by_onednn, product_on_tiles, product_with_panels, product_in_place, product_by_blocks};

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  return prepare_first<Product>(kAlgorithms, Product(c));
}

constexpr Way kWays[] = {Way::tiles,       Way::panels,   Way::panels_lines, Way::panels_columns, Way::panels_shallow,
                         Way::panels_deep, Way::in_place, Way::blocks,       Way::onednn};

}  // namespace

Kernel matmul_kernel() {
  return {.run = run_algorithm,
          .scratch = scratch_of_algorithm,
          .prepare = prepare,
          .strided = ~0b100u,
          .defers_weights = true,
          .ways = kWays};
}

}  // namespace tern::cpu
