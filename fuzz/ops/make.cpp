#include "fuzz/ops/make.h"

#include <tern/error.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "dtypes/checked.h"
#include "exporter/constants.h"
#include "fuzz/run/wild.h"
#include "schema/op_record.h"

namespace tern::fuzz {
namespace {

using MakeLimits = std::numeric_limits<std::int64_t>;

/// Sizes around the widths of registers and the lengths of unrolled loops, and larger ones.
constexpr std::initializer_list<std::int64_t> kLongSizes = {7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100, 130, 300};

std::int64_t element_count(const Sizes& shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}

/// value + offset; `value` if the sum overflows.
std::int64_t add_unless_overflow(std::int64_t value, std::int64_t offset) {
  std::int64_t sum = 0;
  return checked_add(value, offset, &sum) ? sum : value;
}

}  // namespace

Make::Make(Op op, Choices& c, Wild is_wild) : choices(c), b(program, 0), wild_(is_wild) {
  program.source = std::make_shared<ExtendableSource>(nullptr, 0);
  program.functions.emplace_back();
  program.functions[0].name = "forward";
  program.functions[0].entry = true;
  node.op = op;
}

DType Make::any() {
  return static_cast<DType>(in(1, kTensorDTypeCount - 1));
}
DType Make::real() {
  using enum DType;
  return pick({f32, f64, i64, i32, u8, i8, boolean, f16, bf16, u64, i16, u16, u32});
}
DType Make::floating() {
  using enum DType;
  return pick({f32, f32, f32, f32, f64, f64, f16, bf16, f32, f32, f8_e4m3fn, f8_e5m2});
}
double Make::number() {
  if (tame()) return pick({0.0, 1.0, -1.0, 0.5, 2.0, 3.7});
  using Double = std::numeric_limits<double>;
  return pick({0.0, 1.0, -1.0, 0.5, 2.0, 3.7, Double::quiet_NaN(), Double::infinity(), -Double::infinity(), 1e308,
               -1e308, 1e-300, 9.3e18});
}
Sizes Make::shape(std::int64_t rank, std::int64_t low) {
  Sizes s;
  for (std::int64_t i = 0; i < rank; ++i) s.push_back(chance(6) ? low : in(1, 5));
  if (tame() && rank > 0 && chance(30)) s[choices.index(s.size())] = pick<std::int64_t>(kLongSizes);
  return s;
}
std::int64_t Make::extent(std::int64_t low, std::int64_t high) {
  return tame() && chance(25) ? pick<std::int64_t>(kLongSizes) : in(low, high);
}
Sizes Make::list(std::int64_t count, std::int64_t low, std::int64_t high) {
  Sizes s;
  for (std::int64_t i = 0; i < count; ++i) s.push_back(in(low, high));
  return s;
}

ValueId Make::source(DType dtype, const Dims& shape, const Sizes& sizes) {
  Function& f = b.function();
  const std::string name = "x" + std::to_string(f.inputs.size());
  if (chance(25)) {
    const ValueId v = b.add_value({dtype, shape}, name);
    b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
    return v;
  }
  return state({dtype, Dims(sizes.begin(), sizes.end())}, sizes);
}

ValueId Make::state(TensorType type, const Sizes& sizes) {
  Function& f = b.function();
  const std::string name = "x" + std::to_string(f.inputs.size());
  std::uint64_t size = 0;
  if (!byte_size(type, &size)) fail(ErrorCode::internal, "a state of impossible size");
  std::vector<std::byte> bytes(size);
  if (!tame() || type.quantized()) {
    fill(choices, type.dtype, bytes);
  } else {
    fill_tame(choices, type.dtype, sizes, bytes, special);
  }
  State state;
  state.name = name;
  state.kind = State::Kind::constant;
  state.type = std::move(type);
  state.strides.assign(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;)
    state.strides[i - 1] = state.strides[i] * std::max<std::int64_t>(sizes[i], 1);
  state.storage = add_storage(program, std::move(bytes));
  const ValueId v = b.add_value(state.type, name);
  b.function().inputs.push_back(
      {FunctionInput::Kind::state, v, static_cast<std::uint32_t>(program.states.size()), name, {}});
  program.states.push_back(std::move(state));
  return v;
}

/// A view into a longer buffer, with strides within bounds.
ValueId Make::strided(DType dtype, const Sizes& shape) {
  const std::int64_t total = std::max<std::int64_t>(1, element_count(shape)) + in(0, 20);
  const ValueId base = source(dtype, {total}, {total});
  std::int64_t free_elements = total - 1;
  Sizes strides(shape.size(), 0);
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] > 1 && free_elements > 0) {
      strides[a] = chance(60) ? in(0, free_elements / (shape[a] - 1)) : 0;
      free_elements -= strides[a] * (shape[a] - 1);
    } else {
      strides[a] = pick<std::int64_t>({0, 1, 5});
    }
  }
  Dims dims;
  for (std::int64_t d : shape) dims.push_back(size(d));
  ValueId v = b.as_strided(base, dims, Dims(strides.begin(), strides.end()), in(0, free_elements));
  if (!shape.empty() && chance(20)) {
    const std::int64_t a = axis(shape);
    const auto index = static_cast<std::size_t>(a);
    if (shape[index] > 0) v = b.slice(v, a, shape[index] - 1, dims[index], -1);
  }
  return v;
}

