"""Linear algebra on batches of matrices, without an archive: factor, solve and decompose with the CPU's kernels.

    from tern import linalg

    values, vectors = linalg.eigh(a)          # a: float64 [1000, 8, 8], a NumPy array, torch tensor or DLPack object
    x = linalg.solve(a, b).numpy()

Operands are arrays of float32, float64, complex64 or complex128; the last two axes are matrices, the axes before them
the batch. Results are tern.Tensor: numpy.asarray(t), torch.from_dlpack(t). Names, options and defaults have the meaning
of torch.linalg unless a docstring says more. `threads`: number of threads of the call; 0: as many as OpenMP reports.
A matrix without a solution raises tern.RunError, which names the first such matrix of the batch; functions named *_ex
store a number for each matrix in `info` instead (0: all is well), and the other matrices keep their results.
docs/linalg.md maps the names of LAPACK, Eigen and torch.linalg.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tern._tern import Tensor, _linalg

_TRANSPOSES = {"none": 0, "transpose": 1, "adjoint": 2}
_MODES = {"reduced": 0, "complete": 1, "r": 2}
_DRIVERS = {"gels": 0, "gelsy": 1, "gelsd": 2, "gelss": 3}


def _number_of(names: dict[str, int], name: str, option: str) -> int:
    if name not in names:
        from tern._errors import InvalidArgument

        raise InvalidArgument(f"tern.linalg: {option} is {', '.join(map(repr, names))}, not {name!r}")
    return names[name]


class FactorInfo(NamedTuple):
    factor: Tensor
    info: Tensor  #: k > 0: the leading minor of order k is not positive definite


class LuFactors(NamedTuple):
    lu: Tensor
    pivots: Tensor  #: int32: row i was swapped with row pivots[i], counted from 1
    info: Tensor  #: k > 0: U[k, k], counted from 1, is zero


class LuResult(NamedTuple):
    p: Tensor
    l: Tensor
    u: Tensor


class LdlFactors(NamedTuple):
    ld: Tensor
    pivots: Tensor
    info: Tensor  #: k > 0: D[k, k], counted from 1, is zero


class SolveInfo(NamedTuple):
    x: Tensor
    info: Tensor


class InverseInfo(NamedTuple):
    inverse: Tensor
    info: Tensor


class LstsqResult(NamedTuple):
    x: Tensor
    residuals: Tensor
    rank: Tensor
    values: Tensor  #: singular values, of gelsd and gelss


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class QrResult(NamedTuple):
    q: Tensor
    r: Tensor


class EigResult(NamedTuple):
    values: Tensor
    vectors: Tensor


class EigInfo(NamedTuple):
    values: Tensor
    vectors: Tensor
    info: Tensor  #: 1: NaN or infinities; 2: no convergence


class ValuesInfo(NamedTuple):
    values: Tensor
    info: Tensor  #: 1: NaN or infinities; 2: no convergence


class SvdResult(NamedTuple):
    u: Tensor
    s: Tensor
    vh: Tensor


class PolarResult(NamedTuple):
    u: Tensor
    h: Tensor


class EighRangeResult(NamedTuple):
    values: Tensor
    vectors: Tensor
    counts: Tensor  #: int32: selected eigenvalues; NaN follow in matrices with fewer than others


class EighRangeInfo(NamedTuple):
    values: Tensor
    vectors: Tensor
    counts: Tensor
    info: Tensor  #: 1: NaN or infinities; 2: no convergence


class QrReflectors(NamedTuple):
    a: Tensor  #: R, and below its diagonal the vectors of the reflections
    tau: Tensor


class SchurResult(NamedTuple):
    t: Tensor
    z: Tensor


class SchurInfo(NamedTuple):
    t: Tensor
    z: Tensor
    info: Tensor  #: 1: NaN or infinities; 2: no convergence; 3: no solution


class FunctionInfo(NamedTuple):
    result: Tensor
    info: Tensor  #: 1: NaN or infinities; 2: no convergence; 3: no solution


class SvdInfo(NamedTuple):
    u: Tensor
    s: Tensor
    vh: Tensor
    info: Tensor  #: 1: NaN or infinities; 2: no convergence


def cholesky(a: Any, *, upper: bool = False, threads: int = 0) -> Tensor:
    """L of A = L L^H, or U of A = U^H U; reads only the selected triangle."""
    return _linalg("cholesky", a, upper=upper, threads=threads)[0]


def cholesky_ex(a: Any, *, upper: bool = False, threads: int = 0) -> FactorInfo:
    return FactorInfo(*_linalg("cholesky_ex", a, upper=upper, threads=threads))


def cholesky_solve(factor: Any, b: Any, *, upper: bool = False, threads: int = 0) -> Tensor:
    """X of A X = B, from cholesky's factor of A (torch.cholesky_solve has the operands in the other order)."""
    return _linalg("cholesky_solve", factor, b, upper=upper, threads=threads)[0]


