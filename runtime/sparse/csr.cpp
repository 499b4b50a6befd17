// Sparse matrices of tern/sparse.h: construction, transpose and products.
#include <fmt/format.h>
#include <tern/sparse.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "runtime/device_tensor.h"
#include "runtime/linalg/elements.h"
#include "runtime/sparse/checks.h"
#include "runtime/sparse/rows.h"
#include "threads/parallel.h"

namespace tern::sparse {
namespace {

using linalg::visit;

/// Indices as int64, in memory of their own.
Tensor wide_indices(const char* function, const Tensor& t, std::int64_t count) {
  if (t.dtype() != DType::i32 && t.dtype() != DType::i64) refuse(function, "indices must be int32 or int64");
  if (!TensorMemory::is_on_host(t)) refuse(function, "computes on the host; pass tensors as to(\"cpu\")");
  if (t.sizes() != std::vector<std::int64_t>{count})
    refuse(function, fmt::format("indices must have the size [{}]", count));
  if (t.dtype() == DType::i64) return t.clone();
  const Tensor dense = t.contiguous();
  Tensor wide(DType::i64, {count});
  std::ranges::copy(dense.span<std::int32_t>(), wide.span<std::int64_t>().begin());
  return wide;
}

void require_below(const char* function, const Tensor& indices, std::int64_t end, const char* what) {
  for (const std::int64_t k : indices.span<std::int64_t>()) {
    if (k < 0 || k >= end) refuse(function, fmt::format("{} {} is outside 0 .. {}", what, k, end - 1));
  }
}

template <class T>
T conjugated_if(T x, bool conjugated) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return conjugated ? std::conj(x) : x;
  }
}

/// Sorts elements by column within rows, given by their row, and adds elements of one place.
template <class T>
Csr grouped(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& row_starts,
            std::vector<std::int64_t>& order, const std::int64_t* column, const T* value, DType t) {
  Tensor starts(DType::i64, {rows + 1});
  const auto begins = starts.span<std::int64_t>();
  std::vector<std::int64_t> kept;
  std::vector<T> sums;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    const auto begin = order.begin() + row_starts[r], end = order.begin() + row_starts[r + 1];
    std::stable_sort(begin, end, [&](std::int64_t x, std::int64_t y) { return column[x] < column[y]; });
    const std::size_t first = kept.size();
    for (auto e = begin; e != end; ++e) {
      if (kept.size() > first && kept.back() == column[*e]) {
        sums.back() += value[*e];
      } else {
        kept.push_back(column[*e]);
        sums.push_back(value[*e]);
      }
    }
    begins[r + 1] = static_cast<std::int64_t>(kept.size());
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  Tensor indices(DType::i64, {count}), values(t, {count});
  std::ranges::copy(kept, indices.span<std::int64_t>().begin());
  std::ranges::copy(sums, values.span<T>().begin());
  return {rows, columns, starts, indices, values};
}

/// Rows of a product of matrices.
template <class T>
class RowProduct {
 public:
  RowProduct(const Rows<T>& left, const Rows<T>& right, std::int64_t columns)
      : lhs_(left), rhs_(right), sums_(static_cast<std::size_t>(columns)) {}

  /// Stores the columns of row r, sorted, and their numbers.
  void run(std::int64_t r, std::vector<std::int64_t>& columns, std::vector<T>& numbers) {
    for (std::int64_t e = lhs_.starts[r]; e < lhs_.starts[r + 1]; ++e) {
      const std::int64_t k = lhs_.indices[e];
      for (std::int64_t f = rhs_.starts[k]; f < rhs_.starts[k + 1]; ++f) {
        Sum& sum = sums_[static_cast<std::size_t>(rhs_.indices[f])];
        if (sum.row != r) {
          sum = {r, T(0)};
          columns.push_back(rhs_.indices[f]);
        }
        sum.number += lhs_.values[e] * rhs_.values[f];
      }
    }
    std::ranges::sort(columns);
    for (const std::int64_t c : columns) numbers.push_back(sums_[static_cast<std::size_t>(c)].number);
  }

 private:
  struct Sum {
    std::int64_t row = -1;  ///< last row with an element in this column
    T number = T(0);
  };
  const Rows<T>&lhs_, &rhs_;
  std::vector<Sum> sums_;
};

}  // namespace

