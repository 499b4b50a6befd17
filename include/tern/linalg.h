// Linear algebra on batches of matrices with the CPU's kernels, without an archive.
//
//   const tern::Tensor factor = tern::linalg::cholesky(a);                    // a: float64 [1000, 8, 8]
//   const tern::Tensor x = tern::linalg::cholesky_solve(factor, b);           // b: float64 [1000, 8, 3]
//   const auto [values, vectors] = tern::linalg::eigh(a, {.upper = true});
//
// Functions, options and defaults have the meaning of torch.linalg. Sessions use the same kernels. The LAPACK routines
// named below do large matrices; Tern's own loops do small matrices, with results of the same conventions
// (docs/design_cpu.md, "Definitions and native kernels").
//
// Shapes: the last two axes are matrices, all axes before them ([...]) the batch. A batch may have no axes or no
// matrices; matrices may have no rows or columns. At most 16 axes.
// Types: float32, float64, complex64 or complex128, one for all operands of a call. "Real" below is the type of real
// parts: float32 for complex64.
// Memory: results are contiguous and own their memory. Operands may be strided; calls neither change nor keep operands.
// A thread caches the plans of its last sixteen kinds of calls (function, options, type, sizes, strides): some kB,
// without elements.
// Threads: any number of threads may call at the same time, on the same operands too. `threads` is the number of
// threads of a call; 0: as many as OpenMP reports (omp_set_num_threads, OMP_NUM_THREADS, else all cores). A call does
// not change OpenMP's setting.
// Errors: tern::Error. invalid_argument where types or sizes do not fit. runtime for a matrix without a solution: the
// message names the first such matrix of the batch. Functions named *_ex instead store a number for each matrix in
// `info` (int32 [...], 0: all is well), and the other matrices of the batch have their results. out_of_memory: an
// allocation failed.
// Bits: a matrix alone and the same matrix in a batch may differ in the last bits, because other loops compute batches
// of small matrices. Runs of archives with `reproducible` give both the same bits (docs/reproducible.md).
#pragma once

#include <tern/api.h>
#include <tern/tensor.h>

#include <cstdint>
#include <limits>

