// Lowerings of contractions named by axes: tensordot, einsum, kron, and chains of products.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "exporter/lower/contraction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
using Axes = std::vector<std::int64_t>;

/// Sums over axes_x of x and axes_y of y, pair by pair; the axes left of x come first.
ValueId contract(Builder& b, ValueId x, ValueId y, Axes axes_x, Axes axes_y, DType result) {
  Axes order_x, order_y;
  Dims shape;
  Dim rows = 1, columns = 1, inner = 1;
  const auto contains = [](const Axes& axes, std::int64_t i) {
    return std::find(axes.begin(), axes.end(), i) != axes.end();
  };
  // A size 1 paired with a larger size means a sum over the larger axis.
  for (std::size_t i = 0; i < axes_x.size(); ++i) {
    const Dim sx = b.size(x, axes_x[i]), sy = b.size(y, axes_y[i]);
    if (sx.is(1) && !sy.is(1)) y = b.reduce(y, "sum", {axes_y[i]}, true, b.dtype(y));
    if (sy.is(1) && !sx.is(1)) x = b.reduce(x, "sum", {axes_x[i]}, true, b.dtype(x));
  }
  for (std::int64_t i = 0; i < b.rank(x); ++i) {
    if (contains(axes_x, i)) continue;
    order_x.push_back(i);
    shape.push_back(b.size(x, i));
    rows = b.pool().mul(rows, b.size(x, i));
  }
  for (std::int64_t i : axes_x) inner = b.pool().mul(inner, b.size(x, i));
  for (std::int64_t i = 0; i < b.rank(y); ++i) {
    if (contains(axes_y, i)) continue;
    columns = b.pool().mul(columns, b.size(y, i));
    shape.push_back(b.size(y, i));
    order_y.push_back(i);
  }
  order_x.insert(order_x.end(), axes_x.begin(), axes_x.end());
  order_y.insert(order_y.begin(), axes_y.begin(), axes_y.end());
  const ValueId left = b.reshape(b.permute(x, order_x), {rows, inner});
  const ValueId right = b.reshape(b.permute(y, order_y), {inner, columns});
  return b.reshape(product(b, left, right, result), shape);
}

Values tensordot(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), y = c.tensor("other");
  Axes ax = c.integers("dims_self"), ay = c.integers("dims_other");
  if (ax.size() != ay.size()) c.unsupported("the lists of axes differ in length");
  for (std::int64_t& a : ax) a = b.normal_axis(x, a);
  for (std::int64_t& a : ay) a = b.normal_axis(y, a);
  return {contract(b, x, y, ax, ay, c.result_dtype())};
}

/// Blocks of y scaled by the elements of x: both with their axes interleaved.
Values kron(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), y = c.tensor("other");
  const int r = std::max(b.rank(x), b.rank(y));
  Dims sx, sy, shape;
  for (int i = 0; i < r; ++i) {
    const int ix = i - (r - b.rank(x)), iy = i - (r - b.rank(y));
    const Dim dx = ix < 0 ? Dim(1) : b.size(x, ix), dy = iy < 0 ? Dim(1) : b.size(y, iy);
    sx.push_back(dx);
    sx.push_back(1);
    sy.push_back(1);
    sy.push_back(dy);
    shape.push_back(b.pool().mul(dx, dy));
  }
  return {b.reshape(b.expr("x * y", {{"x", b.reshape(x, sx)}, {"y", b.reshape(y, sy)}}, c.result_dtype()), shape)};
}

/// Finds the cheapest order for a chain of matrices of constant sizes; otherwise left to right.
class Chain {
 public:
  Chain(Builder& b, Values matrices) : b_(b), matrices_(std::move(matrices)) {
    for (ValueId m : matrices_) sizes_.push_back(b_.size(m, 0));
    sizes_.push_back(b_.size(matrices_.back(), 1));
    constant_ = std::all_of(sizes_.begin(), sizes_.end(), [](Dim d) { return d.is_const(); }) && matrices_.size() <= 64;
    if (constant_) plan();
  }
  ValueId result() { return build(0, matrices_.size() - 1); }