/// Elements of four to six bits, or super-blocks, or both. The last size is a multiple of 8.
void Make::give_planes(TensorType& type) {
  using enum DType;
  const auto columns = static_cast<std::int32_t>(type.shape.back().value());
  Blocks& blocks = type.blocks;
  type.dtype = pick({u8, i8});
  blocks.bits = static_cast<std::uint8_t>(type.dtype == u8 ? in(4, 6) : in(5, 6));
  blocks.columns = pick({8, columns, columns % 16 == 0 ? 16 : 8, columns % 32 == 0 ? 32 : 8});
  const bool super = chance(50), zeros = chance(50);
  blocks.scale = super ? pick({u8, i8}) : pick({f16, f32, bf16});
  if (super) blocks.super_columns = columns;
  if (super && chance(30)) blocks.bits = 0;
  if (!zeros) return;
  blocks.zero_point = super || chance(50) ? ZeroPoint::added : ZeroPoint::subtracted;
  blocks.zero = super ? pick({u8, i8}) : pick({i8, f16, f32});
}

ValueId Make::quantized(const Sizes& shape, bool sparse) {
  using enum DType;
  const DType dtype = pick({f8_e4m3fn, f8_e5m2, f6_e2m3, f4_e2m1, i8, u8, i4, i2});
  Sizes sizes = shape;
  sizes.back() = std::max<std::int64_t>(1, (sizes.back() + 3) / 4) * 4;
  TensorType type{dtype, Dims(sizes.begin(), sizes.end())};
  Blocks& blocks = type.blocks;
  if (sparse && sizes.back() % two_of_four().divisor() == 0 && chance(20)) {
    type.dtype = pick({f32, f16, bf16});
    blocks = two_of_four();
    return state(std::move(type), sizes);
  }
  if (sizes.back() % 8 == 0 && chance(25)) {
    give_planes(type);
    return state(std::move(type), sizes);
  }
  blocks.columns = static_cast<std::int32_t>(chance(50) ? sizes.back() : 4);
  blocks.rows = static_cast<std::int32_t>(chance(80) ? 1 : in(2, 5));
  blocks.scale = pick({f8_e8m0, f32, f16, bf16, f8_e4m3fn});
  if (chance(40)) {
    blocks.zero_point = chance(50) ? ZeroPoint::subtracted : ZeroPoint::added;
    blocks.zero = pick({i8, f32, bf16});
  } else if (blocks.rows == 1 && element_size(blocks.scale) == 1 && chance(30)) {
    blocks.layout = ScaleLayout::swizzled_32_4_4;
  }
  blocks.outer = chance(20);
  return state(std::move(type), sizes);
}

ValueId Make::tensor(DType dtype, const Sizes& shape) {
  if (!shape.empty() && chance(1)) return quantized(shape);  // few ops accept a quantized operand
  if (elements_per_byte(dtype) == 1 && chance(50)) {
    if (!tame() || !independent) return strided(dtype, shape);
    if (shape.size() > 1) {  // by columns
      Sizes axes, sizes = shape;
      for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
      std::swap(axes.back(), axes[axes.size() - 2]);
      std::swap(sizes.back(), sizes[sizes.size() - 2]);
      return b.permute(source(dtype, Dims(sizes.begin(), sizes.end()), sizes), axes);
    }
  }
  return source(dtype, Dims(shape.begin(), shape.end()), shape);
}