namespace tern::linalg {

struct Options {
  int threads = 0;
};

/// Use of a matrix operand. The numbers stay.
enum class Transpose : std::uint8_t { none = 0, transpose = 1, adjoint = 2 };

// Cholesky

struct TriangleOptions {
  bool upper = false;  ///< use the upper triangle, not the lower
  int threads = 0;
};
struct CholeskyResult {
  Tensor factor;  ///< [..., n, n]
  Tensor info;    ///< k > 0: the leading minor of order k is not positive definite, and `factor` is undefined
};
/// L of A = L L^H, or with `upper` the factor U of A = U^H U. A [..., n, n] is hermitian and positive definite; only
/// the selected triangle is read. The other triangle of the result is zero. LAPACK's potrf.
TERN_API Tensor cholesky(const Tensor& a, const TriangleOptions& options = {});
TERN_API CholeskyResult cholesky_ex(const Tensor& a, const TriangleOptions& options = {});
/// X of A X = B, from cholesky's factor of A [..., n, n]; B [..., n, k]. Batches broadcast. LAPACK's potrs.
TERN_API Tensor cholesky_solve(const Tensor& factor, const Tensor& b, const TriangleOptions& options = {});

struct UpdateOptions {
  bool upper = false;     ///< the factor is upper triangular
  bool downdate = false;  ///< subtract x x^H
  int threads = 0;
};
/// The factor of A + x x^H, or of A - x x^H with `downdate`, from cholesky's factor of A [..., n, n]; x [..., n], of
/// equal batch. Throws if the result is not positive definite; in _ex, `info` k > 0 is the failed row. LINPACK's chud
/// and chdd.
TERN_API Tensor cholesky_update(const Tensor& factor, const Tensor& x, const UpdateOptions& options = {});
TERN_API CholeskyResult cholesky_update_ex(const Tensor& factor, const Tensor& x, const UpdateOptions& options = {});

// LU

struct LuFactors {
  Tensor lu;      ///< [..., m, n]: U, and below its diagonal L without its unit diagonal
  Tensor pivots;  ///< int32 [..., min(m, n)]: row i was swapped with row pivots[i], counted from 1, in this order
  Tensor info;    ///< k > 0: U[k, k], counted from 1, is zero; the factors are right, but solve nothing
};
/// P L U = A [..., m, n], with partial pivoting. Throws for singular matrices. LAPACK's getrf.
TERN_API LuFactors lu_factor(const Tensor& a, const Options& options = {});
TERN_API LuFactors lu_factor_ex(const Tensor& a, const Options& options = {});

struct LuSolveOptions {
  bool left = true;  ///< op(A) X = B with B [..., n, k]; else X op(A) = B with B [..., k, n]
  Transpose transpose = Transpose::none;
  int threads = 0;
};
/// X of op(A) X = B, from lu_factor's factors of square matrices. Batches broadcast. Singular matrices give infinities
/// or NaN. LAPACK's getrs.
TERN_API Tensor lu_solve(const LuFactors& factors, const Tensor& b, const LuSolveOptions& options = {});

struct LuResult {
  Tensor p;  ///< [..., m, m]: a permutation of rows
  Tensor l;  ///< [..., m, k], k = min(m, n), with a unit diagonal
  Tensor u;  ///< [..., k, n]
};
/// P L U = A [..., m, n], as three matrices, also for singular A. Calls lu_factor.
TERN_API LuResult lu(const Tensor& a, const Options& options = {});

// LDL

struct LdlOptions {
  bool hermitian = false;  ///< A = L D L^H; else A = L D L^T. The same for real matrices
  int threads = 0;
};
struct LdlFactors {
  Tensor ld;      ///< [..., n, n]: D with blocks of one or two rows, and below them L without its unit blocks
  Tensor pivots;  ///< int32 [..., n], LAPACK's convention: negative in pairs for blocks of two
  Tensor info;    ///< k > 0: D[k, k], counted from 1, is zero; the factors are right, but solve nothing
};
/// Factors of A [..., n, n], symmetric or hermitian, not necessarily definite; only the lower triangle of A is read
/// (Bunch and Kaufman, 1977). ldl_factor throws where `info` is not 0. LAPACK's sytrf and hetrf.
TERN_API LdlFactors ldl_factor(const Tensor& a, const LdlOptions& options = {});
TERN_API LdlFactors ldl_factor_ex(const Tensor& a, const LdlOptions& options = {});
/// X of A X = B [..., n, k], from ldl_factor's factors, with the same `hermitian`. Batches broadcast. LAPACK's sytrs
/// and hetrs.
TERN_API Tensor ldl_solve(const LdlFactors& factors, const Tensor& b, const LdlOptions& options = {});

// Systems of equations

struct SolveOptions {
  bool left = true;  ///< A X = B; else X A = B
  int threads = 0;
};
struct SolveResult {
  Tensor x;
  Tensor info;  ///< see LuFactors; infinities or NaN in `x` if `info` is not 0
};
/// X of A X = B. A [..., n, n]; B [..., n, k], or [..., k, n] if not `left`; batches broadcast. B holds a vector for
/// each matrix, and so does X, if B is [n] or has exactly the sizes of A without the last axis. Calls lu_factor and
/// lu_solve.
TERN_API Tensor solve(const Tensor& a, const Tensor& b, const SolveOptions& options = {});
TERN_API SolveResult solve_ex(const Tensor& a, const Tensor& b, const SolveOptions& options = {});

struct InverseResult {
  Tensor inverse;  ///< infinities or NaN if `info` is not 0
  Tensor info;     ///< see LuFactors
};
/// A^-1 of A [..., n, n]. Calls lu_factor and lu_solve. `solve` is faster and more exact for equations.
TERN_API Tensor inv(const Tensor& a, const Options& options = {});
TERN_API InverseResult inv_ex(const Tensor& a, const Options& options = {});

struct TriangularOptions {
  bool upper = false;          ///< A is upper triangular, not lower
  bool left = true;            ///< op(A) X = B with B [..., n, k]; else X op(A) = B with B [..., k, n]
  bool unitriangular = false;  ///< the diagonal counts as ones, and is not read
  Transpose transpose = Transpose::none;
  int threads = 0;
};
/// X with A [..., n, n] triangular; the other triangle is not read. Batches broadcast. A zero on the diagonal gives
/// infinities or NaN. BLAS's trsm.
TERN_API Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options = {});

