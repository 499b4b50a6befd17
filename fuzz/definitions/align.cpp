#include "fuzz/definitions/align.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>

#include "dtypes/convert.h"
#include "schema/op_record.h"

namespace tern::fuzz {
namespace {

using Number = std::complex<double>;

std::vector<Number> numbers(const HostTensor& t) {
  std::vector<Number> v(static_cast<std::size_t>(t.numel()));
  convert(t.data.data(), t.dtype, v.data(), DType::c128, t.numel());
  return v;
}
void put(HostTensor& t, const std::vector<Number>& v) {
  convert(v.data(), DType::c128, t.data.data(), t.dtype, t.numel());
}

/// The program's result for result k of the op's signature; null if absent.
template <class R>
auto* result(R& results, const Node& node, std::size_t k) {
  using T = std::remove_reference_t<decltype(results.outputs[0])>;
  std::size_t at = 0;
  for (std::size_t i = 0; i < k; ++i) at += node.outputs[i] != kNoValue ? 1 : 0;
  return node.outputs.size() <= k || node.outputs[k] == kNoValue ? static_cast<T*>(nullptr) : &results.outputs[at];
}

/// The columns or rows of a stack of matrices [.., rows, columns].
struct Vectors {
  std::int64_t rows = 0, columns = 0, matrices = 0;
  bool in_rows = false;
  std::int64_t count() const { return in_rows ? rows : columns; }
  std::int64_t length() const { return in_rows ? columns : rows; }
  std::size_t at(std::int64_t matrix, std::int64_t vector, std::int64_t i) const {
    const std::int64_t row = in_rows ? vector : i, column = in_rows ? i : vector;
    return static_cast<std::size_t>((matrix * rows + row) * columns + column);
  }
};

Vectors vectors_of(const HostTensor& t, bool in_rows) {
  Vectors v;
  v.rows = t.sizes[t.sizes.size() - 2];
  v.columns = t.sizes.back();
  v.matrices = v.rows * v.columns == 0 ? 0 : t.numel() / (v.rows * v.columns);
  v.in_rows = in_rows;
  return v;
}

/// Multiplies each vector by the number of magnitude 1 that brings the vector nearest to the defined vector.
void align_phases(HostTensor& t, const HostTensor& to, bool in_rows) {
  const Vectors v = vectors_of(t, in_rows);
  std::vector<Number> x = numbers(t);
  const std::vector<Number> y = numbers(to);
  for (std::int64_t m = 0; m < v.matrices; ++m) {
    for (std::int64_t k = 0; k < v.count(); ++k) {
      Number product = 0;
      for (std::int64_t i = 0; i < v.length(); ++i) product += std::conj(x[v.at(m, k, i)]) * y[v.at(m, k, i)];
      const double size = std::abs(product);
      if (size == 0 || !std::isfinite(size)) continue;
      for (std::int64_t i = 0; i < v.length(); ++i) x[v.at(m, k, i)] *= product / size;
    }
  }
  put(t, x);
}

/// Orders eigenvalues and their vectors like the definition: by the values, or else by the vectors. Either may be
/// absent.
void align_order(HostTensor* values, HostTensor* vectors, const HostTensor* to_values, const HostTensor* to_vectors) {
  const HostTensor& some = values != nullptr ? *values : *vectors;
  const std::int64_t n = some.sizes.back();
  const std::int64_t matrices = n == 0 ? 0 : some.numel() / (values != nullptr ? n : n * n);
  const auto of = [](const HostTensor* t) { return t == nullptr ? std::vector<Number>() : numbers(*t); };
  const std::vector<Number> from = of(values), defined = of(to_values), columns = of(vectors),
                            defined_columns = of(to_vectors);
  std::vector<Number> ordered = from, moved = columns;
  const auto value = [&](std::int64_t m, std::int64_t i) { return static_cast<std::size_t>(m * n + i); };
  const auto part = [&](std::int64_t m, std::int64_t row, std::int64_t i) {
    return static_cast<std::size_t>((m * n + row) * n + i);
  };
  const auto distance = [&](std::int64_t m, std::int64_t i, std::int64_t j) {
    if (values != nullptr) return std::abs(from[value(m, j)] - defined[value(m, i)]);
    Number product = 0;
    for (std::int64_t row = 0; row < n; ++row)
      product += std::conj(columns[part(m, row, j)]) * defined_columns[part(m, row, i)];
    return -std::abs(product);
  };
  for (std::int64_t m = 0; m < matrices; ++m) {
    std::vector<bool> taken(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t best = -1;
      double least = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        if (taken[static_cast<std::size_t>(j)]) continue;
        const double d = distance(m, i, j);
        if (best >= 0 && !(d < least)) continue;
        best = j;
        least = d;
      }
      taken[static_cast<std::size_t>(best)] = true;
      if (values != nullptr) ordered[value(m, i)] = from[value(m, best)];
      for (std::int64_t row = 0; row < n && vectors != nullptr; ++row)
        moved[part(m, row, i)] = columns[part(m, row, best)];
    }
  }
  if (values != nullptr) put(*values, ordered);
  if (vectors != nullptr) put(*vectors, moved);
}

/// Vectors beyond the last singular value are an arbitrary basis: copies the definition's.
void take_rest(HostTensor& t, const HostTensor& to, bool in_rows, std::int64_t from) {
  const Vectors v = vectors_of(t, in_rows);
  const auto size = static_cast<std::size_t>(element_size(t.dtype));
  for (std::int64_t m = 0; m < v.matrices; ++m) {
    for (std::int64_t k = from; k < v.count(); ++k) {
      for (std::int64_t i = 0; i < v.length(); ++i)
        std::memcpy(t.data.data() + v.at(m, k, i) * size, to.data.data() + v.at(m, k, i) * size, size);
    }
  }
}

/// Replaces positions along the axis by the defined positions if the elements of `x` are equal.
void align_places(HostTensor& places, const HostTensor& to, const HostTensor& x, std::size_t axis) {
  const auto size = static_cast<std::size_t>(element_size(x.dtype));
  const std::int64_t n = x.sizes.empty() ? 1 : x.sizes[axis];
  std::int64_t inner = 1, own = 1;
  for (std::size_t i = axis + 1; i < x.sizes.size(); ++i) inner *= x.sizes[i];
  const std::int64_t lines = n * inner == 0 ? 0 : x.numel() / n;  // lines of x, `own` places each
  own = lines == 0 ? 0 : places.numel() / lines;
  auto* place = reinterpret_cast<std::int64_t*>(places.data.data());
  const auto* defined = reinterpret_cast<const std::int64_t*>(to.data.data());
  for (std::int64_t i = 0; i < lines * own; ++i) {
    const std::int64_t base = i / (own * inner) * n * inner + i % inner;
    const auto element = [&](std::int64_t at) {
      return x.data.data() + static_cast<std::size_t>(base + at * inner) * size;
    };
    const bool inside = place[i] >= 0 && place[i] < n && defined[i] >= 0 && defined[i] < n;
    if (inside && std::memcmp(element(place[i]), element(defined[i]), size) == 0) place[i] = defined[i];
  }
}

}  // namespace

