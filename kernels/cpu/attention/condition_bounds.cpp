#include "kernels/cpu/attention/condition_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dtypes/convert.h"
#include "dtypes/storage.h"

namespace tern::cpu {
namespace {

constexpr double kExact = 9007199254740992;  // 2^53: doubles hold all smaller integers

bool is_integer_type(DType t) {
  return t == DType::boolean || is_integral(t);
}

Bounds make_bounds(double low, double high, bool has_nan = false) {
  return {low, high, has_nan};
}
/// A boolean: 0 and 1 are the bounds of an unknown one.
Bounds truth(bool may_be_false, bool may_be_true) {
  return make_bounds(may_be_false ? 0 : 1, may_be_true ? 1 : 0);
}
bool is_single(const Bounds& b) {
  return b.low == b.high && !b.has_nan;
}
bool is_infinite(const Bounds& b) {
  return std::isinf(b.low) || std::isinf(b.high);
}
Bounds hull(const Bounds& a, const Bounds& b) {
  return make_bounds(std::min(a.low, b.low), std::max(a.high, b.high), a.has_nan || b.has_nan);
}

/// Bounds of the results of type `t` that exact arithmetic bounds by `b`.
Bounds rounded(Bounds b, DType t) {
  if (std::isnan(b.low) || std::isnan(b.high)) return {};
  if (t == DType::f32) return make_bounds(static_cast<float>(b.low), static_cast<float>(b.high), b.has_nan);
  if (t == DType::f64) return b;
  if (t == DType::i64) return std::fabs(b.low) < kExact && std::fabs(b.high) < kExact ? b : Bounds{};
  if (t == DType::u64) return b.low >= 0 && b.high < kExact ? b : Bounds{};
  return {};
}

Bounds product(const Bounds& a, const Bounds& b) {
  const double p[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  if (std::ranges::any_of(p, [](double x) { return std::isnan(x); })) return {};
  return make_bounds(*std::ranges::min_element(p), *std::ranges::max_element(p),
                     a.has_nan || b.has_nan || is_infinite(a) || is_infinite(b));
}

/// Bounds of integers divided by one positive integer.
Bounds quotient(Scalar op, const Bounds& a, const Bounds& b) {
  if (!is_single(b) || b.low < 1 || b.low >= kExact || std::fabs(a.low) >= kExact || std::fabs(a.high) >= kExact)
    return {};
  const auto divisor = static_cast<std::int64_t>(b.low);
  const auto divided = [&](double x, bool to_floor) {
    const auto n = static_cast<std::int64_t>(x);
    return n / divisor - (to_floor && n % divisor < 0 ? 1 : 0);
  };
  const bool to_floor = op != Scalar::truncdiv;
  const std::int64_t low = divided(a.low, to_floor), high = divided(a.high, to_floor);
  if (op != Scalar::remainder) return make_bounds(static_cast<double>(low), static_cast<double>(high));
  if (low != high) return make_bounds(0, b.low - 1);
  const auto whole = static_cast<double>(low * divisor);
  return make_bounds(a.low - whole, a.high - whole);
}

Bounds converted(const Bounds& a, DType from, DType to) {
  if (to == DType::boolean) {
    const bool has_zero = a.low <= 0 && a.high >= 0;
    return truth(has_zero, a.has_nan || a.low != 0 || a.high != 0);
  }
  if (to == DType::f32 || to == DType::f64) return rounded(a, to);
  if (!is_integral(to) || a.has_nan || std::fabs(a.low) >= kExact || std::fabs(a.high) >= kExact) return {};
  // A number outside the range of its type wraps.
  const double bits = 8.0 * static_cast<double>(element_size(to));
  const bool is_unsigned = to == DType::u8 || to == DType::u16 || to == DType::u32 || to == DType::u64;
  const double high = std::exp2(is_unsigned ? bits : bits - 1), low = is_unsigned ? 0 : -high;
  const Bounds whole = is_integer_type(from) ? a : make_bounds(std::trunc(a.low), std::trunc(a.high));
  return whole.low >= low && whole.high < high ? whole : Bounds{};
}

Bounds compared(Scalar op, const Bounds& a, const Bounds& b) {
  const bool has_nan = a.has_nan || b.has_nan;
  switch (op) {
    case Scalar::lt: return truth(has_nan || a.high >= b.low, a.low < b.high);
    case Scalar::le: return truth(has_nan || a.high > b.low, a.low <= b.high);
    case Scalar::gt: return truth(has_nan || a.low <= b.high, a.high > b.low);
    case Scalar::ge: return truth(has_nan || a.low < b.high, a.high >= b.low);
    default: break;
  }
  const bool may_differ = has_nan || !is_single(a) || !is_single(b) || a.low != b.low;
  const bool may_be_equal = a.low <= b.high && b.low <= a.high;
  return op == Scalar::eq ? truth(may_differ, may_be_equal) : truth(may_be_equal, may_differ);
}

/// Logic of two booleans, each false or true at both bounds if known.
Bounds joined(Scalar op, const Bounds& a, const Bounds& b) {
  if (op == Scalar::and_ || op == Scalar::mul || op == Scalar::min)
    return make_bounds(std::min(a.low, b.low), std::min(a.high, b.high));
  if (op == Scalar::or_ || op == Scalar::add || op == Scalar::max)
    return make_bounds(std::max(a.low, b.low), std::max(a.high, b.high));
  if (op == Scalar::xor_ && is_single(a) && is_single(b)) return truth(a.low == b.low, a.low != b.low);
  return truth(true, true);
}

Bounds computed(const Instruction& i, const Bounds& a, const Bounds& b, const Bounds& c, DType operand) {
  // Sums and products of infinities may be NaN.
  const bool has_nan = a.has_nan || b.has_nan || is_infinite(a) || is_infinite(b);
  switch (i.op) {
    case Scalar::eq:
    case Scalar::ne:
    case Scalar::lt:
    case Scalar::le:
    case Scalar::gt:
    case Scalar::ge: return compared(i.op, a, b);
    case Scalar::where: return a.low == 1 ? b : a.high == 0 ? c : hull(b, c);
    case Scalar::convert: return converted(a, operand, i.dtype);
    case Scalar::not_:
      return i.dtype == DType::boolean ? make_bounds(1 - a.high, 1 - a.low)
                                       : rounded(make_bounds(-1 - a.high, -1 - a.low), i.dtype);
    default: break;
  }
  if (i.dtype == DType::boolean) return joined(i.op, a, b);
  switch (i.op) {
    case Scalar::add: return rounded(make_bounds(a.low + b.low, a.high + b.high, has_nan), i.dtype);
    case Scalar::sub: return rounded(make_bounds(a.low - b.high, a.high - b.low, has_nan), i.dtype);
    case Scalar::mul: return rounded(product(a, b), i.dtype);
    case Scalar::neg: return rounded(make_bounds(-a.high, -a.low, a.has_nan), i.dtype);
    case Scalar::abs: {
      const double low = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
      return rounded(make_bounds(low, std::max(std::fabs(a.low), std::fabs(a.high)), a.has_nan), i.dtype);
    }
    case Scalar::min: return make_bounds(std::min(a.low, b.low), std::min(a.high, b.high), has_nan);
    case Scalar::max: return make_bounds(std::max(a.low, b.low), std::max(a.high, b.high), has_nan);
    case Scalar::floordiv:
    case Scalar::truncdiv:
    case Scalar::remainder: return i.dtype == DType::i64 ? quotient(i.op, a, b) : Bounds{};
    default: return {};
  }
}

/// Bounds of `count` elements, `stride` apart.
Bounds bounds_of(const std::byte* data, DType type, std::int64_t stride, std::int64_t count) {
  constexpr std::int64_t kRun = 64;
  double numbers[kRun];
  Bounds b{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), false};
  const std::int64_t run = stride == 1 ? kRun : 1;
  for (std::int64_t at = 0; at < count; at += run) {
    const std::int64_t n = std::min(run, count - at);
    convert(data + at * stride * element_size(type), type, numbers, DType::f64, n);
    for (std::int64_t k = 0; k < n; ++k) {
      b.has_nan = b.has_nan || std::isnan(numbers[k]);
      b.low = numbers[k] < b.low ? numbers[k] : b.low;
      b.high = numbers[k] > b.high ? numbers[k] : b.high;
    }
  }
  if (b.low > b.high) return {};  // NaN alone
  const bool is_exact = !is_integral(type) || (std::fabs(b.low) < kExact && std::fabs(b.high) < kExact);
  return is_exact ? b : Bounds{};
}

bool is_bounded_type(DType t) {
  return t == DType::boolean || is_integral(t) || t == DType::f32 || t == DType::f64 || t == DType::f16 ||
         t == DType::bf16;
}

std::int64_t axis_stride(const TensorView& v, int from_end) {
  return v.rank < from_end || v.size(v.rank - from_end) == 1 ? 0 : v.stride(v.rank - from_end);
}

/// Planes of an operand: its own axes before the last two.
std::int64_t own_planes(const TensorView& v) {
  std::int64_t n = 1;
  for (int i = 0; i < v.rank - 2; ++i) n *= v.size(i);
  return n;
}

/// The operand's axes before the last two, with `blocks` elements for each plane.
TensorView plane_table(const TensorView& v, std::int64_t blocks) {
  TensorView t = v;
  std::int64_t stride = blocks;
  for (int i = v.rank - 3; i >= 0; --i) {
    t.strides[static_cast<std::size_t>(i)] = stride;
    stride *= v.size(i);
  }
  return t;
}

}  // namespace

std::int64_t plane_offset(const TensorView& v, const TensorView& out, std::int64_t plane, std::int64_t per_group) {
  std::int64_t offset = 0;
  const int skip = out.rank - v.rank;
  for (int i = out.rank - 3; i >= skip; --i) {
    const std::int64_t size = out.size(i);
    std::int64_t at = plane % size;
    plane /= size;
    if (i == out.rank - 3) at /= per_group;
    if (v.size(i - skip) != 1) offset += at * v.stride(i - skip);
  }
  return offset;
}

ConditionBounds::ConditionBounds(PointwiseExpr condition, const TensorView& scores)
    : condition_(std::move(condition)),
      scores_(scores),
      key_blocks_((scores.size(scores.rank - 1) + kBlockKeys - 1) / kBlockKeys) {}

ConditionBounds::Axis ConditionBounds::axis_of(const TensorView& operand) const {
  const bool is_query = axis_stride(operand, 2) != 0, is_key = axis_stride(operand, 1) != 0;
  return is_query && is_key ? Axis::query_and_key : is_query ? Axis::query : is_key ? Axis::key : Axis::none;
}

ConditionBounds::Ranges::Ranges(const ConditionBounds& bounds, std::span<const TensorView> operands,
                                ScratchArena& arena)
    : bounds_(bounds), operands_(operands), key_ranges_(operands.size()) {
  const std::int64_t blocks = bounds.key_blocks_, keys = bounds.scores_.size(bounds.scores_.rank - 1);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const TensorView& v = operands[k];
    if (!is_bounded_type(v.dtype) || bounds.axis_of(v) != Axis::key) continue;
    const std::int64_t planes = own_planes(v);
    key_ranges_[k] = arena.allocate<Bounds>(planes * blocks);
    if (key_ranges_[k] == nullptr) continue;
    const std::int64_t stride = axis_stride(v, 1);
    for (std::int64_t p = 0; p < planes; ++p) {
      const std::byte* data = v.data + plane_offset(v, v, p, 1) * element_size(v.dtype);
      for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t begin = b * kBlockKeys, count = std::min(kBlockKeys, keys - begin);
        key_ranges_[k][p * blocks + b] =
            bounds_of(data + begin * stride * element_size(v.dtype), v.dtype, stride, count);
      }
    }
  }
}