/// X of A X = B [..., n, k], A tridiagonal with `diagonal` [..., n], `lower` and `upper` [..., n - 1]; of equal batches
/// and types. Partial pivoting. A singular matrix throws; in _ex, `info` k > 0 is the row of a zero pivot, and X has
/// infinities or NaN. LAPACK's gtsv.
TERN_API Tensor tridiagonal_solve(const Tensor& lower, const Tensor& diagonal, const Tensor& upper, const Tensor& b,
                                  const Options& options = {});
TERN_API SolveResult tridiagonal_solve_ex(const Tensor& lower, const Tensor& diagonal, const Tensor& upper,
                                          const Tensor& b, const Options& options = {});

/// X of A X = B [..., n, k], A [n, n] given by its diagonals: `bands` [..., d, n] has A[i, j] in row d - 1 - `below` +
/// i - j of column j, `below` diagonals under the main one, and ignored elements elsewhere (LAPACK's and SciPy's
/// layout). Batches are equal. Partial pivoting. In _ex, `info` k > 0 is the row of a zero pivot, and -1 stands for
/// NaN, infinities or a solution beyond the range of the type; X is NaN then. LAPACK's gbsv.
TERN_API Tensor banded_solve(const Tensor& bands, std::int64_t below, const Tensor& b, const Options& options = {});
TERN_API SolveResult banded_solve_ex(const Tensor& bands, std::int64_t below, const Tensor& b,
                                     const Options& options = {});
/// The same for hermitian positive definite A: `bands` [..., d, n] has A[i, j] of the lower triangle in row i - j, or
/// with `upper` of the upper triangle in row d - 1 + i - j, of column j. In _ex, `info` k > 0: the leading minor of
/// order k is not positive definite. LAPACK's pbsv.
TERN_API Tensor banded_cholesky_solve(const Tensor& bands, const Tensor& b, const TriangleOptions& options = {});
TERN_API SolveResult banded_cholesky_solve_ex(const Tensor& bands, const Tensor& b,
                                              const TriangleOptions& options = {});

/// X of A X = B [..., n, k], A[i, j] = `column`[i - j] for i >= j, and `row`[j - i] above the diagonal; `column` and
/// `row` [..., n] of equal batch, row[0] is ignored. Levinson's recursion (Levinson, 1947; Zohar, 1969) with
/// refinement, n^2 operations; LU factors of the whole matrix, where the residual stays large. In _ex, `info` is 1 for
/// NaN or infinities, 3 for singular A.
TERN_API Tensor toeplitz_solve(const Tensor& column, const Tensor& row, const Tensor& b, const Options& options = {});
TERN_API SolveResult toeplitz_solve_ex(const Tensor& column, const Tensor& row, const Tensor& b,
                                       const Options& options = {});

/// LAPACK's drivers for least squares. The numbers stay.
enum class LstsqDriver : std::uint8_t {
  gels = 0,   ///< QR; A must have full rank (not checked)
  gelsy = 1,  ///< QR with pivoting
  gelsd = 2,  ///< singular values, divide and conquer
  gelss = 3,  ///< singular values
};
struct LstsqOptions {
  LstsqDriver driver = LstsqDriver::gelsy;
  double rcond = -1;  ///< singular values up to rcond times the largest count as zero; negative: epsilon max(m, n)
  int threads = 0;
};
struct LstsqResult {
  Tensor x;          ///< [..., n, k], or [..., n] for vectors
  Tensor residuals;  ///< real [..., k], or [...] for vectors: squared length of each column of A X - B, NaN if A has
                     ///< less than full rank; [0] with gelsy or m <= n
  Tensor rank;       ///< int64 [...]; [0] with gels
  Tensor values;     ///< singular values of A, real [..., min(m, n)]; [0] with gels and gelsy
};
/// X with the least |A X - B|, and the least |X| among these. A [..., m, n], B [..., m, k] or vectors as in `solve`;
/// batches are equal.
TERN_API LstsqResult lstsq(const Tensor& a, const Tensor& b, const LstsqOptions& options = {});

