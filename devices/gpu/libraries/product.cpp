#include "devices/gpu/libraries/product.h"

#include <algorithm>
#include <limits>

namespace tern::gpu {
namespace {

constexpr std::size_t kMaxCalls = 16;  // more calls take longer to start than Tern's own kernel

enum { kA, kB, kC, kD, kOperands };  // the libraries' notation

/// A batch axis: its size, and each operand's stride (0 if the operand lacks the axis).
struct ProductBatchAxis {
  std::int64_t size = 1, strides[kOperands] = {};
};

/// Stride of axis `from_end` (1: the last); 0 if the operand is broadcast along the axis.
std::int64_t stride(const tern_device_tensor& t, int from_end) {
  const int axis = t.rank - from_end;
  return axis < 0 || t.sizes[axis] == 1 ? 0 : t.strides[axis];
}

std::int64_t size(const tern_device_tensor& t, int from_end) {
  return from_end > t.rank ? 1 : t.sizes[t.rank - from_end];
}

/// Reads Tern's matrix [rows, columns], stored by rows (its transpose in column-major terms) or by columns.
bool read_matrix(std::int64_t rows, std::int64_t columns, std::int64_t by_row, std::int64_t by_column, Matrix* m) {
  if ((by_column == 1 || columns == 1) && (by_row >= columns || rows == 1)) {
    *m = {columns, rows, rows == 1 ? columns : by_row, 0, false};
    return true;
  }
  if ((by_row == 1 || rows == 1) && (by_column >= rows || columns == 1)) {
    *m = {rows, columns, columns == 1 ? rows : by_column, 0, true};
    return true;
  }
  return false;
}

/// Rows of a result and their strides: batch axes become rows if b is equal along them.
struct ProductRows {
  std::int64_t count, a, c, d;  ///< row strides of Tern's a, its addend and its result

  bool merge_axis(const ProductBatchAxis& axis, bool has_matrix) {
    const bool one = count == 1;
    if (axis.strides[kA] != 0) return false;  // Tern's b
    if (!one && axis.strides[kB] != count * a) return false;
    if (has_matrix && !one && axis.strides[kC] != count * c) return false;
    if (!one && axis.strides[kD] != count * d) return false;
    if (one && axis.strides[kB] == 0) return false;
    if (one) a = axis.strides[kB], c = axis.strides[kC], d = axis.strides[kD];
    count *= axis.size;
    return true;
  }
};

/// True if the strides of `axis` continue the strides of `batch`.
bool continues(const ProductBatchAxis& axis, const ProductBatchAxis& batch) {
  for (int k = 0; k < kOperands; ++k)
    if (axis.strides[k] != batch.size * batch.strides[k]) return false;
  return true;
}

/// Merges the last axes expressible by one stride, and returns the other axes as offsets of calls; nothing above the
/// limit of calls.
std::optional<std::vector<Offsets>> divide(std::vector<ProductBatchAxis> axes, ProductBatchAxis* batch) {
  if (!axes.empty()) *batch = axes.back(), axes.pop_back();
  while (!axes.empty() && continues(axes.back(), *batch)) {
    batch->size *= axes.back().size;
    axes.pop_back();
  }
  std::vector<Offsets> calls = {{}};
  for (const ProductBatchAxis& axis : axes) {
    if (axis.size > static_cast<std::int64_t>(kMaxCalls / calls.size())) return std::nullopt;
    std::vector<Offsets> all;
    for (const Offsets& o : calls)
      for (std::int64_t i = 0; i < axis.size; ++i)
        all.push_back({o.a + i * axis.strides[kA], o.b + i * axis.strides[kB], o.c + i * axis.strides[kC],
                       o.d + i * axis.strides[kD]});
    calls = std::move(all);
  }
  return calls;
}

bool has_valid_size(const Matrix& m) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return m.rows > 0 && m.columns > 0 && m.rows <= kMost && m.columns <= kMost && m.leading <= kMost &&
         m.batch_offset >= 0;
}

}  // namespace

std::optional<Product> product_of(const tern_device_op& op) {
  const tern_device_tensor &a = op.inputs[0], &b = op.inputs[1], &d = op.outputs[0];
  if (a.rank < 2 || b.rank < 2) return std::nullopt;
  const tern_device_tensor none{};
  const tern_device_tensor& c = op.input_count > 2 && op.inputs[2].dtype != 0 ? op.inputs[2] : none;
  const std::int64_t columns = size(d, 1), depth = size(a, 1);
  Product p;
  if (c.dtype != 0) {
    // A vector along the columns, equal for all rows and matrices, or a matrix with contiguous rows.
    const bool along = columns == 1 || stride(c, 1) == 1;
    bool same = stride(c, 2) == 0;
    for (int axis = 3; axis <= c.rank; ++axis) same = same && stride(c, axis) == 0;
    if (!along || size(c, 1) != columns) return std::nullopt;
    p.addend = same ? Addend::vector : Addend::matrix;
  }
  const bool has_matrix = p.addend == Addend::matrix;
  ProductRows rows{size(d, 2), stride(a, 2), stride(c, 2), stride(d, 2)};
  std::vector<ProductBatchAxis> axes;  // ordered from first to last
  for (int axis = 3; axis <= d.rank; ++axis) {
    const ProductBatchAxis next{size(d, axis),
                                {stride(b, axis), stride(a, axis), stride(c, axis), d.strides[d.rank - axis]}};
    if (next.size == 1) continue;
    if (axes.empty() && rows.merge_axis(next, has_matrix)) continue;
    axes.insert(axes.begin(), next);
  }
  ProductBatchAxis batch;
  std::optional<std::vector<Offsets>> calls = divide(std::move(axes), &batch);
  if (!calls || batch.size < 1 || batch.size > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  if (!read_matrix(depth, columns, stride(b, 2), stride(b, 1), &p.a) ||
      !read_matrix(rows.count, depth, rows.a, stride(a, 1), &p.b))
    return std::nullopt;
  if (has_matrix && rows.count > 1 && rows.c < columns) return std::nullopt;
  if (columns > 1 && stride(d, 1) != 1) return std::nullopt;
  if (rows.count > 1 && rows.d < columns) return std::nullopt;
  p.d = {columns, rows.count, rows.count == 1 ? columns : rows.d, batch.strides[kD], false};
  p.c = has_matrix ? Matrix{columns, rows.count, rows.count == 1 ? columns : rows.c, batch.strides[kC], false} : p.d;
  p.a.batch_offset = batch.strides[kA];
  p.b.batch_offset = batch.strides[kB];
  p.batch = static_cast<std::int32_t>(batch.size);
  p.calls = std::move(*calls);
  if (!has_valid_size(p.a) || !has_valid_size(p.b) || !has_valid_size(p.c) || !has_valid_size(p.d)) return std::nullopt;
  return p;
}

}  // namespace tern::gpu
