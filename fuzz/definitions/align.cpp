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

std::vector<Number> read_elements(const HostTensor& t) {
  std::vector<Number> v(static_cast<std::size_t>(t.numel()));
  convert(t.data.data(), t.dtype, v.data(), DType::c128, t.numel());
  return v;
}
void write_elements(HostTensor& t, const std::vector<Number>& v) {
  convert(v.data(), DType::c128, t.data.data(), t.dtype, t.numel());
}

/// Finds result k of the op's signature among the program's results, which omit absent results; null if absent.
template <class R>
auto* find_result(R& results, const Node& node, std::size_t k) {
  using T = std::remove_reference_t<decltype(results.outputs[0])>;
  std::size_t present = 0;
  for (std::size_t i = 0; i < k; ++i) present += node.outputs[i] != kNoValue ? 1 : 0;
  return node.outputs.size() <= k || node.outputs[k] == kNoValue ? static_cast<T*>(nullptr) : &results.outputs[present];
}

/// Indexes the columns (or rows, if `in_rows`) of a stack of matrices [.., rows, columns] as vectors.
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
void align_phases(HostTensor& t, const HostTensor& defined, bool in_rows) {
  const Vectors v = vectors_of(t, in_rows);
  std::vector<Number> vectors = read_elements(t);
  const std::vector<Number> defined_vectors = read_elements(defined);
  for (std::int64_t m = 0; m < v.matrices; ++m) {
    for (std::int64_t k = 0; k < v.count(); ++k) {
      Number inner_product = 0;
      for (std::int64_t i = 0; i < v.length(); ++i)
        inner_product += std::conj(vectors[v.at(m, k, i)]) * defined_vectors[v.at(m, k, i)];
      const double magnitude = std::abs(inner_product);
      if (magnitude == 0 || !std::isfinite(magnitude)) continue;
      for (std::int64_t i = 0; i < v.length(); ++i) vectors[v.at(m, k, i)] *= inner_product / magnitude;
    }
  }
  write_elements(t, vectors);
}

/// Reorders eigenvalues and eigenvectors (columns) to match the definition: pairs each defined value with the nearest
/// remaining value or, without values, each defined vector with the remaining vector of the largest inner product.
void align_order(HostTensor* values, HostTensor* vectors, const HostTensor* defined_value_tensor,
                 const HostTensor* defined_vector_tensor) {
  const HostTensor& any_tensor = values != nullptr ? *values : *vectors;
  const std::int64_t n = any_tensor.sizes.back();
  const std::int64_t matrices = n == 0 ? 0 : any_tensor.numel() / (values != nullptr ? n : n * n);
  const auto read_or_empty = [](const HostTensor* t) {
    return t == nullptr ? std::vector<Number>() : read_elements(*t);
  };
  const std::vector<Number> actual = read_or_empty(values), defined = read_or_empty(defined_value_tensor),
                            actual_columns = read_or_empty(vectors),
                            defined_columns = read_or_empty(defined_vector_tensor);
  std::vector<Number> ordered = actual, ordered_columns = actual_columns;
  const auto value_index = [&](std::int64_t m, std::int64_t i) { return static_cast<std::size_t>(m * n + i); };
  const auto element_index = [&](std::int64_t m, std::int64_t row, std::int64_t i) {
    return static_cast<std::size_t>((m * n + row) * n + i);
  };
  const auto distance = [&](std::int64_t m, std::int64_t i, std::int64_t j) {
    if (values != nullptr) return std::abs(actual[value_index(m, j)] - defined[value_index(m, i)]);
    Number inner_product = 0;
    for (std::int64_t row = 0; row < n; ++row)
      inner_product += std::conj(actual_columns[element_index(m, row, j)]) * defined_columns[element_index(m, row, i)];
    return -std::abs(inner_product);
  };
  for (std::int64_t m = 0; m < matrices; ++m) {
    std::vector<bool> is_matched(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t nearest = -1;
      double min_distance = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        if (is_matched[static_cast<std::size_t>(j)]) continue;
        const double d = distance(m, i, j);
        if (nearest >= 0 && !(d < min_distance)) continue;
        nearest = j;
        min_distance = d;
      }
      is_matched[static_cast<std::size_t>(nearest)] = true;
      if (values != nullptr) ordered[value_index(m, i)] = actual[value_index(m, nearest)];
      for (std::int64_t row = 0; row < n && vectors != nullptr; ++row)
        ordered_columns[element_index(m, row, i)] = actual_columns[element_index(m, row, nearest)];
    }
  }
  if (values != nullptr) write_elements(*values, ordered);
  if (vectors != nullptr) write_elements(*vectors, ordered_columns);
}

