// mx_pack and mx_dequantize: tensors of small floats with a scale for each block.
#include "kernels/mx_format.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

void pack(const KernelCall& c, Launches& list) {
  const MxFormat f = mx_format(*c.node, c.out[0]);
  Launch k("mx_pack");
  k.input("elements", 0, DType::u8);
  k.input("scales", 1, DType::u8);
  k.output("out", 0, DType::u8);
  k.parameter("element_bytes", f.element_bytes());
  k.parameter("scale_bytes", f.scales().size());
  list.add(std::move(k), f.element_bytes() + f.scales().size());
}

void dequantize(const KernelCall& c, Launches& list) {
  const MxFormat f = mx_format(*c.node, c.in[0]);
  Launch k("mx_dequantize");
  k.input("x", 0, DType::u8);
  k.load("LOAD_X", f.element, DType::f32);
  k.output("out", 0, c.out[0].dtype);
  k.store("STORE", DType::f32, c.out[0].dtype);
  k.source.define("SWIZZLED", f.layout == ScaleLayout::plain ? std::int64_t{0} : std::int64_t{1});
  k.parameter("count", f.rows * f.columns);
  k.parameter("columns", f.columns);
  k.parameter("block", f.block);
  k.parameter("blocks", f.columns / f.block);
  k.parameter("element_bytes", f.element_bytes());
  list.add(std::move(k), f.rows * f.columns);
}

}  // namespace

void define_microscaling(Definitions& d) {
  // Packed values are read byte by byte, as they lie.
  Kernel k = kernel<pack>();
  k.strided = 0;
  d.set(Op::mx_pack, k);
  k = kernel<dequantize>();
  k.strided = 0;
  d.set(Op::mx_dequantize, k);
}

}  // namespace tern::portable