// Determinants

/// The determinant of A [..., n, n], [...]: the product of U's diagonal, from lu_factor. 0 for singular matrices.
TERN_API Tensor det(const Tensor& a, const Options& options = {});
struct SlogdetResult {
  Tensor sign;       ///< [...]: a number of size 1; 0 for singular matrices
  Tensor logabsdet;  ///< real [...]: -infinity for singular matrices
};
/// det(A) = sign exp(logabsdet), for determinants too large or too small for their type.
TERN_API SlogdetResult slogdet(const Tensor& a, const Options& options = {});

// QR

enum class QrMode : std::uint8_t {
  reduced = 0,   ///< Q [..., m, k], R [..., k, n], k = min(m, n)
  complete = 1,  ///< Q [..., m, m], R [..., m, n]
  r = 2,         ///< Q [0], R [..., k, n]
};
struct QrOptions {
  QrMode mode = QrMode::reduced;
  int threads = 0;
};
struct QrResult {
  Tensor q, r;
};
/// Q R = A [..., m, n] with orthonormal columns of Q, and R upper triangular. The diagonal of R may be negative.
/// LAPACK's geqrf and orgqr.
TERN_API QrResult qr(const Tensor& a, const QrOptions& options = {});

/// Factors of A + u v^H, from qr's factors of A: Q [..., m, m] and R [..., m, n], or Q [..., m, n] and R [..., n, n];
/// u [..., m], v [..., n] of equal batch. 12 (m + n) min(m, n) operations or fewer (Golub and Van Loan, Matrix
/// Computations, 2013, 6.5.1). SciPy's qr_update.
TERN_API QrResult qr_update(const QrResult& factors, const Tensor& u, const Tensor& v, const Options& options = {});

struct QrReflectors {
  Tensor a;    ///< [..., m, n]: R, and below its diagonal the vectors of householder_product
  Tensor tau;  ///< [..., min(m, n)]
};
/// Q R = A [..., m, n], with Q as reflections. LAPACK's geqrf.
TERN_API QrReflectors geqrf(const Tensor& a, const Options& options = {});
struct OrmqrOptions {
  bool left = true;      ///< op(Q) C; else C op(Q)
  bool adjoint = false;  ///< op(Q) = Q^H; else Q
  int threads = 0;
};
/// The product of Q [..., m, m], given by geqrf's reflections, and C, of equal batch, without forming Q. LAPACK's
/// ormqr.
TERN_API Tensor ormqr(const QrReflectors& factors, const Tensor& c, const OrmqrOptions& options = {});

/// The first n columns of H_1 .. H_k, with H_i = 1 - tau[i] v v^H; v is column i of A [..., m, n], m >= n >= k, below
/// the diagonal, with a 1 on the diagonal; tau [..., k]. LAPACK's orgqr.
TERN_API Tensor householder_product(const Tensor& a, const Tensor& tau, const Options& options = {});

// Eigenvalues and singular values. Matrices with NaN or infinities are runtime errors. The functions named *_ex store
// `info` instead (int32 [...]): 0; 1 for NaN or infinities; 2 for an iteration without convergence. The results of such
// a matrix are NaN.

struct ValuesExResult {
  Tensor values, info;
};

struct EighResult {
  Tensor values;   ///< real [..., n], ascending
  Tensor vectors;  ///< [..., n, n]: orthonormal columns
};
/// A V = V diag(values). A [..., n, n] is hermitian; only its lower triangle is read, or with `upper` only its upper
/// triangle. Signs of vectors, and vectors of equal eigenvalues, are arbitrary. LAPACK's syevd and heevd.
TERN_API EighResult eigh(const Tensor& a, const TriangleOptions& options = {});
TERN_API Tensor eigvalsh(const Tensor& a, const TriangleOptions& options = {});
struct EighExResult {
  Tensor values, vectors, info;
};
TERN_API EighExResult eigh_ex(const Tensor& a, const TriangleOptions& options = {});
TERN_API ValuesExResult eigvalsh_ex(const Tensor& a, const TriangleOptions& options = {});