void Make::optional(DType dtype, const Sizes& shape, int percent) {
  if (chance(percent)) {
    operand(dtype, shape);
  } else {
    absent();
  }
}

Dim Make::unbound() {
  return program.pool.symbol("z" + std::to_string(symbols_++), 0,
                             pick({MakeLimits::max(), MakeLimits::max(), std::int64_t{1} << 20}));
}

Dim Make::size(std::int64_t value) {
  if (!chance(15)) return value;
  const Dim symbol =
      program.pool.symbol("u" + std::to_string(symbols_++), std::min<std::int64_t>(value, 0),
                          pick({MakeLimits::max(), std::int64_t{1} << 20, std::max<std::int64_t>(value, 0)}));
  Node item;
  item.op = Op::item;
  item.inputs = {b.constant(DType::i64, {}, &value)};
  item.attrs = {attr(AttrKey::symbols, symbol)};
  b.add(std::move(item));
  return symbol;
}

/// A number of an attribute becomes an extreme or a neighbour.
void Make::change_attribute() {
  if (node.attrs.empty()) return;
  AttrData& data = node.attrs[choices.index(node.attrs.size())].data;
  if (auto* dims = std::get_if<Dims>(&data); dims != nullptr && !dims->empty()) {
    Dim& d = (*dims)[choices.index(dims->size())];
    const std::int64_t old_value = d.is_const() ? d.value() : 0;
    if (chance(20)) {
      dims->erase(dims->begin() + (&d - dims->data()));
    } else if (chance(30)) {
      d = size(pick<std::int64_t>({old_value, add_unless_overflow(old_value, 1), 0, -1}));
    } else {
      d = pick<std::int64_t>({add_unless_overflow(old_value, 1), add_unless_overflow(old_value, -1), 0, 1, 2, -1, -2, 7,
                              1 << 20, MakeLimits::max() / 2, std::int64_t{1} << 31, MakeLimits::max(),
                              MakeLimits::min()});
    }
  } else if (auto* values = std::get_if<std::vector<double>>(&data); values != nullptr && !values->empty()) {
    (*values)[choices.index(values->size())] = number();
  }
}

void Make::change_result(TensorType& type) {
  const int change = static_cast<int>(in(0, 3));
  if (change == 0 || type.shape.empty()) {
    type.dtype = any();
  } else {
    Dim& d = type.shape[choices.index(type.shape.size())];
    const std::int64_t old_value = d.is_const() ? d.value() : 1;
    d = change == 1 ? Dim(add_unless_overflow(old_value, in(-1, 1)))
                    : program.pool.symbol("r" + std::to_string(symbols_++), 0, 8);
    if (d.is_const() || chance(20)) return;  // or nothing binds the symbol
    const std::int64_t value = add_unless_overflow(old_value, in(0, 1));
    Node item;
    item.op = Op::item;
    item.inputs = {b.constant(DType::i64, {}, &value)};
    item.attrs = {attr(AttrKey::symbols, d)};
    b.add(std::move(item));
  }
}

void Make::finish() {
  const bool is_wild = !tame();
  if (is_wild && chance(12)) change_attribute();
  if (is_wild && !node.inputs.empty() && chance(2)) node.inputs[choices.index(node.inputs.size())] = kNoValue;
  node.version = op_record(node.op).version;
  std::vector<const TensorType*> types;
  for (ValueId v : node.inputs) types.push_back(v == kNoValue ? nullptr : &b.type(v));
  std::vector<TensorType> results = infer(program, program.pool, node, types);
  if (is_wild && !results.empty() && chance(5)) change_result(results[choices.index(results.size())]);
  const bool drops_results = chance(results.size() > 1 ? 25 : 1);
  for (const TensorType& t : results) node.outputs.push_back(drops_results && chance(50) ? kNoValue : b.add_value(t));
  Function& f = b.function();
  f.nodes.push_back(node);
  for (ValueId v : node.outputs) {
    if (v != kNoValue && !b.type(v).quantized())
      f.outputs.push_back({FunctionOutput::Kind::tensor, v, "out" + std::to_string(f.outputs.size())});
  }
}

}  // namespace tern::fuzz
