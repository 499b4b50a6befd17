// Rules of spectral ops: eigenvalues, singular values, the matrix exponential, Fourier transforms.
#include "schema/infer/checks.h"
#include "schema/infer/matrices.h"
#include "schema/linalg_kinds.h"
#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

// A [..., n, n], hermitian, read in its lower triangle (upper triangle with `upper`) -> eigenvalues [..., n] (real,
// rising), eigenvectors [..., n, n] (orthonormal columns). A matrix with NaN or infinities fails the run.
void eigh(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  c.out(real_part(a.dtype), shape_of(a.batch, {a.rows}));
  c.out(a.dtype, shape_of(a.batch, {a.rows, a.columns}));
}

// A [..., n, n] -> eigenvalues [..., n], eigenvectors [..., n, n] (columns of length 1), both complex.
void eig(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  c.out(complex_of(a.dtype), shape_of(a.batch, {a.rows}));
  c.out(complex_of(a.dtype), shape_of(a.batch, {a.rows, a.columns}));
}

// A [..., m, n] -> U, S, Vh with A = U diag(S) Vh; S [..., k] real and falling, k = min(m, n). U [..., m, k] and
// Vh [..., k, n], or with `full` U [..., m, m] and Vh [..., n, n].
void svd(Inference& c) {
  const Matrices a = matrices(c, 0);
  const bool full = c.flag(AttrKey::full);
  const Dim k = c.pool.min(a.rows, a.columns);
  c.out(a.dtype, shape_of(a.batch, {a.rows, full ? a.rows : k}));
  c.out(real_part(a.dtype), shape_of(a.batch, {k}));
  c.out(a.dtype, shape_of(a.batch, {full ? a.columns : k, a.columns}));
}

// A [..., n, n] -> the sum of A^k / k!, [..., n, n].
void matrix_exp(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  c.out(a.dtype, shape_of(a.batch, {a.rows, a.columns}));
}

// Discrete Fourier transform along `axes`: y[k] = sum x[j] exp(-2 pi i j k / n) with `forward`, else with the other
// sign, divided according to `norm` (FftNorm) with n = number of elements of the transform. `kind` (FftKind):
// complex_to_complex: x complex -> the same shape. real_to_complex: x real -> complex; the last of `axes` has the first
// n / 2 + 1 elements of the spectrum. complex_to_real: x complex -> real; the last of `axes` has size `length` and is
// read as the first half of a hermitian spectrum: length / 2 + 1 elements.
void fft(Inference& c) {
  const auto kind = static_cast<FftKind>(c.integer(AttrKey::kind));
  const TensorType& x = plain(c, 0);
  const bool real = kind == FftKind::real_to_complex;
  c.require(real ? x.dtype == DType::f32 || x.dtype == DType::f64 : x.dtype == DType::c64 || x.dtype == DType::c128,
            real ? "needs float32 or float64" : "needs complex64 or complex128");
  const std::vector<std::size_t> axes = c.axes(AttrKey::axes, x.rank());
  Dims shape = x.shape;
  for (std::size_t a : axes) c.require(c.pool.bounds(shape[a]).max >= 1, "a transform needs at least one element");
  if (kind == FftKind::complex_to_complex) return c.out(x.dtype, std::move(shape));
  c.require(!axes.empty(), "needs an axis");
  Dim& last = shape[axes.back()];
  if (real) {
    last = c.pool.add(c.pool.floordiv(last, 2), 1);
    return c.out(complex_of(x.dtype), std::move(shape));
  }
  const Dim length = c.list(AttrKey::length, 1)[0];
  c.require(c.pool.bounds(length).max >= 1, "attribute 'length' must be at least 1");
  c.require_equal(last, c.pool.add(c.pool.floordiv(length, 2), 1), "the size of the half spectrum");
  last = length;
  c.out(real_part(x.dtype), std::move(shape));
}

constexpr AttrRecord kFft[] = {
    required(AttrKey::kind, kFftNames, "of the operand and the result"),
    optional_attribute(AttrKey::axes, AttrType::axes, "no axes", "that are transformed"),
    flag(AttrKey::forward, "exp(-2 pi i j k / n), not exp(2 pi i j k / n)"),
    defaulted(AttrKey::norm, kFftNormNames, 0, "the divisor of sums"),
    optional_attribute(AttrKey::length, AttrType::dim, "not complex_to_real", "complex_to_real: size of the last axis")
        .minimum(1),
};
constexpr AttrRecord kEigh[] = {kUpperTriangle};
constexpr AttrRecord kSvd[] = {flag(AttrKey::full, "u and vh are square")};

constexpr OpRecord kSpectralOps[] = {
    TERN_OP(80, fft, "x -> y", "discrete Fourier transform along axes").attrs(kFft).costs(fft_operations).rule(fft),
    TERN_OP(84, eigh, "a -> values, vectors", "eigenvalues, rising, of hermitian matrices").attrs(kEigh).rule(eigh),
    TERN_OP(85, eig, "a -> values, vectors", "eigenvalues of square matrices, complex").rule(eig),
    TERN_OP(86, svd, "a -> u, s, vh", "a = u diag(s) vh, s falling").attrs(kSvd).rule(svd),
    TERN_OP(93, matrix_exp, "a -> y", "the sum of a^k / k!").rule(matrix_exp),
};

}  // namespace

std::span<const OpRecord> spectral_ops() {
  return kSpectralOps;
}

}  // namespace tern::ops