/// A V = B V diag(values) with V^H B V = 1. A and B [..., n, n] are hermitian, and B is positive definite; only their
/// lower triangles are read, or with `upper` the upper triangles. Batches are equal. Calls cholesky, triangular_solve
/// and eigh: errors grow with the condition of B. LAPACK's sygvd and hegvd.
TERN_API EighResult eigh_generalized(const Tensor& a, const Tensor& b, const TriangleOptions& options = {});

struct EighRangeOptions {
  std::int64_t first = 0, last = -1;  ///< numbers of the first and last eigenvalue; negative: from the end, -1 the last
  double low = -std::numeric_limits<double>::infinity();  ///< values in (low, high]
  double high = std::numeric_limits<double>::infinity();
  bool upper = false;  ///< use the upper triangle, not the lower
  int threads = 0;
};
struct EighRangeResult {
  Tensor values;   ///< real [..., k], ascending; k is the largest number of selected eigenvalues of a matrix, and NaN
                   ///< fill the values and vectors of a matrix with fewer
  Tensor vectors;  ///< [..., n, k]: orthonormal columns
  Tensor counts;   ///< int32 [...]: selected eigenvalues
};
struct EighRangeExResult {
  Tensor values, vectors, counts, info;
};
/// eigh of the eigenvalues with numbers first .. last that lie in (low, high]. LAPACK's syevr and heevr select among 65
/// or more rows, and compute in float64 and complex128; all eigenvalues are computed otherwise.
TERN_API EighRangeResult eigh_range(const Tensor& a, const EighRangeOptions& options = {});
TERN_API EighRangeExResult eigh_range_ex(const Tensor& a, const EighRangeOptions& options = {});
/// The same for real symmetric tridiagonal matrices: `diagonal` [..., n], `beside` [..., n - 1], of float32 or float64.
/// `upper` has no effect. LAPACK's stevr.
TERN_API EighRangeResult eigh_tridiagonal(const Tensor& diagonal, const Tensor& beside,
                                          const EighRangeOptions& options = {});
TERN_API EighRangeExResult eigh_tridiagonal_ex(const Tensor& diagonal, const Tensor& beside,
                                               const EighRangeOptions& options = {});

struct EigResult {
  Tensor values;   ///< complex [..., n], unordered
  Tensor vectors;  ///< complex [..., n, n]: columns of length 1
};
/// A V = V diag(values) of any A [..., n, n]. Results are complex even for real matrices. LAPACK's geev.
TERN_API EigResult eig(const Tensor& a, const Options& options = {});
TERN_API Tensor eigvals(const Tensor& a, const Options& options = {});
struct EigExResult {
  Tensor values, vectors, info;
};
TERN_API EigExResult eig_ex(const Tensor& a, const Options& options = {});
TERN_API ValuesExResult eigvals_ex(const Tensor& a, const Options& options = {});

struct SvdOptions {
  bool full_matrices = true;  ///< U [..., m, m] and Vh [..., n, n]; else U [..., m, k] and Vh [..., k, n]
  int threads = 0;
};
struct SvdResult {
  Tensor u;
  Tensor s;  ///< real [..., k], descending, k = min(m, n)
  Tensor vh;
};
/// U diag(S) Vh = A [..., m, n], with orthonormal columns of U and rows of Vh. LAPACK's gesdd.
TERN_API SvdResult svd(const Tensor& a, const SvdOptions& options = {});
TERN_API Tensor svdvals(const Tensor& a, const Options& options = {});
struct SvdExResult {
  Tensor u, s, vh, info;
};
TERN_API SvdExResult svd_ex(const Tensor& a, const SvdOptions& options = {});
TERN_API ValuesExResult svdvals_ex(const Tensor& a, const Options& options = {});

struct PolarResult {
  Tensor u;  ///< [..., m, n]: orthonormal columns, or rows if m < n
  Tensor h;  ///< [..., n, n], hermitian and positive semidefinite
};
/// U H = A [..., m, n]. Calls svd.
TERN_API PolarResult polar(const Tensor& a, const Options& options = {});

