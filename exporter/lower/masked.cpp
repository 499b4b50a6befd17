// Lowerings around masks and sets: masked_select, masked_scatter, nonzero, isin, one_hot.
#include <algorithm>
#include <limits>
#include <string>

#include "exporter/lower/indexing.h"
#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values masked_select(Builder& b, const Call& c) {
  const ValueId mask = b.cast(c.tensor("mask"), DType::boolean);
  return {b.add(Op::masked_select, {c.tensor("self"), mask}, {attr(AttrKey::symbols, Dims{data_size(b, c, 0, 0)})})};
}

Values masked_fill(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), v = b.cast(c.tensor("value"), b.dtype(x));
  return {b.expr("m ? v : x", {{"m", c.tensor("mask")}, {"v", v}, {"x", x}}, b.dtype(x))};
}

/// Index of each true element among the true elements, in row-major order.
ValueId places_of(Builder& b, ValueId mask) {
  const ValueId count = scan_along(b, b.flatten(mask), ScanKind::cumsum, 0, DType::i64);
  return b.expr("n - 1", {{"n", count}}, DType::i64);
}

/// Writes the first elements of source to the true positions, in order.
Values masked_scatter(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  ValueId source = b.flatten(c.tensor("source"));
  if (b.numel(source).is(0) || b.numel(x).is(0)) return {x};
  const Dims shape = c.declared.at(0).shape;
  x = b.expand(x, shape);
  const ValueId mask = b.expand(b.cast(c.tensor("mask"), DType::boolean), shape);
  // A possibly empty source gets a leading element, read for false mask elements.
  const bool may_be_empty = b.pool().bounds(b.numel(source)).min < 1;
  if (may_be_empty) source = b.pad(source, {1}, {0});
  const ValueId position =
      b.expr("m ? p + first : 0",
             {{"m", b.flatten(mask)}, {"p", places_of(b, mask)}, {"first", may_be_empty ? 1.0 : 0.0}}, DType::i64);
  const ValueId gathered = b.reshape(b.index_select(source, position, 0), shape);
  return {b.expr("m ? s : x", {{"m", mask}, {"s", gathered}, {"x", x}}, b.dtype(x))};
}

Values nonzero(Builder& b, const Call& c) {
  return {b.add(Op::nonzero, {c.tensor("self")}, {attr(AttrKey::symbols, Dims{data_size(b, c, 0, 0)})})};
}
Values nonzero_numpy(Builder& b, const Call& c) {
  const ValueId x = at_least_1d(b, c.tensor(c.target == "aten.where.default" ? ArgumentName("condition") : "self"));
  const int rank = b.rank(x);
  const ValueId positions = b.add(Op::nonzero, {x}, {attr(AttrKey::symbols, Dims{data_size(b, c, 0, 0)})});
  Values r;
  for (int k = 0; k < rank; ++k) r.push_back(b.select(positions, 1, k));
  return r;
}

/// Returns the first `size` positions; surplus rows hold fill_value.
Values nonzero_static(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dims shape = b.shape(x);
  const Dim size = c.dim("size"), numel = b.numel(x);
  if (shape.empty() || numel.is(0)) {
    return {b.full({size, static_cast<std::int64_t>(shape.size())}, c.number("fill_value"), DType::i64)};
  }
  const ValueId flat_mask = b.flatten(
      b.dtype(x) == DType::boolean ? x : b.expr("x != 0", {{"x", x}}, compute_type(b.dtype(x)), DType::boolean));
  // Scatters the index of each true element to its row, and all others to a spare row at the end.
  const ValueId position = b.expr(
      "m ? min(p, n) : n", {{"m", flat_mask}, {"p", places_of(b, flat_mask)}, size_arg(b, "n", size)}, DType::i64);
  const ValueId all_positions =
      b.add(Op::scatter, {b.full({b.pool().add(size, 1)}, -1, DType::i64), position, b.iota(numel, DType::i64)},
            {attr(AttrKey::axis, Dim(0)), attr(AttrKey::kind, Dim(0))});
  const ValueId found = b.slice(all_positions, 0, 0, size);
  Values columns;
  Dim inner = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const ValueId k =
        b.expr("f < 0 ? fill : remainder(floordiv(f, s), n)",
               {{"f", found}, size_arg(b, "s", inner), size_arg(b, "n", shape[i]), {"fill", c.number("fill_value")}},
               DType::i64);
    columns.insert(columns.begin(), b.reshape(k, {size, 1}));
    inner = b.pool().mul(inner, shape[i]);
  }
  return {b.concat(columns, 1)};
}

/// Compares the elements with each of a few numbers, joined in one expression.
ValueId equals_any(Builder& b, ValueId elements, ValueId tests, std::int64_t count, DType t) {
  constexpr std::int64_t kTogether = 8;
  ValueId found = kNoValue;
  for (std::int64_t first = 0; first < count; first += kTogether) {
    std::string text;
    std::vector<std::string> names;
    for (std::int64_t k = first; k < std::min(count, first + kTogether); ++k) names.push_back("y" + std::to_string(k));
    for (const std::string& name : names) text += (text.empty() ? "x == " : " || x == ") + name;
    std::vector<ExprArg> arguments{{"x", elements}};
    for (std::size_t k = 0; k < names.size(); ++k)
      arguments.push_back({names[k], b.select(tests, 0, first + static_cast<std::int64_t>(k))});
    const ValueId equals_element = b.expr(text, arguments, t, DType::boolean);
    found =
        found == kNoValue ? equals_element : b.expr("a || b", {{"a", found}, {"b", equals_element}}, DType::boolean);
  }
  return found;
}

