// mx_pack and dequantize.
#include "kernels/portable/quantized.h"

#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

void pack(const KernelCall& c, Launches& list) {
  const QuantizedMatrix m = quantized_matrix(c.out[0]);
  Launch k("mx_pack");
  k.input("elements", 0, DType::u8);
  k.input("scales", 1, DType::u8);
  k.output("out", 0, DType::u8);
  k.parameter("element_bytes", m.element_bytes());
  k.parameter("scale_bytes", m.scales().size());
  list.add(std::move(k), m.element_bytes() + m.scales().size());
}

void dequantize(const KernelCall& c, Launches& list) {
  const QuantizedMatrix m = quantized_matrix(c.in[0]);
  Launch k("dequantize");
  declare_quantized(k, "x", 0, m);
  k.output("out", 0, c.out[0].dtype);
  k.store("STORE", DType::f32, c.out[0].dtype);
  k.parameter("count", m.rows * m.columns);
  k.parameter("columns", m.columns);
  list.add(std::move(k), m.rows * m.columns);
}

}  // namespace

void define_quantized(Definitions& d) {
  // Packed values are read byte by byte, in their stored layout.
  Kernel k = kernel<pack>();
  k.strided = 0;
  d.set(Op::mx_pack, k);
  k = kernel<dequantize>();
  k.strided = 0;
  d.set(Op::dequantize, k);
}

}  // namespace tern::portable