// Schur form, functions and equations of matrices. Computed in float64 and complex128, also for operands of half their
// size. The functions named *_ex store `info`: 0; 1 for NaN or infinities; 2 for an iteration without convergence; 3
// for no solution, or one beyond the range of the type. The results of such a matrix are NaN.

struct SchurOptions {
  bool complex = false;  ///< complex results for real matrices
  int threads = 0;
};
struct SchurResult {
  Tensor t;  ///< [..., n, n]: upper triangular. Quasi-triangular for real matrices: each pair of conjugate eigenvalues
             ///< has a block of two rows with equal diagonal elements
  Tensor z;  ///< [..., n, n]: orthonormal columns
};
struct SchurExResult {
  Tensor t, z, info;
};
/// Z T Z^H = A [..., n, n], with the eigenvalues on the diagonal of T, in no order. LAPACK's gees.
TERN_API SchurResult schur(const Tensor& a, const SchurOptions& options = {});
TERN_API SchurExResult schur_ex(const Tensor& a, const SchurOptions& options = {});

struct MatrixFunctionExResult {
  Tensor result, info;
};
/// X of X X = A [..., n, n], with eigenvalues of positive real part or on the positive imaginary axis: the principal
/// square root (Bjorck and Hammarling, 1983; Higham, Functions of Matrices, 2008). Real matrices with a negative
/// eigenvalue have no real X: `complex` gives them a complex one. Some singular matrices have no root.
TERN_API Tensor matrix_sqrt(const Tensor& a, const SchurOptions& options = {});
TERN_API MatrixFunctionExResult matrix_sqrt_ex(const Tensor& a, const SchurOptions& options = {});
/// X of exp(X) = A [..., n, n], with imaginary parts of eigenvalues in (-pi, pi]: the principal logarithm (Al-Mohy and
/// Higham, 2012). Real matrices with a negative eigenvalue need `complex`; singular matrices have no logarithm.
TERN_API Tensor matrix_log(const Tensor& a, const SchurOptions& options = {});
TERN_API MatrixFunctionExResult matrix_log_ex(const Tensor& a, const SchurOptions& options = {});

/// X of A X + X B = Q; A [..., m, m], B [..., n, n], Q [..., m, n] of equal batches (Bartels and Stewart, 1972). No
/// solution if A and -B have a common eigenvalue. LAPACK's gees and trsyl.
TERN_API Tensor sylvester(const Tensor& a, const Tensor& b, const Tensor& q, const Options& options = {});
TERN_API SolveResult sylvester_ex(const Tensor& a, const Tensor& b, const Tensor& q, const Options& options = {});

struct LyapunovOptions {
  bool discrete = false;  ///< A X A^H - X + Q = 0; else A X + X A^H = Q
  int threads = 0;
};
/// X of Lyapunov's equation, with the signs of SciPy; A and Q [..., n, n] of equal batches. No solution if a + conj(b)
/// is 0 (`discrete`: a conj(b) is 1) for two eigenvalues a and b of A.
TERN_API Tensor lyapunov(const Tensor& a, const Tensor& q, const LyapunovOptions& options = {});
TERN_API SolveResult lyapunov_ex(const Tensor& a, const Tensor& q, const LyapunovOptions& options = {});

struct ToleranceOptions {
  bool hermitian = false;  ///< A is hermitian; reads the lower triangle and calls eigh instead of svd
  double atol = 0;         ///< singular values up to max(atol, rtol * the largest) count as zero
  double rtol = -1;        ///< negative: epsilon max(m, n), or 0 if atol is positive
  int threads = 0;
};
/// The pseudoinverse [..., n, m] of A [..., m, n] (Moore, 1920; Penrose, 1955).
TERN_API Tensor pinv(const Tensor& a, const ToleranceOptions& options = {});
/// Number of singular values not counting as zero: int64 [...].
TERN_API Tensor matrix_rank(const Tensor& a, const ToleranceOptions& options = {});

/// The sum of A^k / k! of A [..., n, n]: a Pade approximant of A / 2^s, squared s times; norm and type choose s and the
/// degree (Higham, 2005).
TERN_API Tensor matrix_exp(const Tensor& a, const Options& options = {});

}  // namespace tern::linalg
