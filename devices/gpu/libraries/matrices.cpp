#include "devices/gpu/libraries/matrices.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "devices/gpu/libraries/attributes.h"

namespace tern::gpu {
namespace {

constexpr struct {
  const char* op;
  Factorization kind;
} kKinds[] = {
    {"cholesky", Factorization::cholesky}, {"eigh", Factorization::eigh},
    {"lu_factor", Factorization::lu},      {"qr", Factorization::qr},
    {"svd", Factorization::svd},
};

constexpr struct {
  int dtype;  ///< tern/dtype.h
  LapackScalar type;
} kLapackTypes[] = {{12, LapackScalar::s}, {13, LapackScalar::d}, {15, LapackScalar::c}, {16, LapackScalar::z}};

constexpr std::int64_t kMaxSide = 1 << 15;  // limit, so that a matrix's element count fits an int

bool has_output(const tern_device_op& op, int output) {
  return output < op.output_count && op.outputs[output].dtype != 0;
}

}  // namespace

std::optional<MatrixBatch> matrices_of(const tern_device_op& op) {
  const auto* kind = std::ranges::find_if(kKinds, [&](const auto& k) { return std::strcmp(k.op, op.name) == 0; });
  if (kind == std::end(kKinds)) return std::nullopt;
  const tern_device_tensor& a = op.inputs[0];
  const auto* type = std::ranges::find_if(kLapackTypes, [&](const auto& t) { return t.dtype == a.dtype; });
  if (type == std::end(kLapackTypes) || a.rank < 2) return std::nullopt;
  MatrixBatch m;
  m.kind = kind->kind;
  m.type = type->type;
  const std::int64_t rows = a.sizes[a.rank - 2], columns = a.sizes[a.rank - 1];
  m.count = 1;
  for (int i = 0; i < a.rank - 2; ++i) m.count *= a.sizes[i];
  if (m.count == 0 || std::min(rows, columns) == 0 || std::max(rows, columns) > kMaxSide) return std::nullopt;
  m.rows = static_cast<int>(rows);
  m.columns = static_cast<int>(columns);
  m.upper = integer_of(op, "upper", 0) != 0;
  m.is_full = integer_of(op, "full", 0) != 0;
  if (m.kind == Factorization::eigh) m.has_vectors = has_output(op, 1);
  if (m.kind == Factorization::svd) m.has_vectors = has_output(op, 0) || has_output(op, 2);
  if (m.kind == Factorization::qr && has_output(op, 0)) {
    const tern_device_tensor& q = op.outputs[0];
    m.has_vectors = op.outputs[1].rank == a.rank && q.rank == a.rank;  // excludes modes `reflectors` and `r`
    m.q_columns = m.has_vectors ? static_cast<int>(q.sizes[a.rank - 1]) : 0;
  }
  return m;
}

}  // namespace tern::gpu