Csr::Csr(std::int64_t rows, std::int64_t columns, const Tensor& starts, const Tensor& indices, const Tensor& values)
    : rows_(rows), columns_(columns) {
  if (rows < 0 || columns < 0) refuse("Csr", "sizes must not be negative");
  require_numbers("Csr", values);
  if (values.sizes().size() != 1) refuse("Csr", "values must have one axis");
  starts_ = wide_indices("Csr", starts, rows + 1);
  indices_ = wide_indices("Csr", indices, values.numel());
  values_ = values.contiguous();
  const auto begins = starts_.span<std::int64_t>();
  if (begins[0] != 0 || begins.back() != values.numel() || !std::ranges::is_sorted(begins))
    refuse("Csr", "starts must rise from 0 to the number of elements");
  require_below("Csr", indices_, columns, "column");
}

Csr from_coordinates(std::int64_t rows, std::int64_t columns, const Tensor& row_indices, const Tensor& column_indices,
                     const Tensor& values) {
  constexpr const char* kName = "from_coordinates";
  if (rows < 0 || columns < 0) refuse(kName, "sizes must not be negative");
  require_numbers(kName, values);
  if (values.sizes().size() != 1) refuse(kName, "values must have one axis");
  const Tensor row = wide_indices(kName, row_indices, values.numel());
  const Tensor column = wide_indices(kName, column_indices, values.numel()), dense = values.contiguous();
  require_below(kName, row, rows, "row");
  require_below(kName, column, columns, "column");
  const auto r = row.span<std::int64_t>();
  std::vector<std::int64_t> starts(static_cast<std::size_t>(rows) + 1), order(r.size());
  for (const std::int64_t k : r) ++starts[static_cast<std::size_t>(k) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::int64_t> next = starts;
  for (std::size_t e = 0; e < r.size(); ++e)
    order[static_cast<std::size_t>(next[static_cast<std::size_t>(r[e])]++)] = static_cast<std::int64_t>(e);
  std::optional<Csr> result;
  visit(values.dtype(), [&](auto tag) {
    using T = decltype(tag);
    result = grouped(rows, columns, starts, order, column.span<std::int64_t>().data(), dense.span<T>().data(),
                     values.dtype());
  });
  return *result;
}

Csr from_dense(const Tensor& a) {
  require_numbers("from_dense", a);
  if (a.sizes().size() != 2) refuse("from_dense", "needs one matrix [rows, columns]");
  const Tensor dense = a.contiguous();
  const std::int64_t rows = a.sizes()[0], columns = a.sizes()[1];
  Tensor starts(DType::i64, {rows + 1});
  std::optional<Csr> result;
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* const x = dense.span<T>().data();
    std::vector<std::int64_t> kept;
    std::vector<T> found;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        if (x[r * columns + c] == T(0)) continue;
        kept.push_back(c);
        found.push_back(x[r * columns + c]);
      }
      starts.span<std::int64_t>()[static_cast<std::size_t>(r) + 1] = static_cast<std::int64_t>(kept.size());
    }
    Tensor indices(DType::i64, {static_cast<std::int64_t>(kept.size())}), values(a.dtype(), indices.sizes());
    std::ranges::copy(kept, indices.span<std::int64_t>().begin());
    std::ranges::copy(found, values.span<T>().begin());
    result.emplace(rows, columns, starts, indices, values);
  });
  return *result;
}

Tensor to_dense(const Csr& a) {
  Tensor dense(a.dtype(), {a.rows(), a.columns()});
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Rows<T> rows(a);
    T* const x = dense.span<T>().data();
    for (std::int64_t r = 0; r < a.rows(); ++r) {
      for (std::int64_t e = rows.starts[r]; e < rows.starts[r + 1]; ++e)
        x[r * a.columns() + rows.indices[e]] += rows.values[e];
    }
  });
  return dense;
}

Csr transpose(const Csr& a, bool conjugated) {
  const auto from = a.indices().span<std::int64_t>();
  const auto count = static_cast<std::int64_t>(from.size());
  Tensor starts(DType::i64, {a.columns() + 1}), indices(DType::i64, {count}), values(a.dtype(), {count});
  const auto begins = starts.span<std::int64_t>();
  for (const std::int64_t c : from) ++begins[static_cast<std::size_t>(c) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::int64_t> next(begins.begin(), begins.end());
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Rows<T> rows(a);
    for (std::int64_t r = 0; r < a.rows(); ++r) {
      for (std::int64_t e = rows.starts[r]; e < rows.starts[r + 1]; ++e) {
        const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(rows.indices[e])]++);
        indices.span<std::int64_t>()[to] = r;
        values.span<T>()[to] = conjugated_if(rows.values[e], conjugated);
      }
    }
  });
  return {a.columns(), a.rows(), starts, indices, values};
}