/// Looks the elements up in the sorted numbers. NaN, which would mislead the search, gives way to the largest number.
ValueId is_found(Builder& b, ValueId elements, ValueId tests, std::int64_t count, DType t) {
  const ValueId x = b.cast(b.flatten(elements), t);
  ValueId y = b.cast(tests, t);
  std::vector<ExprArg> compared = {{"x", x}};
  std::string equal = "x == y";
  if (is_floating(t)) {
    const double lower = -std::numeric_limits<double>::infinity();
    const ValueId numbers = b.expr("y == y ? y : least", {{"y", y}, {"least", lower}}, t);
    const ValueId largest = b.reduce(numbers, "max", {0}, false, t);
    const ValueId is_number = b.expr("y == y", {{"y", y}}, t, DType::boolean);
    compared.emplace_back("has_numbers", b.reduce(is_number, "any", {0}, false, DType::boolean));
    equal += " && has_numbers";
    y = b.expr("y == y ? y : largest", {{"y", y}, {"largest", largest}}, t);
  }
  const ValueId sorted = sort_along(b, y, 0, false, false)[0];
  const ValueId position = b.add(Op::searchsorted, {sorted, x}, {attr(AttrKey::right, Dim(0)), attr_dtype(DType::i64)});
  const ValueId nearest =
      b.expr("min(p, last)", {{"p", position}, {"last", static_cast<double>(count - 1)}}, DType::i64);
  compared.emplace_back("y", b.index_select(sorted, nearest, 0));
  return b.reshape(b.expr(equal, compared, t, DType::boolean), b.shape(elements));
}

/// Compares in the common type of the operands: a number and a tensor of no dimensions do not widen it.
Values is_in(Builder& b, const Call& c, ArgumentName first, ArgumentName second) {
  const DType common = common_dtype(b, c, {first.text(), second.text()}), t = compute_type(common);
  const ValueId elements = c.tensor_as(first, common), tests = c.tensor_as(second, common);
  const bool invert = c.flag("invert");
  constexpr std::int64_t kMaxComparisons = 16;
  if (const Dim count = b.numel(tests); count.is_const() && count.value() > 0) {
    const ValueId flat_tests = b.flatten(tests);
    const ValueId found =
        (count.value() <= kMaxComparisons ? equals_any : is_found)(b, elements, flat_tests, count.value(), t);
    return {invert ? b.expr("!f", {{"f", found}}, DType::boolean) : found};
  }
  const ValueId equal =
      b.expr("x == y", {{"x", b.unsqueeze(elements, -1)}, {"y", b.flatten(tests)}}, t, DType::boolean);
  const ValueId found = b.reduce(equal, "any", {-1}, false, DType::boolean);
  return {invert ? b.expr("!f", {{"f", found}}, DType::boolean) : found};
}
Values isin_tensors(Builder& b, const Call& c) {
  return is_in(b, c, "elements", "test_elements");
}
Values isin_scalar(Builder& b, const Call& c) {
  return is_in(b, c, "elements", "test_element");
}
Values scalar_isin(Builder& b, const Call& c) {
  return is_in(b, c, "element", "test_elements");
}

Values one_hot(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  Dim classes = c.dim("num_classes");
  ValueId numbers;
  if (classes.is(-1)) {
    // Infers the class count from the largest element, the size of a bincount's result.
    const ValueId counts =
        b.add(Op::bincount, {b.flatten(x)},
              {attr(AttrKey::length, Dim(0)),
               attr(AttrKey::symbols, Dims{data_size(b, c, 0, static_cast<std::size_t>(b.rank(x)))})});
    classes = b.size(counts, 0);
  }
  numbers = b.iota(classes, DType::i64);
  return {b.expr("x == n", {{"x", b.unsqueeze(x, -1)}, {"n", numbers}}, DType::i64, DType::i64)};
}

constexpr Lowering kMaskedLowerings[] = {
    {"aten.masked_select.default", masked_select},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.masked_fill.Tensor", masked_fill},
    {"aten.masked_scatter.default", masked_scatter},
    {"aten.nonzero.default", nonzero},
    {"aten.argwhere.default", nonzero},
    {"aten.nonzero_numpy.default", nonzero_numpy},
    {"aten.where.default", nonzero_numpy},
    {"aten.nonzero_static.default", nonzero_static},
    {"aten.isin.Tensor_Tensor", isin_tensors},
    {"aten.isin.Tensor_Scalar", isin_scalar},
    {"aten.isin.Scalar_Tensor", scalar_isin},
    {"aten.one_hot.default", one_hot},
};

}  // namespace

std::span<const Lowering> masked_lowerings() {
  return kMaskedLowerings;
}

}  // namespace tern
