// mx_pack, mx_dequantize and dequantize.
#include <cstring>

#include "dtypes/convert.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/cpu/scratch.h"
#include "kernels/mx_format.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

void pack(KernelCall& call) {
  const TensorView& out = call.out[0];
  const MxFormat f = mx_format(*call.node, out);
  const auto elements = static_cast<std::size_t>(f.element_bytes());
  const auto scales = static_cast<std::size_t>(f.scales().size());
  if (elements > 0) std::memcpy(out.data, call.in[0].data, elements);
  if (scales > 0) std::memcpy(out.data + elements, call.in[1].data, scales);
}

void dequantize(KernelCall& call) {
  const TensorView& in = call.in[0];
  const TensorView& out = call.out[0];
  const MxFormat f = mx_format(*call.node, in);
  const auto* scales = reinterpret_cast<const F8E8M0*>(in.data + f.element_bytes());
  parallel_for(f.rows, grain_for(4 * f.columns), [&](std::int64_t begin, std::int64_t end) {
    const bool direct = out.dtype == DType::f32;
    float* row = direct ? nullptr : thread_buffer<float>(static_cast<std::size_t>(f.columns));
    for (std::int64_t r = begin; r < end; ++r) {
      std::byte* to = out.data + r * f.columns * element_size(out.dtype);
      decode_mx_row(f, in.data, scales, r, direct ? reinterpret_cast<float*>(to) : row);
      if (!direct) convert(row, DType::f32, to, out.dtype, f.columns);
    }
  });
}

void dequantize_blocks(KernelCall& call) {
  to_dense(call.in[0], call.out[0].dtype, call.out[0].data);
}

}  // namespace

void register_mx(KernelTable& t) {
  Kernel k;
  k.run = pack;
  t.set(Op::mx_pack, k);
  k.run = dequantize;
  t.set(Op::mx_dequantize, k);
  k.run = dequantize_blocks;
  t.set(Op::dequantize, k);
}

}  // namespace tern::pointwise