 private:
  void plan() {
    const std::size_t n = matrices_.size();
    cost_.assign(n, std::vector<double>(n, 0));
    split_positions_.assign(n, std::vector<std::size_t>(n, 0));
    for (std::size_t length = 1; length < n; ++length) {
      for (std::size_t i = 0; i + length < n; ++i) {
        const std::size_t j = i + length;
        cost_[i][j] = std::numeric_limits<double>::infinity();
        for (std::size_t k = i; k < j; ++k) {
          const double product_cost = static_cast<double>(sizes_[i].value()) *
                                      static_cast<double>(sizes_[k + 1].value()) *
                                      static_cast<double>(sizes_[j + 1].value());
          const double cost = cost_[i][k] + cost_[k + 1][j] + product_cost;
          if (cost >= cost_[i][j]) continue;
          cost_[i][j] = cost;
          split_positions_[i][j] = k;
        }
      }
    }
  }
  ValueId build(std::size_t i, std::size_t j) {
    if (i == j) return matrices_[i];
    const std::size_t k = constant_ ? split_positions_[i][j] : j - 1;
    const ValueId left = build(i, k), right = build(k + 1, j);
    return product(b_, left, right);
  }

  Builder& b_;
  Values matrices_;
  Dims sizes_;
  bool constant_ = false;
  std::vector<std::vector<double>> cost_;
  std::vector<std::vector<std::size_t>> split_positions_;
};

Values chain(Builder& b, Values matrices) {
  const bool row = b.rank(matrices.front()) == 1, column = b.rank(matrices.back()) == 1;
  if (row) matrices.front() = b.unsqueeze(matrices.front(), 0);
  if (column) matrices.back() = b.unsqueeze(matrices.back(), 1);
  ValueId r = Chain(b, std::move(matrices)).result();
  if (column) r = b.squeeze(r, 1);
  if (row) r = b.squeeze(r, 0);
  return {r};
}

Values multi_dot(Builder& b, const Call& c) {
  const Values& m = c.tensors("tensors");
  if (m.size() < 2) c.unsupported("the chain needs at least two tensors");
  return chain(b, m);
}

Values chain_matmul(Builder& b, const Call& c) {
  const Values& m = c.tensors("matrices");
  if (m.empty()) c.unsupported("the chain is empty");
  return chain(b, m);
}

/// Operand of an einsum, with a label per axis. Labels are letters; an ellipsis has labels up to 511.
struct EinsumOperand {
  ValueId value = kNoValue;
  std::vector<int> labels;
};

std::int64_t position(const std::vector<int>& labels, int label) {
  const auto it = std::find(labels.begin(), labels.end(), label);
  return it == labels.end() ? -1 : it - labels.begin();
}

class Einsum {
 public:
  Einsum(Builder& b, const Call& c) : b_(b), c_(c) {}

  Values run() {
    parse();
    for (EinsumOperand& t : terms_) take_diagonals(t);
    EinsumOperand acc = terms_[0];
    if (terms_.size() == 1) sum_unused(acc, 1);
    for (std::size_t i = 1; i < terms_.size(); ++i) {
      sum_unused(acc, i);
      sum_unused(terms_[i], i + 1, &acc);
      acc = multiply(acc, terms_[i], i + 1);
    }
    std::vector<std::int64_t> order;
    for (int label : output_) order.push_back(position(acc.labels, label));
    return {b_.permute(acc.value, order)};
  }

 private:
  void parse() {
    std::string text;
    for (char ch : c_.text("equation")) {
      if (ch != ' ') text += ch;
    }
    const std::size_t arrow = text.find("->");
    const Values& values = c_.tensors("tensors");
    std::string left = text.substr(0, arrow);
    std::size_t operand = 0, begin = 0;
    for (std::size_t index = 0; index <= left.size(); ++index) {
      if (index != left.size() && left[index] != ',') continue;
      if (operand >= values.size()) refuse("names more operands than there are");
      terms_.push_back({values[operand], labels(left.substr(begin, index - begin), b_.rank(values[operand]))});
      begin = index + 1;
      ++operand;
    }
    if (operand != values.size()) refuse("names fewer operands than there are");
    if (arrow != std::string::npos) {
      output_ = labels(text.substr(arrow + 2), -1);
    } else {  // the ellipsis, then the labels occurring once, in order
      std::map<int, int> count;
      for (const EinsumOperand& t : terms_) {
        for (int l : t.labels) ++count[l];
      }
      for (int k = ellipsis_; k > 0; --k) output_.push_back(512 - k);
      for (const auto& [label, n] : count) {
        if (label < 256 && n == 1) output_.push_back(label);
      }
    }
    for (int l : output_) {
      if (std::none_of(terms_.begin(), terms_.end(),
                       [&](const EinsumOperand& t) { return position(t.labels, l) >= 0; }))
        refuse("has an output axis that no operand has");
      if (std::count(output_.begin(), output_.end(), l) != 1) refuse("repeats an axis of the output");
    }
  }