/// Copies the definition's vectors from `first` on: vectors beyond the last singular value are an arbitrary basis.
void copy_null_space(HostTensor& t, const HostTensor& defined, bool in_rows, std::int64_t first) {
  const Vectors v = vectors_of(t, in_rows);
  const auto size = static_cast<std::size_t>(element_size(t.dtype));
  for (std::int64_t m = 0; m < v.matrices; ++m) {
    for (std::int64_t k = first; k < v.count(); ++k) {
      for (std::int64_t i = 0; i < v.length(); ++i)
        std::memcpy(t.data.data() + v.at(m, k, i) * size, defined.data.data() + v.at(m, k, i) * size, size);
    }
  }
}

/// Replaces positions along the axis by the defined positions where both select equal elements of `x`.
void align_positions(HostTensor& positions, const HostTensor& defined_positions, const HostTensor& x,
                     std::size_t axis) {
  const auto size = static_cast<std::size_t>(element_size(x.dtype));
  const std::int64_t axis_size = x.sizes.empty() ? 1 : x.sizes[axis];
  std::int64_t inner = 1, positions_per_line = 1;
  for (std::size_t i = axis + 1; i < x.sizes.size(); ++i) inner *= x.sizes[i];
  const std::int64_t lines =
      axis_size * inner == 0 ? 0 : x.numel() / axis_size;  // lines of x, `positions_per_line` places each
  positions_per_line = lines == 0 ? 0 : positions.numel() / lines;
  auto* position = reinterpret_cast<std::int64_t*>(positions.data.data());
  const auto* defined = reinterpret_cast<const std::int64_t*>(defined_positions.data.data());
  for (std::int64_t i = 0; i < lines * positions_per_line; ++i) {
    const std::int64_t base = i / (positions_per_line * inner) * axis_size * inner + i % inner;
    const auto element = [&](std::int64_t axis_index) {
      return x.data.data() + static_cast<std::size_t>(base + axis_index * inner) * size;
    };
    const bool in_range = position[i] >= 0 && position[i] < axis_size && defined[i] >= 0 && defined[i] < axis_size;
    if (in_range && std::memcmp(element(position[i]), element(defined[i]), size) == 0) position[i] = defined[i];
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
    HostTensor* t = find_result(results, *node, k);
    if (t != nullptr) align_phases(*t, *find_result(defined, *node, k), in_rows);
  };
  switch (c.op) {
    case Op::eig: {
      HostTensor *values = find_result(results, *node, 0), *vectors = find_result(results, *node, 1);
      if (values == nullptr && vectors == nullptr) return;
      align_order(values, vectors, find_result(defined, *node, 0), find_result(defined, *node, 1));
      return phases(1, false);
    }
    case Op::eigh: return phases(1, false);
    case Op::svd: {
      const std::vector<std::int64_t>& sizes = operands.at(0).sizes;
      const std::int64_t min_size = std::min(sizes.back(), sizes[sizes.size() - 2]);
      for (std::size_t k : {std::size_t{0}, std::size_t{2}}) {
        if (HostTensor* t = find_result(results, *node, k))
          copy_null_space(*t, *find_result(defined, *node, k), k == 2, min_size);
        phases(k, k == 2);
      }
      return;
    }
    default: break;
  }
  if (results_of(op_record(c.op).signature) != " values, indices" || operands.empty()) return;
  HostTensor* positions = find_result(results, *node, 1);
  const auto rank = static_cast<std::int64_t>(operands[0].sizes.size());
  const std::int64_t axis = node->integer(AttrKey::axis);
  if (positions != nullptr)
    align_positions(*positions, *find_result(defined, *node, 1), operands[0],
                    static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
}

}  // namespace tern::fuzz
