// Programs of elementwise ops, of ops without operands, and of microscaling.
#include <string_view>

#include "fuzz/ops/table.h"

namespace tern::fuzz {
namespace {

Dims symbolic(Make& m, const Sizes& s) {
  Dims d;
  for (std::int64_t v : s) d.push_back(m.size(v));
  return d;
}

/// Loads, conversions to a common type, some instructions of the type, and a final conversion.
void pointwise(Make& m) {
  using enum DType;
  const Sizes s = m.any_shape();
  std::vector<Instruction>& code = m.node.expr.code;
  std::vector<std::uint16_t> numbers;
  const auto add = [&](Instruction i) {
    code.push_back(i);
    return static_cast<std::uint16_t>(code.size() - 1);
  };
  const DType type = m.pick({f32, f32, f64, i64, u64, c64, c128, boolean});
  std::vector<DType> loaded;
  for (std::int64_t i = m.in(1, 3); i > 0; --i) {
    loaded.push_back(m.any());
    Sizes own = s;
    if (loaded.back() != f4_e2m1) {
      for (std::int64_t& d : own) d = m.chance(70) ? d : 1;
      if (m.chance(30)) own.erase(own.begin(), own.begin() + m.in(0, static_cast<std::int64_t>(own.size())));
    }
    m.operand(loaded.back(), own);
  }
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    Instruction load{Scalar::load, loaded[i]};
    load.integer = static_cast<std::int64_t>(i);
    add(load);
  }
  for (std::size_t i = 0; i < loaded.size(); ++i)
    numbers.push_back(add({Scalar::convert, type, static_cast<std::uint16_t>(i)}));
  if (m.chance(30)) {
    Instruction constant{Scalar::constant, type};
    constant.number = m.number();
    constant.integer = type == boolean ? m.in(0, 1) : m.pick<std::int64_t>({0, 1, -1, 63, 64, INT64_MIN, INT64_MAX});
    numbers.push_back(add(constant));
  }
  for (std::int64_t i = m.in(1, 6); i > 0; --i) {
    const auto op = static_cast<Scalar>(m.in(10, 136));
    const ScalarInfo& info = scalar_info(op);
    if (info.op == Scalar::invalid || info.domain == 'x' || op == Scalar::where) continue;
    const bool truth = op >= Scalar::eq && op <= Scalar::signbit;
    Instruction next{op, truth                               ? boolean
                         : op == Scalar::abs && type == c64  ? f32
                         : op == Scalar::abs && type == c128 ? f64
                                                             : type};
    next.a = m.choices.pick(numbers);
    if (info.operands > 1) next.b = m.choices.pick(numbers);
    if (info.operands > 2) next.c = m.choices.pick(numbers);
    // An instruction unsupported for the type would spoil the program; a few may.
    std::vector<Instruction> trial = code;
    trial.push_back(next);
    if (!m.chance(2) && !check({trial}, loaded, next.dtype).empty()) continue;
    const std::uint16_t at = add(next);
    numbers.push_back(next.dtype == type ? at : add({Scalar::convert, type, at}));
  }
  Instruction result{Scalar::convert, m.chance(50) ? type : m.any(), numbers.back()};
  result.integer = result.dtype == f8_e4m3fn ? m.in(0, 1) : 0;
  add(result);
}
void full(Make& m) {
  m.set(Key::sizes, symbolic(m, m.any_shape()));
  if (m.chance(50)) {
    m.numbers(Key::value, m.chance(30) ? std::vector<double>{m.number(), m.number()} : std::vector<double>{m.number()});
  } else {
    m.set(Key::value, m.pick<std::int64_t>({0, 1, -1, 255, INT64_MAX, INT64_MIN}));
  }
  m.set(Key::dtype, m.any());
}
void iota(Make& m) {
  m.set(Key::sizes, symbolic(m, {m.extent(0, 70)}));
  if (m.chance(50)) {
    m.numbers(Key::value, {m.number(), m.number()});
  } else {
    m.set(Key::value, Sizes{m.in(-3, 3), m.pick<std::int64_t>({1, 2, -1, 0, std::int64_t{1} << 62})});
  }
  m.set(Key::dtype, m.any());
}
void from_dim(Make& m) {
  m.set(Key::dim, m.size(m.pick<std::int64_t>({0, 1, 9, -1, 300, INT64_MAX / 2})));
  m.set(Key::dtype, m.any());
}
void random(Make& m) {
  const std::string_view kind = m.pick<std::string_view>(
      {"uniform", "dropout", "normal", "exponential", "bits", "randint", "poisson", "binomial", "gamma", "randperm"});
  const Sizes s = kind == "randperm" ? Sizes{m.in(0, 9)} : m.any_shape();
  const DType dtype = kind == "bits" ? DType::i64 : kind == "randint" || kind == "randperm" ? m.any() : m.floating();
  const int operands = kind == "binomial" ? 2 : kind == "poisson" || kind == "gamma" ? 1 : 0;
  for (int i = 0; i < operands; ++i) m.operand(dtype, s);
  m.text(Key::kind, kind);
  m.set(Key::sizes, symbolic(m, s));
  m.set(Key::dtype, dtype);
  if (kind == "randint")
    m.set(Key::range,
          m.pick<Dims>({{0, 5}, {INT64_MIN, INT64_MAX}, {-5, 1}, {m.size(3), m.size(5)}, {m.size(5), m.size(3)}}));
}

/// The elements and scales of a microscaled value, and its attributes.
void microscaled(Make& m) {
  using enum DType;
  const DType given = m.pick({f8_e4m3fn, f8_e5m2, f6_e2m3, f6_e3m2, f4_e2m1, u8});
  const std::int64_t block = m.pick<std::int64_t>({2, 4, 16, 32}), rows = m.in(0, 3), blocks = m.in(0, 3),
                     layout = m.in(0, 1);
  std::int64_t columns = block * blocks;
  m.set(Key::block, block);
  m.set(Key::layout, layout);
  if (given == u8) {
    const DType element = m.pick({f8_e4m3fn, f4_e2m1, f8_e5m2});
    m.set(Key::dtype, element);
    if (element == f4_e2m1) columns /= 2;
  }
  m.operand(given, {rows, columns});
  m.operand(m.pick({u8, f8_e8m0}), {layout == 0 ? rows * blocks : (rows + 127) / 128 * ((blocks + 3) / 4) * 512});
}
/// A constant of any format, or a value that a node packs.
void dequantize(Make& m) {
  if (m.chance(30)) {
    m.node.op = Op::mx_pack;
    microscaled(m);
    const ValueId packed = m.b.add(m.node).front();
    m.node = {};
    m.node.op = Op::dequantize;
    m.node.inputs = {packed};
  } else {
    Sizes shape = m.shape(m.in(0, 2));
    shape.push_back(m.in(1, 40));
    m.node.inputs.push_back(m.quantized(shape));
  }
  m.set(Key::dtype, m.floating());
}

}  // namespace

void list_sources(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::pointwise, pointwise);
  set(Op::full, full);
  set(Op::iota, iota);
  set(Op::from_dim, from_dim);
  set(Op::random, random);
  set(Op::mx_pack, microscaled);
  set(Op::dequantize, dequantize);
}

}  // namespace tern::fuzz