Bounds ConditionBounds::Ranges::operand_bounds(std::size_t k, const ScoreBlock& block) const {
  const TensorView& v = operands_[k];
  const Axis axis = bounds_.axis_of(v);
  if (!is_bounded_type(v.dtype) || axis == Axis::query_and_key) return {};
  if (axis == Axis::key) {
    const Bounds* of_plane =
        key_ranges_[k] + plane_offset(plane_table(v, bounds_.key_blocks_), bounds_.scores_, block.plane, 1);
    const std::int64_t begin = block.first_key / kBlockKeys,
                       end = (block.first_key + block.keys + kBlockKeys - 1) / kBlockKeys;
    Bounds b = of_plane[begin];
    for (std::int64_t i = begin + 1; i < end; ++i) b = hull(b, of_plane[i]);
    return b;
  }
  const std::int64_t stride = axis_stride(v, 2),
                     at = plane_offset(v, bounds_.scores_, block.plane, 1) + block.first_query * stride;
  return bounds_of(v.data + at * element_size(v.dtype), v.dtype, stride, axis == Axis::query ? block.queries : 1);
}

Visibility ConditionBounds::Ranges::visibility(const ScoreBlock& block) const {
  const std::vector<Instruction>& code = bounds_.condition_.code;
  if (code.size() > kMostInstructions) return Visibility::mixed;
  std::array<Bounds, kMostInstructions> value;
  const TensorView& scores = bounds_.scores_;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& n = code[i];
    switch (n.op) {
      case Scalar::load: value[i] = operand_bounds(static_cast<std::size_t>(n.integer), block); break;
      case Scalar::constant: {
        const double x = is_integer_type(n.dtype) ? static_cast<double>(n.integer) : n.number;
        const bool is_known = is_integer_type(n.dtype) || n.dtype == DType::f32 || n.dtype == DType::f64;
        const Bounds exact = std::isnan(x) ? Bounds{} : make_bounds(x, x);
        value[i] = !is_known ? Bounds{} : n.dtype == DType::boolean ? exact : rounded(exact, n.dtype);
        break;
      }
      case Scalar::index: {
        const auto axis = static_cast<int>(n.integer);
        std::int64_t first = 0, count = scores.size(axis);
        if (axis == scores.rank - 1) {
          first = block.first_key;
          count = block.keys;
        } else if (axis == scores.rank - 2) {
          first = block.first_query;
          count = block.queries;
        }
        value[i] = make_bounds(static_cast<double>(first), static_cast<double>(first + count - 1));
        break;
      }
      default: value[i] = computed(n, value[n.a], value[n.b], value[n.c], code[n.a].dtype);
    }
    if (n.dtype == DType::boolean) {
      value[i] = make_bounds(value[i].low >= 1 ? 1 : 0, value[i].high <= 0 ? 0 : 1);
    }
  }
  const Bounds& result = value[code.size() - 1];
  return result.high == 0 ? Visibility::none : result.low == 1 ? Visibility::all : Visibility::mixed;
}

}  // namespace tern::cpu