def cholesky_update(factor: Any, x: Any, *, upper: bool = False, downdate: bool = False, threads: int = 0) -> Tensor:
    """The factor of A + x x^H, or of A - x x^H with `downdate`, from cholesky's factor of A."""
    return _linalg("cholesky_update", factor, x, upper=upper, downdate=downdate, threads=threads)[0]


def cholesky_update_ex(
    factor: Any, x: Any, *, upper: bool = False, downdate: bool = False, threads: int = 0
) -> FactorInfo:
    return FactorInfo(*_linalg("cholesky_update_ex", factor, x, upper=upper, downdate=downdate, threads=threads))


def lu_factor(a: Any, *, threads: int = 0) -> LuFactors:
    return LuFactors(*_linalg("lu_factor", a, threads=threads))


def lu_factor_ex(a: Any, *, threads: int = 0) -> LuFactors:
    return LuFactors(*_linalg("lu_factor_ex", a, threads=threads))


def lu_solve(
    lu: Any, pivots: Any, b: Any, *, left: bool = True, transpose: str = "none", threads: int = 0
) -> Tensor:
    """X of op(A) X = B, or X op(A) = B; `transpose`: 'none', 'transpose', 'adjoint'."""
    number = _number_of(_TRANSPOSES, transpose, "transpose")
    return _linalg("lu_solve", lu, pivots, b, left=left, transpose=number, threads=threads)[0]


def lu(a: Any, *, threads: int = 0) -> LuResult:
    """P L U = A."""
    return LuResult(*_linalg("lu", a, threads=threads))


def ldl_factor(a: Any, *, hermitian: bool = False, threads: int = 0) -> LdlFactors:
    return LdlFactors(*_linalg("ldl_factor", a, hermitian=hermitian, threads=threads))


def ldl_factor_ex(a: Any, *, hermitian: bool = False, threads: int = 0) -> LdlFactors:
    return LdlFactors(*_linalg("ldl_factor_ex", a, hermitian=hermitian, threads=threads))


def ldl_solve(ld: Any, pivots: Any, b: Any, *, hermitian: bool = False, threads: int = 0) -> Tensor:
    return _linalg("ldl_solve", ld, pivots, b, hermitian=hermitian, threads=threads)[0]


def solve(a: Any, b: Any, *, left: bool = True, threads: int = 0) -> Tensor:
    """X of A X = B, or X A = B."""
    return _linalg("solve", a, b, left=left, threads=threads)[0]


def solve_ex(a: Any, b: Any, *, left: bool = True, threads: int = 0) -> SolveInfo:
    return SolveInfo(*_linalg("solve_ex", a, b, left=left, threads=threads))


def inv(a: Any, *, threads: int = 0) -> Tensor:
    return _linalg("inv", a, threads=threads)[0]


def inv_ex(a: Any, *, threads: int = 0) -> InverseInfo:
    return InverseInfo(*_linalg("inv_ex", a, threads=threads))


def triangular_solve(
    a: Any,
    b: Any,
    *,
    upper: bool = False,
    left: bool = True,
    unitriangular: bool = False,
    transpose: str = "none",
    threads: int = 0,
) -> Tensor:
    """X of op(A) X = B, or X op(A) = B, with A triangular (torch.linalg.solve_triangular)."""
    number = _number_of(_TRANSPOSES, transpose, "transpose")
    return _linalg(
        "triangular_solve",
        a,
        b,
        upper=upper,
        left=left,
        unitriangular=unitriangular,
        transpose=number,
        threads=threads,
    )[0]


