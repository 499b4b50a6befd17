// Programs of products, convolutions, attention and recurrent networks.
#include <limits>

#include "fuzz/ops/table.h"

namespace tern::fuzz {
namespace {

/// The dtypes of products.
DType product_dtype(Make& m) {
  using enum DType;
  return m.pick({f32, f32, f32, f32, f64, f16, bf16, i64, u8, u8, i8, i8, c64, c128, f8_e4m3fn, f8_e5m2, boolean});
}
/// Type of a product's second operand: usually the first operand's. A float may meet narrower weights, and 8-bit types
/// meet other 8-bit types.
DType weight_dtype(Make& m, DType a) {
  using enum DType;
  if (m.chance(60)) return a;
  switch (a) {
    case f32: return m.pick({f16, bf16, i8, u8, f8_e4m3fn, f8_e5m2});
    case f16:
    case bf16: return m.pick({i8, u8, f8_e4m3fn, f8_e5m2});
    case i8:
    case u8: return m.pick({i8, u8});
    case f8_e4m3fn:
    case f8_e5m2: return m.pick({f8_e4m3fn, f8_e5m2});
    default: return a;
  }
}
/// Small, or around the widths of registers.
std::int64_t extent(Make& m) {
  return m.chance(60) ? m.in(0, 9) : m.pick<std::int64_t>({1, 16, 17, 33, 64, 65});
}

/// A typical weight: a state, perhaps transposed.
void weight(Make& m, DType dtype, std::int64_t rows, std::int64_t columns) {
  if (!m.chance(40)) return m.operand(dtype, {rows, columns});
  m.node.inputs.push_back(m.b.permute(m.tensor(dtype, {columns, rows}), {1, 0}));
}

bool is_float(DType t) {
  return t == DType::f32 || t == DType::bf16 || t == DType::f16;
}

bool is_byte(DType t) {
  return t == DType::i8 || t == DType::u8;
}

void matmul(Make& m) {
  const std::int64_t rows = extent(m), depth = extent(m), columns = extent(m);
  const DType dtype = product_dtype(m), narrow = weight_dtype(m, dtype);
  Sizes a = m.shape(m.in(0, 2)), b;
  for (std::int64_t d : a) b.push_back(m.chance(70) ? d : 1);
  if (m.chance(40)) b.clear();
  a.insert(a.end(), {rows, depth});
  // A quantized matrix is stored by columns.
  const bool quantized = !m.tame() && depth % 4 == 0 && m.chance(25) && is_float(dtype);
  m.operand(dtype, a);
  if (quantized) {
    b.insert(b.end(), {columns, depth});
    m.node.inputs.push_back(m.quantized(b));
  } else if (b.empty()) {
    weight(m, narrow, depth, columns);
  } else {
    b.insert(b.end(), {depth, columns});
    m.operand(narrow, b);
  }
  const bool integers = is_byte(dtype);
  if (m.chance(30))
    m.operand(integers ? m.pick({dtype, DType::i32}) : dtype, m.pick<Sizes>({{columns}, {rows, columns}, {1}, {}}));
  if (m.chance(integers ? 80 : 30)) m.set(Key::dtype, m.pick({integers ? DType::i32 : dtype, DType::f32}));
}
void grouped_matmul(Make& m) {
  const bool quantized = !m.tame() && m.chance(30);
  const std::int64_t depth = quantized ? 4 * m.in(1, 16) : m.extent(0, 5), groups = m.in(0, 5);
  const DType dtype = quantized ? m.pick({DType::f32, DType::bf16, DType::f16}) : m.floating();
  m.operand(dtype, {m.extent(0, 5), depth});
  if (quantized) {
    m.node.inputs.push_back(m.quantized({groups, m.extent(0, 5), depth}));
  } else {
    m.operand(weight_dtype(m, dtype), {groups, depth, m.extent(0, 5)});
  }
  m.operand(m.index(), {groups});
}
void convolution(Make& m) {
  const std::int64_t rank = m.pick<std::int64_t>({2, 2, 2, 1, 3}), groups = m.pick<std::int64_t>({1, 1, 1, 2, 3});
  const std::int64_t in = groups * m.pick<std::int64_t>({0, 1, 2, 3, 8, 16}),
                     out = groups * m.pick<std::int64_t>({0, 1, 2, 4, 16, 17});
  const bool transposed = m.chance(25), strange = m.chance(4);
  const DType dtype = m.pick({DType::f32, DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64,
                              DType::c64, DType::f8_e4m3fn, DType::i8, DType::u8});
  const bool integers = is_byte(dtype);
  const DType result = integers ? m.pick({dtype, DType::i32, DType::f32}) : dtype;
  Sizes image = m.list(rank, 0, rank == 3 ? 5 : 14), kernel = m.list(rank, 1, 3);
  if (m.chance(40)) kernel.assign(kernel.size(), 3);
  const Sizes reach = kernel;
  image.insert(image.begin(), {m.in(0, 2), in});
  const std::initializer_list<std::int64_t> plain = {out, in / groups}, reversed = {in, out / groups};
  kernel.insert(kernel.begin(), transposed ? reversed : plain);
  m.operand(dtype, image);
  std::int64_t row = in / groups;  // row length of the weight as a matrix
  for (const std::int64_t k : reach) row *= k;
  if (!m.tame() && !transposed && is_float(dtype) && row % 4 == 0 && row > 0 && m.chance(40)) {
    m.node.inputs.push_back(m.quantized({out, row}, false));
    m.set(Key::kernel, reach);
  } else {
    m.operand(is_byte(dtype) ? m.pick({DType::i8, DType::u8}) : dtype, kernel);
  }
  if (m.chance(40)) m.operand(result, {out});
  if (result != dtype) m.set(Key::dtype, result);
  if (integers && !transposed && m.chance(60)) m.set(Key::fill, dtype == DType::i8 ? m.in(-128, 127) : m.in(0, 255));
  m.set(Key::strides,
        strange ? Sizes(static_cast<std::size_t>(rank), std::numeric_limits<std::int32_t>::max()) : m.list(rank, 1, 2));
  m.set(Key::dilations, m.chance(70) ? Sizes(static_cast<std::size_t>(rank), 1) : m.list(rank, 1, 2));
  m.set(Key::before, m.list(rank, 0, 3));
  m.set(Key::after, m.list(rank, 0, 3));
  m.set(Key::groups, groups);
  m.set(Key::transposed, transposed ? 1 : 0);
  m.set(Key::output_pads, transposed ? m.list(rank, 0, 1) : Sizes(static_cast<std::size_t>(rank), 0));
}
/// A hidden NaN may or may not reach the result.
void attention(Make& m) {
  m.special = SpecialData::no;
  const DType dtype = m.pick({DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16});
  const std::int64_t heads = m.in(1, 4), shared = m.pick<std::int64_t>({1, heads}), queries = m.extent(0, 9),
                     keys = m.extent(0, 9), width = m.extent(m.tame() ? 1 : 0, 8);
  const Sizes lead = m.shape(m.in(0, 1));
  const bool with_heads = m.chance(80);
  const auto shape = [&](std::int64_t of, std::int64_t rows, std::int64_t columns) {
    Sizes s = with_heads ? lead : Sizes{};
    if (with_heads) s.push_back(of);
    s.insert(s.end(), {rows, columns});
    return s;
  };
  m.operand(dtype, shape(heads, queries, width));
  m.operand(dtype, shape(shared, keys, width));
  m.operand(dtype, shape(shared, keys, m.extent(0, 8)));
  if (m.chance(50))
    m.operand(m.pick({dtype, DType::boolean, DType::f32}),
              m.pick<Sizes>({{queries, keys}, {1, keys}, {keys}, {queries, 1}}));
  m.set(Key::causal, m.in(0, 1));
  if (m.chance(30)) m.numbers(Key::scale, {m.number()});
}
/// kind 0 lstm, 1 gru, 2 tanh, 3 relu.
void rnn(Make& m) {
  const std::int64_t kind = m.in(0, 3), layers = m.in(1, 2), directions = m.in(1, 2), in = m.extent(0, 4),
                     hidden = m.extent(0, 4), batch = m.in(0, 3);
  const bool projected = kind == 0 && m.chance(30);
  const std::int64_t out = projected ? m.in(m.tame() ? 1 : 0, 4) : hidden, gates = kind == 0 ? 4 : kind == 1 ? 3 : 1;
  const DType dtype = m.pick({DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16});
  m.operand(dtype, {m.in(m.tame() ? 1 : 0, 4), batch, in});
  m.operand(dtype, {layers * directions, batch, out});
  if (kind == 0) {
    m.operand(dtype, {layers * directions, batch, hidden});
  } else {
    m.absent();
  }
  for (std::int64_t l = 0; l < layers * directions; ++l) {
    m.operand(dtype, {gates * hidden, l < directions ? in : directions * out});
    m.operand(dtype, {gates * hidden, out});
    const int biased = m.chance(60) ? 100 : 0;
    m.optional(dtype, {gates * hidden}, biased);
    m.optional(dtype, {gates * hidden}, biased);
    if (projected) {
      m.operand(dtype, {out, hidden});
    } else {
      m.absent();
    }
  }
  m.set(Key::kind, kind);
  m.set(Key::layers, layers);
  m.set(Key::bidirectional, directions - 1);
}
void cdist(Make& m) {
  const std::int64_t width = m.extent(0, 5);
  const DType dtype = m.floating();
  Sizes a = m.shape(m.in(0, 1)), b = a;
  a.insert(a.end(), {m.extent(0, 5), width});
  b.insert(b.end(), {m.extent(0, 5), width});
  m.operand(dtype, a);
  m.operand(dtype, b);
  m.numbers(Key::p, {m.pick({0.0, 1.0, 2.0, 0.5, 3.0, std::numeric_limits<double>::infinity()})});
}

}  // namespace

void list_contractions(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::matmul, matmul);
  set(Op::grouped_matmul, grouped_matmul);
  set(Op::convolution, convolution);
  set(Op::attention, attention);
  set(Op::rnn, rnn);
  set(Op::cdist, cdist);
}

}  // namespace tern::fuzz
