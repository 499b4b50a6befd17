// Computes the arithmetic intensity of the section's convolutions; kernels choose layouts by the result.
#include "runtime/plan/passes.h"
#include "runtime/profile.h"

namespace tern {

void weigh_convolutions(Draft& d) {
  double operations = 0, elements = 0;
  for (const Node* n : d.resolved) {
    const bool layouts = d.prepared.kernels->kernels[static_cast<std::size_t>(n->op)].channels_last != nullptr;
    if (n->op != Op::convolution || !layouts || n->inputs.empty() || n->outputs.empty() || n->outputs[0] == kNoValue)
      continue;
    std::vector<TensorView> in, out;
    for (ValueId v : n->inputs) {
      const bool known = v != kNoValue && d.concrete.has_known_sizes(d.type(v));
      in.push_back(known ? d.concrete.view(d.type(v)) : TensorView{});
    }
    if (d.concrete.has_known_sizes(d.type(n->outputs[0]))) out.push_back(d.concrete.view(d.type(n->outputs[0])));
    const double own = in[0].dtype == DType::invalid ? 0 : flops_of(*n, in, out);
    if (own == 0) continue;
    operations += own;
    elements += static_cast<double>(in[0].numel() + out[0].numel());
  }
  if (elements > 0) d.intensity = operations / elements;
}

}  // namespace tern