def tridiagonal_solve(lower: Any, diagonal: Any, upper: Any, b: Any, *, threads: int = 0) -> Tensor:
    """X of A X = B, with A given by its three diagonals."""
    return _linalg("tridiagonal_solve", lower, diagonal, upper, b, threads=threads)[0]


def tridiagonal_solve_ex(lower: Any, diagonal: Any, upper: Any, b: Any, *, threads: int = 0) -> SolveInfo:
    return SolveInfo(*_linalg("tridiagonal_solve_ex", lower, diagonal, upper, b, threads=threads))


def lstsq(a: Any, b: Any, *, driver: str = "gelsy", rcond: float | None = None, threads: int = 0) -> LstsqResult:
    """X with the least |A X - B|; `driver`: 'gels', 'gelsy', 'gelsd', 'gelss'."""
    number = _number_of(_DRIVERS, driver, "driver")
    cutoff = -1.0 if rcond is None else float(rcond)
    return LstsqResult(*_linalg("lstsq", a, b, driver=number, rcond=cutoff, threads=threads))


def det(a: Any, *, threads: int = 0) -> Tensor:
    return _linalg("det", a, threads=threads)[0]


def slogdet(a: Any, *, threads: int = 0) -> SlogdetResult:
    return SlogdetResult(*_linalg("slogdet", a, threads=threads))


def qr(a: Any, *, mode: str = "reduced", threads: int = 0) -> QrResult:
    """Q R = A; `mode`: 'reduced', 'complete', 'r'."""
    return QrResult(*_linalg("qr", a, mode=_number_of(_MODES, mode, "mode"), threads=threads))


def householder_product(a: Any, tau: Any, *, threads: int = 0) -> Tensor:
    return _linalg("householder_product", a, tau, threads=threads)[0]


def eigh(a: Any, *, upper: bool = False, threads: int = 0) -> EigResult:
    """Eigenvalues, ascending, and orthonormal eigenvectors of a hermitian A; reads only the selected triangle."""
    return EigResult(*_linalg("eigh", a, upper=upper, threads=threads))


def eigh_ex(a: Any, *, upper: bool = False, threads: int = 0) -> EigInfo:
    """Like eigh; NaN for a matrix without a solution, with the reason in `info`."""
    return EigInfo(*_linalg("eigh_ex", a, upper=upper, threads=threads))


def eigvalsh(a: Any, *, upper: bool = False, threads: int = 0) -> Tensor:
    return _linalg("eigvalsh", a, upper=upper, threads=threads)[0]


def eigvalsh_ex(a: Any, *, upper: bool = False, threads: int = 0) -> ValuesInfo:
    return ValuesInfo(*_linalg("eigvalsh_ex", a, upper=upper, threads=threads))


def eigh_generalized(a: Any, b: Any, *, upper: bool = False, threads: int = 0) -> EigResult:
    """A V = B V diag(values) with V^H B V = 1, for hermitian A and positive definite B."""
    return EigResult(*_linalg("eigh_generalized", a, b, upper=upper, threads=threads))


def eig(a: Any, *, threads: int = 0) -> EigResult:
    """Complex eigenvalues, unordered, and eigenvectors of length 1 of any square A."""
    return EigResult(*_linalg("eig", a, threads=threads))


def eig_ex(a: Any, *, threads: int = 0) -> EigInfo:
    """Like eig; NaN for a matrix without a solution, with the reason in `info`."""
    return EigInfo(*_linalg("eig_ex", a, threads=threads))


def eigvals(a: Any, *, threads: int = 0) -> Tensor:
    return _linalg("eigvals", a, threads=threads)[0]


def eigvals_ex(a: Any, *, threads: int = 0) -> ValuesInfo:
    return ValuesInfo(*_linalg("eigvals_ex", a, threads=threads))


def svd(a: Any, *, full_matrices: bool = True, threads: int = 0) -> SvdResult:
    """U diag(S) Vh = A, S descending."""
    return SvdResult(*_linalg("svd", a, full_matrices=full_matrices, threads=threads))


