#include "kernels/algorithm_costs.h"

#include "kernels/cpu/convolution/costs.h"
#include "kernels/cpu/products/product_costs.h"

namespace tern {

std::vector<AlgorithmCost> algorithm_costs(const KernelCall& call) {
  switch (call.node->op) {
    case Op::convolution: return cpu::convolution_costs(call);
    case Op::matmul: return cpu::product_costs(call);
    default: return {};
  }
}

}  // namespace tern
