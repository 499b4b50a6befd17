// mx_pack and dequantize.
#include <cstring>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/quantized_view.h"

namespace tern::pointwise {
namespace {

void pack_blocks(KernelCall& call) {
  const TensorView& out = call.out[0];
  const QuantizedMatrix m = quantized_matrix(out);
  const auto elements = static_cast<std::size_t>(m.element_bytes());
  const auto scales = static_cast<std::size_t>(m.scales().size());
  if (elements > 0) std::memcpy(out.data, call.in[0].data, elements);
  if (scales > 0) std::memcpy(out.data + elements, call.in[1].data, scales);
}

void dequantize_blocks(KernelCall& call) {
  to_dense(call.in[0], call.out[0].dtype, call.out[0].data);
}

}  // namespace

void register_quantized(KernelTable& t) {
  Kernel k;
  k.run = pack_blocks;
  t.set(Op::mx_pack, k);
  k.run = dequantize_blocks;
  t.set(Op::dequantize, k);
}

}  // namespace tern::pointwise