def svd_ex(a: Any, *, full_matrices: bool = True, threads: int = 0) -> SvdInfo:
    """Like svd; NaN for a matrix without a solution, with the reason in `info`."""
    return SvdInfo(*_linalg("svd_ex", a, full_matrices=full_matrices, threads=threads))


def svdvals(a: Any, *, threads: int = 0) -> Tensor:
    return _linalg("svdvals", a, threads=threads)[0]


def svdvals_ex(a: Any, *, threads: int = 0) -> ValuesInfo:
    return ValuesInfo(*_linalg("svdvals_ex", a, threads=threads))


def polar(a: Any, *, threads: int = 0) -> PolarResult:
    """U H = A, with orthonormal columns of U and a positive semidefinite H."""
    return PolarResult(*_linalg("polar", a, threads=threads))


def pinv(
    a: Any, *, hermitian: bool = False, atol: float = 0.0, rtol: float | None = None, threads: int = 0
) -> Tensor:
    """The pseudoinverse; singular values up to max(atol, rtol * the largest) count as zero."""
    relative = -1.0 if rtol is None else float(rtol)
    return _linalg("pinv", a, hermitian=hermitian, atol=float(atol), rtol=relative, threads=threads)[0]


def matrix_rank(
    a: Any, *, hermitian: bool = False, atol: float = 0.0, rtol: float | None = None, threads: int = 0
) -> Tensor:
    relative = -1.0 if rtol is None else float(rtol)
    return _linalg("matrix_rank", a, hermitian=hermitian, atol=float(atol), rtol=relative, threads=threads)[0]


def matrix_exp(a: Any, *, threads: int = 0) -> Tensor:
    return _linalg("matrix_exp", a, threads=threads)[0]


def schur(a: Any, *, complex: bool = False, threads: int = 0) -> SchurResult:
    """Z T Z^H = A with orthonormal Z and upper triangular T; T of a real A is quasi-triangular unless `complex`."""
    return SchurResult(*_linalg("schur", a, complex=complex, threads=threads))


def schur_ex(a: Any, *, complex: bool = False, threads: int = 0) -> SchurInfo:
    return SchurInfo(*_linalg("schur_ex", a, complex=complex, threads=threads))


def matrix_sqrt(a: Any, *, complex: bool = False, threads: int = 0) -> Tensor:
    """The principal square root. Real matrices with negative eigenvalues need `complex`."""
    return _linalg("matrix_sqrt", a, complex=complex, threads=threads)[0]


def matrix_sqrt_ex(a: Any, *, complex: bool = False, threads: int = 0) -> FunctionInfo:
    return FunctionInfo(*_linalg("matrix_sqrt_ex", a, complex=complex, threads=threads))


def matrix_log(a: Any, *, complex: bool = False, threads: int = 0) -> Tensor:
    """The principal logarithm. Real matrices with negative eigenvalues need `complex`."""
    return _linalg("matrix_log", a, complex=complex, threads=threads)[0]


def matrix_log_ex(a: Any, *, complex: bool = False, threads: int = 0) -> FunctionInfo:
    return FunctionInfo(*_linalg("matrix_log_ex", a, complex=complex, threads=threads))


def sylvester(a: Any, b: Any, q: Any, *, threads: int = 0) -> Tensor:
    """X of A X + X B = Q."""
    return _linalg("sylvester", a, b, q, threads=threads)[0]


def sylvester_ex(a: Any, b: Any, q: Any, *, threads: int = 0) -> SolveInfo:
    return SolveInfo(*_linalg("sylvester_ex", a, b, q, threads=threads))


def lyapunov(a: Any, q: Any, *, discrete: bool = False, threads: int = 0) -> Tensor:
    """X of A X + X A^H = Q, or with `discrete` of A X A^H - X + Q = 0."""
    return _linalg("lyapunov", a, q, discrete=discrete, threads=threads)[0]


def lyapunov_ex(a: Any, q: Any, *, discrete: bool = False, threads: int = 0) -> SolveInfo:
    return SolveInfo(*_linalg("lyapunov_ex", a, q, discrete=discrete, threads=threads))


_INFINITY = float("inf")


