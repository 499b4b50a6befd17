// Tensors without operands: full, iota, from_dim.
#include <complex>
#include <cstring>
#include <variant>

#include "dtypes/cast.h"
#include "dtypes/convert.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

/// Number `i` of the attribute `value`, an array of integers or floats.
struct AttributeNumbers {
  explicit AttributeNumbers(const Node& node) : data(*node.find(AttrKey::value)) {}
  bool integers() const { return std::holds_alternative<Dims>(data); }
  std::int64_t integer(std::size_t i) const {
    return integers() ? std::get<Dims>(data).at(i).value() : float_to_int<std::int64_t>(number(i));
  }
  double number(std::size_t i) const {
    if (integers()) return static_cast<double>(integer(i));
    const auto& n = std::get<std::vector<double>>(data);
    return i < n.size() ? n[i] : 0.0;
  }
  const AttrData& data;
};

/// Fills with an element (or a packed pair) stored in `bytes`.
void fill(const TensorView& out, const std::byte* bytes, Launches& list) {
  static constexpr DType kCarriers[] = {DType::u8, DType::u16, DType::u32, DType::u64, DType::u64};
  const int size = element_size(out.dtype);
  const std::int64_t per = elements_per_byte(out.dtype);
  std::int64_t words[2] = {};
  std::memcpy(words, bytes, static_cast<std::size_t>(size));
  std::size_t log = 0;
  while ((1 << log) < size) ++log;
  const std::int64_t count = (out.numel() + per - 1) / per;
  Launch k("full");
  k.source.define("WORDS", size == 16 ? 2 : 1);
  k.type("ELEMENT", kCarriers[log]);
  k.output("out", 0, kCarriers[log]);
  k.parameter("count", count);
  k.parameter("low", words[0]);
  k.parameter("high", words[1]);
  list.add(std::move(k), count);
}

void full(const KernelCall& c, Launches& list) {
  const TensorView& out = c.out[0];
  const AttributeNumbers v(*c.node);
  // Two elements, to fill a packed pair.
  std::byte element[2 * sizeof(std::complex<double>)] = {};
  if (v.integers()) {
    const std::int64_t twice[] = {v.integer(0), v.integer(0)};
    convert(twice, DType::i64, element, out.dtype, 2);
  } else {
    const std::complex<double> twice[] = {{v.number(0), v.number(1)}, {v.number(0), v.number(1)}};
    convert(twice, DType::c128, element, out.dtype, 2);
  }
  fill(out, element, list);
}

void from_dim(const KernelCall& c, Launches& list) {
  const std::int64_t value = c.node->dim(AttrKey::dim).value();
  std::byte element[sizeof(std::complex<double>)] = {};
  convert(&value, DType::i64, element, c.out[0].dtype, 1);
  fill(c.out[0], element, list);
}

void iota(const KernelCall& c, Launches& list) {
  const TensorView& out = c.out[0];
  const AttributeNumbers v(*c.node);
  const DType t = out.dtype;
  const bool floating = is_floating(t) || is_complex(t);
  const DType compute = !floating ? DType::i64
                        : t == DType::f32 || t == DType::f64 || !list.target().has_double
                            ? (t == DType::f64 ? DType::f64 : DType::f32)
                        : compute_type(t) == DType::f32 ? DType::f32
                                                        : DType::f64;
  // float32 is computed in double and rounded once, like on the CPU.
  const DType inner = t == DType::f32 && list.target().has_double ? DType::f64 : compute;
  Launch k("iota");
  k.output("out", 0, t);
  k.parameter("count", out.numel());
  if (floating) {
    k.source.parameter("start", inner, v.number(0));
    k.source.parameter("step", inner, v.number(1));
    k.source.define("VALUE(i)", "(p.start + (" + c_type(inner) + ")(i) * p.step)");
  } else {
    k.parameter("start", v.integer(0));
    k.parameter("step", v.integer(1));
    k.source.define("VALUE(i)", "((tern_i64)((tern_u64)p.start + (tern_u64)(i) * (tern_u64)p.step))");
  }
  k.store("STORE", inner, t);
  list.add(std::move(k), out.numel());
}

}  // namespace

void define_sources(Definitions& d) {
  d.set(Op::full, kernel<full>());
  d.set(Op::iota, kernel<iota>());
  d.set(Op::from_dim, kernel<from_dim>());
}

}  // namespace tern::portable
