// Factorizations, solvers, spectra and Fourier transforms of matrices [..., m, n].
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr Attribute kUpper = flag(AttrKey::upper, "the upper triangle, not the lower one");
inline constexpr Attribute kCheck = flag(AttrKey::check, "a matrix that cannot be factored fails the run");
inline constexpr Attribute kHermitian = flag(AttrKey::hermitian, "a is hermitian, not symmetric");
inline constexpr Attribute kLeft = flag(AttrKey::left, "the matrix stands to the left");
inline constexpr Attribute kTranspose = with(AttrKey::transpose, kTransposeNames, 0, "how the matrix enters");

inline constexpr AttrRecord kFft[] = {
    need(AttrKey::kind, kFftNames, "of the operand and the result"),
    may(AttrKey::axes, AttrType::axes, "no axes", "that are transformed"),
    flag(AttrKey::forward, "exp(-2 pi i j k / n), not exp(2 pi i j k / n)"),
    with(AttrKey::norm, kFftNormNames, 0, "what sums are divided by"),
    may(AttrKey::length, AttrType::dim, "not complex_to_real", "complex_to_real: size of the last axis").at_least(1),
};
inline constexpr AttrRecord kCholesky[] = {kUpper, kCheck};
inline constexpr AttrRecord kQr[] = {need(AttrKey::mode, kQrNames, "which results")};
inline constexpr AttrRecord kHouseholder[] = {need(AttrKey::kind, kHouseholderNames, "the product, or times c"), kLeft,
                                              kTranspose};
inline constexpr AttrRecord kEigh[] = {kUpper};
inline constexpr AttrRecord kSvd[] = {flag(AttrKey::full, "u and vh are square")};
inline constexpr AttrRecord kLuFactor[] = {kCheck};
inline constexpr AttrRecord kLuSolve[] = {kLeft, kTranspose};
inline constexpr AttrRecord kTriangularSolve[] = {kUpper, flag(AttrKey::unit, "the diagonal is taken as ones"), kLeft,
                                                  kTranspose};
inline constexpr AttrRecord kLdlFactor[] = {kHermitian, kCheck};
inline constexpr AttrRecord kLdlSolve[] = {kHermitian};
inline constexpr AttrRecord kLstsq[] = {
    need(AttrKey::mode, kLstsqNames, "LAPACK's driver"),
    with_number(AttrKey::epsilon, -1, "singular values below that part of the largest are zero; negative: LAPACK's"),
};

inline constexpr OpRecord kLinalg[] = {
    record(Op::fft, "x -> y", "discrete Fourier transform along axes").attrs(kFft),
    record(Op::cholesky, "a -> l, info", "a = l l^H, or l^H l if upper").attrs(kCholesky),
    record(Op::qr, "a -> q, r", "a = q r, or LAPACK's geqrf").attrs(kQr),
    record(Op::householder, "v, tau, c? -> y", "a product of Householder reflections").attrs(kHouseholder),
    record(Op::eigh, "a -> values, vectors", "eigenvalues, rising, of hermitian matrices").attrs(kEigh),
    record(Op::eig, "a -> values, vectors", "eigenvalues of square matrices, complex"),
    record(Op::svd, "a -> u, s, vh", "a = u diag(s) vh, s falling").attrs(kSvd),
    record(Op::lu_factor, "a -> lu, pivots, info", "a = P L U").attrs(kLuFactor),
    record(Op::lu_solve, "lu, pivots, b -> x", "a x = b, or x a = b, by lu_factor").attrs(kLuSolve),
    record(Op::triangular_solve, "a, b -> x", "a x = b, or x a = b, with a triangular").attrs(kTriangularSolve),
    record(Op::ldl_factor, "a -> ld, pivots, info", "factors of Bunch and Kaufman, as LAPACK's sytrf and hetrf")
        .attrs(kLdlFactor),
    record(Op::ldl_solve, "ld, pivots, b -> x", "a x = b, by ldl_factor").attrs(kLdlSolve),
    record(Op::lstsq, "a, b -> x, residuals, rank, values", "x of least |a x - b|, and of least |x| among those")
        .attrs(kLstsq),
    record(Op::matrix_exp, "a -> y", "the sum of a^k / k!"),
};

}  // namespace tern::ops