def eigh_range(
    a: Any,
    *,
    first: int = 0,
    last: int = -1,
    low: float = -_INFINITY,
    high: float = _INFINITY,
    upper: bool = False,
    threads: int = 0,
) -> EighRangeResult:
    """Like eigh, for the eigenvalues with numbers first .. last (negative: from the end) that lie in (low, high]."""
    return EighRangeResult(
        *_linalg("eigh_range", a, first=first, last=last, low=low, high=high, upper=upper, threads=threads)
    )


def eigh_range_ex(
    a: Any,
    *,
    first: int = 0,
    last: int = -1,
    low: float = -_INFINITY,
    high: float = _INFINITY,
    upper: bool = False,
    threads: int = 0,
) -> EighRangeInfo:
    return EighRangeInfo(
        *_linalg("eigh_range_ex", a, first=first, last=last, low=low, high=high, upper=upper, threads=threads)
    )


def eigh_tridiagonal(
    diagonal: Any,
    beside: Any,
    *,
    first: int = 0,
    last: int = -1,
    low: float = -_INFINITY,
    high: float = _INFINITY,
    threads: int = 0,
) -> EighRangeResult:
    """The same for real symmetric tridiagonal matrices: `diagonal` [..., n], `beside` [..., n - 1]."""
    return EighRangeResult(
        *_linalg("eigh_tridiagonal", diagonal, beside, first=first, last=last, low=low, high=high, threads=threads)
    )


def eigh_tridiagonal_ex(
    diagonal: Any,
    beside: Any,
    *,
    first: int = 0,
    last: int = -1,
    low: float = -_INFINITY,
    high: float = _INFINITY,
    threads: int = 0,
) -> EighRangeInfo:
    return EighRangeInfo(
        *_linalg("eigh_tridiagonal_ex", diagonal, beside, first=first, last=last, low=low, high=high, threads=threads)
    )


def qr_update(q: Any, r: Any, u: Any, v: Any, *, threads: int = 0) -> QrResult:
    """Factors of A + u v^H, from Q and R of A."""
    return QrResult(*_linalg("qr_update", q, r, u, v, threads=threads))


def geqrf(a: Any, *, threads: int = 0) -> QrReflectors:
    """Q R = A with Q as reflections (torch.geqrf)."""
    return QrReflectors(*_linalg("geqrf", a, threads=threads))


def ormqr(
    a: Any, tau: Any, c: Any, *, left: bool = True, adjoint: bool = False, threads: int = 0
) -> Tensor:
    """Q C, Q^H C, C Q or C Q^H, with geqrf's reflections (torch.ormqr)."""
    return _linalg("ormqr", a, tau, c, left=left, adjoint=adjoint, threads=threads)[0]


def banded_solve(bands: Any, below: int, b: Any, *, threads: int = 0) -> Tensor:
    """X of A X = B: A[i, j] is bands[d - 1 - below + i - j, j], with d diagonals, `below` of them under the main one."""
    return _linalg("banded_solve", bands, b, below=below, threads=threads)[0]


def banded_solve_ex(bands: Any, below: int, b: Any, *, threads: int = 0) -> SolveInfo:
    return SolveInfo(*_linalg("banded_solve_ex", bands, b, below=below, threads=threads))


def banded_cholesky_solve(bands: Any, b: Any, *, upper: bool = False, threads: int = 0) -> Tensor:
    """X of A X = B, A hermitian and positive definite: A[i, j] is bands[i - j, j], or bands[d - 1 + i - j, j] (upper)."""
    return _linalg("banded_cholesky_solve", bands, b, upper=upper, threads=threads)[0]


def banded_cholesky_solve_ex(bands: Any, b: Any, *, upper: bool = False, threads: int = 0) -> SolveInfo:
    return SolveInfo(*_linalg("banded_cholesky_solve_ex", bands, b, upper=upper, threads=threads))


def toeplitz_solve(column: Any, row: Any, b: Any, *, threads: int = 0) -> Tensor:
    """X of A X = B, with A[i, j] = column[i - j], and row[j - i] above the diagonal."""
    return _linalg("toeplitz_solve", column, row, b, threads=threads)[0]


def toeplitz_solve_ex(column: Any, row: Any, b: Any, *, threads: int = 0) -> SolveInfo:
    return SolveInfo(*_linalg("toeplitz_solve_ex", column, row, b, threads=threads))