Tensor multiply(const Csr& a, const Tensor& x, const ProductOptions& options) {
  const ThreadScope scope(Threads::chosen(options.threads));
  if (options.transpose != linalg::Transpose::none)
    return multiply(transpose(a, options.transpose == linalg::Transpose::adjoint), x, {.threads = options.threads});
  require_vectors("multiply", x, a.dtype(), a.columns());
  const Tensor dense = x.contiguous();
  std::vector<std::int64_t> sizes = x.sizes();
  sizes[0] = a.rows();
  const std::int64_t k = sizes.size() == 2 ? sizes[1] : 1;
  Tensor y(a.dtype(), std::move(sizes));
  if (a.rows() == 0) return y;
  const std::int64_t per_row = a.values().numel() / a.rows() + 1;
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Rows<T> rows(a);
    const T* const from = dense.span<T>().data();
    T* const to = y.span<T>().data();
    parallel_for(a.rows(), 1 + 20000 / (per_row * k + 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        if (k == 1) {
          T sum = T(0);
          for (std::int64_t e = rows.starts[r]; e < rows.starts[r + 1]; ++e)
            sum += rows.values[e] * from[rows.indices[e]];
          to[r] = sum;
          continue;
        }
        T* const row = to + r * k;
        for (std::int64_t e = rows.starts[r]; e < rows.starts[r + 1]; ++e) {
          const T factor = rows.values[e];
          const T* const other = from + rows.indices[e] * k;
          for (std::int64_t c = 0; c < k; ++c) row[c] += factor * other[c];
        }
      }
    });
  });
  return y;
}

Csr multiply(const Csr& a, const Csr& b, const linalg::Options& options) {
  const ThreadScope scope(Threads::chosen(options.threads));
  if (a.dtype() != b.dtype()) refuse("multiply", "matrices must have one type");
  if (a.columns() != b.rows()) refuse("multiply", "A must have as many columns as B has rows");
  std::optional<Csr> result;
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Rows<T> left(a), right(b);
    const auto row_count = static_cast<std::size_t>(a.rows());
    std::vector<std::vector<std::int64_t>> columns(row_count);
    std::vector<std::vector<T>> sums(row_count);
    parallel_for(a.rows(), 64, [&](std::int64_t begin, std::int64_t end) {
      RowProduct<T> product(left, right, b.columns());
      for (std::int64_t r = begin; r < end; ++r)
        product.run(r, columns[static_cast<std::size_t>(r)], sums[static_cast<std::size_t>(r)]);
    });
    Tensor starts(DType::i64, {a.rows() + 1});
    const auto begins = starts.span<std::int64_t>();
    for (std::size_t r = 0; r < row_count; ++r)
      begins[r + 1] = begins[r] + static_cast<std::int64_t>(columns[r].size());
    Tensor indices(DType::i64, {begins.back()}), values(a.dtype(), {begins.back()});
    for (std::size_t r = 0; r < row_count; ++r) {
      std::ranges::copy(columns[r], indices.span<std::int64_t>().begin() + begins[r]);
      std::ranges::copy(sums[r], values.span<T>().begin() + begins[r]);
    }
    result.emplace(a.rows(), b.columns(), starts, indices, values);
  });
  return *result;
}

Tensor triangular_solve(const Csr& a, const Tensor& b, const TriangularOptions& options) {
  constexpr const char* kName = "triangular_solve";
  if (options.transpose != linalg::Transpose::none)
    return triangular_solve(transpose(a, options.transpose == linalg::Transpose::adjoint), b,
                            {.upper = !options.upper, .unitriangular = options.unitriangular});
  if (a.rows() != a.columns()) refuse(kName, "needs a square matrix");
  require_vectors(kName, b, a.dtype(), a.rows());
  Tensor x = b.clone();
  const std::int64_t n = a.rows(), k = b.sizes().size() == 2 ? b.sizes()[1] : 1;
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const Rows<T> rows(a);
    T* const y = x.span<T>().data();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t r = options.upper ? n - 1 - i : i;
      T pivot = T(0);
      for (std::int64_t e = rows.starts[r]; e < rows.starts[r + 1]; ++e) {
        const std::int64_t c = rows.indices[e];
        if (c == r) pivot += rows.values[e];
        if (options.upper ? c <= r : c >= r) continue;
        for (std::int64_t j = 0; j < k; ++j) y[r * k + j] -= rows.values[e] * y[c * k + j];
      }
      if (options.unitriangular) continue;
      if (pivot == T(0)) fail_run(kName, fmt::format("the matrix is singular: row {} has a zero on the diagonal", r));
      for (std::int64_t j = 0; j < k; ++j) y[r * k + j] /= pivot;
    }
  });
  return x;
}

Operator operator_of(Csr a, const ProductOptions& options) {
  return [a = std::move(a), options](const Tensor& x) { return multiply(a, x, options); };
}

}  // namespace tern::sparse