  /// rank -1: the output; its ellipsis is as long as the operands' longest.
  std::vector<int> labels(const std::string& text, int rank) {
    std::vector<int> result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text.compare(i, 3, "...") == 0) {
        const int n = rank < 0 ? ellipsis_ : rank - static_cast<int>(text.size() - 3);
        if (n < 0) refuse("has more axes than an operand");
        ellipsis_ = std::max(ellipsis_, n);
        // Aligns ellipses at the right; numbers fall, giving the last axis a fixed number.
        for (int k = n; k > 0; --k) result.push_back(512 - k);
        i += 2;
      } else if ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z')) {
        result.push_back(text[i]);
      } else {
        refuse("has an unknown character");
      }
    }
    if (rank >= 0 && static_cast<int>(result.size()) != rank) refuse("does not name every axis of an operand");
    return result;
  }

  [[noreturn]] void refuse(const char* problem) const {
    c_.unsupported(fmt::format("the equation '{}' {}", c_.text("equation"), problem));
  }

  /// A label repeated in one operand selects the diagonal.
  void take_diagonals(EinsumOperand& t) {
    for (std::size_t i = 0; i < t.labels.size(); ++i) {
      for (std::size_t j = i + 1; j < t.labels.size();) {
        if (t.labels[i] != t.labels[j]) {
          ++j;
          continue;
        }
        // Moves both axes last, [.., n, n], flattens and pads to [.., n, n + 1]: the first column is the diagonal.
        ValueId v = b_.move_axis(t.value, static_cast<std::int64_t>(j), -1);
        v = b_.move_axis(v, static_cast<std::int64_t>(i), -2);
        const Dim n = b_.size(v, -1), square = b_.pool().mul(n, n);
        Dims shape(b_.shape(v).begin(), b_.shape(v).end() - 2);
        const std::int64_t axis = static_cast<std::int64_t>(shape.size());
        shape.push_back(square);
        v = b_.reshape(v, shape);
        Dims padding_before(shape.size(), 0), padding_after(shape.size(), 0);
        padding_after.back() = n;
        v = b_.pad(v, padding_before, padding_after);
        shape.back() = n;
        shape.push_back(b_.pool().add(n, 1));
        v = b_.select(b_.reshape(v, shape), axis + 1, 0);
        const int label = t.labels[i];
        t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(j));
        t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(i));
        t.labels.push_back(label);
        t.value = v;
        take_diagonals(t);
        return;
      }
    }
  }

  bool is_needed(int label, std::size_t first_term, const EinsumOperand* partner) const {
    if (position(output_, label) >= 0 || (partner != nullptr && position(partner->labels, label) >= 0)) return true;
    for (std::size_t i = first_term; i < terms_.size(); ++i) {
      if (position(terms_[i].labels, label) >= 0) return true;
    }
    return false;
  }

  /// Sums axes absent from `partner`, from operands `first_term` and up, and from the output.
  void sum_unused(EinsumOperand& t, std::size_t first_term, const EinsumOperand* partner = nullptr) {
    std::vector<std::int64_t> axes;
    std::vector<int> remaining_labels;
    for (std::size_t i = 0; i < t.labels.size(); ++i) {
      if (is_needed(t.labels[i], first_term, partner)) {
        remaining_labels.push_back(t.labels[i]);
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (axes.empty()) return;
    // A lone sum has the result's type, wider for integers.
    t.value = b_.reduce(t.value, "sum", axes, false, terms_.size() == 1 ? c_.result_dtype() : b_.dtype(t.value));
    t.labels = remaining_labels;
  }

  /// Computes a batched product: shared axes still needed form the batch; shared axes no longer needed are summed.
  EinsumOperand multiply(const EinsumOperand& x, const EinsumOperand& y, std::size_t first_term) {
    std::vector<int> batch, summed, only_x, only_y;
    for (int l : x.labels) {
      if (position(y.labels, l) < 0) {
        only_x.push_back(l);
      } else if (is_needed(l, first_term, nullptr)) {
        batch.push_back(l);
      } else {
        summed.push_back(l);
      }
    }
    for (int l : y.labels) {
      if (position(x.labels, l) < 0) only_y.push_back(l);
    }
    const auto size_of = [&](const EinsumOperand& t, int l) { return b_.size(t.value, position(t.labels, l)); };
    Dims shape, batch_shape;
    Dim rows = 1, columns = 1, inner = 1, planes = 1;
    ExprPool& pool = b_.pool();
    ValueId vx = x.value, vy = y.value;
    // Sizes of 1 broadcast against the other operand's.
    const auto widen = [&](ValueId v, const EinsumOperand& t, const EinsumOperand& partner) {
      Dims sizes = b_.shape(v);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t index = position(partner.labels, t.labels[i]);
        if (sizes[i].is(1) && index >= 0) sizes[i] = b_.size(partner.value, index);
      }
      return b_.expand(v, sizes);
    };
    vx = widen(vx, x, y);
    vy = widen(vy, y, x);
    const EinsumOperand wide_x{vx, x.labels};
    for (int l : batch) {
      batch_shape.push_back(size_of(wide_x, l));
      planes = pool.mul(planes, size_of(wide_x, l));
    }
    for (int l : summed) inner = pool.mul(inner, size_of(wide_x, l));
    shape = batch_shape;
    for (int l : only_x) {
      shape.push_back(size_of(x, l));
      rows = pool.mul(rows, size_of(x, l));
    }
    for (int l : only_y) {
      shape.push_back(size_of(y, l));
      columns = pool.mul(columns, size_of(y, l));
    }
    const auto arranged = [&](ValueId v, const EinsumOperand& t, std::initializer_list<const std::vector<int>*> groups,
                              Dims sizes) {
      std::vector<std::int64_t> order;
      for (const auto* g : groups) {
        for (int l : *g) order.push_back(position(t.labels, l));
      }
      return b_.reshape(b_.permute(v, order), std::move(sizes));
    };
    EinsumOperand result;
    for (const auto* g : {&batch, &only_x, &only_y}) result.labels.insert(result.labels.end(), g->begin(), g->end());
    const ValueId left = arranged(vx, x, {&batch, &only_x, &summed}, {planes, rows, inner});
    const ValueId right = arranged(vy, y, {&batch, &summed, &only_y}, {planes, inner, columns});
    const ValueId p = summed.empty() && (rows.is(1) || columns.is(1))
                          ? b_.expr("x * y", {{"x", left}, {"y", right}}, c_.result_dtype())
                          : product(b_, left, right, c_.result_dtype());
    result.value = b_.reshape(p, shape);
    return result;
  }

  Builder& b_;
  const Call& c_;
  std::vector<EinsumOperand> terms_;
  std::vector<int> output_;
  int ellipsis_ = 0;
};