void align(const NodeCase& c, const std::vector<HostTensor>& operands, NodeResults& results,
           const NodeResults& defined) {
  const Node* node = node_of(c);
  if (results.failed || defined.failed || node == nullptr || results.outputs.size() != defined.outputs.size()) return;
  for (std::size_t k = 0; k < results.outputs.size(); ++k) {
    if (results.outputs[k].sizes != defined.outputs[k].sizes) return;
  }
  const auto phases = [&](std::size_t k, bool in_rows) {
    HostTensor* t = result(results, *node, k);
    if (t != nullptr) align_phases(*t, *result(defined, *node, k), in_rows);
  };
  switch (c.op) {
    case Op::eig: {
      HostTensor *values = result(results, *node, 0), *vectors = result(results, *node, 1);
      if (values == nullptr && vectors == nullptr) return;
      align_order(values, vectors, result(defined, *node, 0), result(defined, *node, 1));
      return phases(1, false);
    }
    case Op::eigh: return phases(1, false);
    case Op::svd: {
      const std::vector<std::int64_t>& sizes = operands.at(0).sizes;
      const std::int64_t least = std::min(sizes.back(), sizes[sizes.size() - 2]);
      for (std::size_t k : {std::size_t{0}, std::size_t{2}}) {
        if (HostTensor* t = result(results, *node, k)) take_rest(*t, *result(defined, *node, k), k == 2, least);
        phases(k, k == 2);
      }
      return;
    }
    default: break;
  }
  if (results_of(op_record(c.op).signature) != " values, indices" || operands.empty()) return;
  HostTensor* places = result(results, *node, 1);
  const auto rank = static_cast<std::int64_t>(operands[0].sizes.size());
  const std::int64_t axis = node->integer(AttrKey::axis);
  if (places != nullptr)
    align_places(*places, *result(defined, *node, 1), operands[0],
                 static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
}

}  // namespace tern::fuzz