Values einsum(Builder& b, const Call& c) {
  return Einsum(b, c).run();
}

/// The sum over `sumdim` of a product of three tensors, each with new axes at `expandK`: the einsum of a letter for
/// each axis.
Values trilinear(Builder& b, const Call& c) {
  const Values factors = {c.tensor("i1"), c.tensor("i2"), c.tensor("i3")};
  const std::vector<std::int64_t> expanded[] = {c.integers("expand1"), c.integers("expand2"), c.integers("expand3")};
  const std::int64_t rank = b.rank(factors[0]) + std::ssize(expanded[0]);
  if (rank > 26) c.unsupported("the product has more than 26 axes");
  const auto letters_without = [&](const std::vector<std::int64_t>& axes) {
    std::string letters;
    for (std::int64_t i = 0; i < rank; ++i) {
      if (std::ranges::find(axes, i) == axes.end()) letters += static_cast<char>('a' + i);
    }
    return letters;
  };
  CallArgument equation, tensors;
  equation.kind = CallArgument::Kind::text;
  equation.text = fmt::format("{},{},{}->{}", letters_without(expanded[0]), letters_without(expanded[1]),
                              letters_without(expanded[2]), letters_without(c.integers("sumdim")));
  tensors.kind = CallArgument::Kind::tensors;
  tensors.values = factors;
  Call call = c;
  call.args = {{"equation", equation}, {"tensors", tensors}};
  return Einsum(b, call).run();
}

Values vecdot(Builder& b, const Call& c) {
  const ValueId x = c.tensor("x"), y = c.tensor("y");
  const DType result = c.result_dtype(), compute_dtype = compute_type(result);
  const ValueId p = b.expr("x * y", {{"x", conjugate(b, x)}, {"y", y}}, compute_dtype, compute_dtype);
  return {b.cast(b.reduce(p, "sum", {c.integer_or("dim", -1)}, false, compute_dtype), result)};
}

constexpr Lowering kTensordotLowerings[] = {
    {"aten.tensordot.default", tensordot},        {"aten.einsum.default", einsum},
    {"aten._trilinear.default", trilinear},       {"aten.kron.default", kron},
    {"aten.linalg_multi_dot.default", multi_dot}, {"aten.chain_matmul.default", chain_matmul},
    {"aten.linalg_vecdot.default", vecdot},
};

}  // namespace

std::span<const Lowering> tensordot_lowerings() {
  return kTensordotLowerings;
}

}  // namespace tern
