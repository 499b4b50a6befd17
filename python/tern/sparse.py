"""Sparse matrices in rows (CSR), LU factors and iterative methods, on the CPU.

    from tern import sparse

    a = sparse.csr(matrix)                     # a SciPy matrix, a torch CSR tensor, or a dense array
    y = a @ x                                  # x: [n] or [n, k], an array
    factors = sparse.Factorization(a)          # LU factors; factors.solve(b) for each right side
    x, iterations, residual, converged = sparse.cg(a, b, rtol=1e-8)
    values, vectors, *_ = sparse.lobpcg(a, numpy.random.default_rng(0).standard_normal((n, 4)))

Matrices and vectors have one type: float32, float64, complex64 or complex128. Results are tern.Tensor. Operators and
preconditioners of iterative methods are matrices, or functions of a tern.Tensor that return an array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tern._tern import Tensor, _Csr, _csr_from_coordinates, _csr_from_dense, _Factorization, _krylov, _lobpcg
from tern.linalg import _TRANSPOSES, _number_of


class Csr:
    """A sparse matrix: row r has elements starts[r] .. starts[r + 1] - 1, with columns `indices` and numbers `values`."""

    def __init__(self, rows: int, columns: int, starts: Any, indices: Any, values: Any):
        self._matrix = _Csr(rows, columns, starts, indices, values)

    @classmethod
    def _of(cls, matrix: _Csr) -> Csr:
        result = cls.__new__(cls)
        result._matrix = matrix
        return result

    @property
    def shape(self) -> tuple[int, int]:
        return self._matrix.shape

    @property
    def starts(self) -> Tensor:
        return self._matrix.starts

    @property
    def indices(self) -> Tensor:
        return self._matrix.indices

    @property
    def values(self) -> Tensor:
        return self._matrix.values

    def __repr__(self) -> str:
        return f"tern.sparse.Csr({self.shape[0]} x {self.shape[1]}, {self.values.shape[0]} elements)"

    def to_dense(self) -> Tensor:
        return self._matrix.to_dense()

    def transpose(self, *, conjugated: bool = False) -> Csr:
        return Csr._of(self._matrix.transpose(conjugated))

    def multiply(self, x: Any, *, transpose: str = "none", threads: int = 0) -> Tensor:
        """op(A) x, for one vector [n] or columns [n, k]; `transpose`: 'none', 'transpose', 'adjoint'."""
        return self._matrix.multiply(x, _number_of(_TRANSPOSES, transpose, "transpose"), threads)

    def __matmul__(self, other: Any) -> Any:
        """A x, or the sparse product of two matrices."""
        if isinstance(other, Csr):
            return Csr._of(self._matrix.multiply_sparse(other._matrix, 0))
        return self.multiply(other)

    def triangular_solve(
        self, b: Any, *, upper: bool = False, unitriangular: bool = False, transpose: str = "none"
    ) -> Tensor:
        """X of op(A) X = B with the lower or upper triangle of A."""
        number = _number_of(_TRANSPOSES, transpose, "transpose")
        return self._matrix.triangular_solve(b, upper, unitriangular, number)


class Factorization:
    """LU factors of a square matrix, for many right sides, by UMFPACK of SuiteSparse (Debian's libumfpack5, Ubuntu's
    libumfpack6). A singular matrix raises tern.RunError."""

    def __init__(self, a: Any):
        self._factors = _Factorization(csr(a)._matrix)

    @property
    def rcond(self) -> float:
        """An estimate of the reciprocal condition number."""
        return self._factors.rcond

    def solve(self, b: Any, *, transpose: str = "none") -> Tensor:
        """X of op(A) X = B, for one vector [n] or columns [n, k]; `transpose`: 'none', 'transpose', 'adjoint'."""
        return self._factors.solve(b, _number_of(_TRANSPOSES, transpose, "transpose"))


class IterationResult(NamedTuple):
    x: Tensor
    iterations: int
    residual: float  #: |B - A X|
    converged: bool


class LobpcgResult(NamedTuple):
    values: Tensor
    vectors: Tensor
    residuals: Tensor  #: |A x - value B x|
    iterations: int
    converged: bool


def csr(matrix: Any) -> Csr:
    """A SciPy sparse matrix of any format, a torch tensor with layout torch.sparse_csr, or a dense array."""
    if isinstance(matrix, Csr):
        return matrix
    if hasattr(matrix, "crow_indices"):
        rows, columns = matrix.shape
        return Csr(rows, columns, matrix.crow_indices(), matrix.col_indices(), matrix.values())
    if hasattr(matrix, "tocsr"):
        matrix = matrix.tocsr()
        rows, columns = matrix.shape
        return Csr(rows, columns, matrix.indptr, matrix.indices, matrix.data)
    return Csr._of(_csr_from_dense(matrix))


def from_coordinates(rows: int, columns: int, row_indices: Any, column_indices: Any, values: Any) -> Csr:
    """From elements in any order. Elements of one place add up."""
    return Csr._of(_csr_from_coordinates(rows, columns, row_indices, column_indices, values))


def _operator(a: Any) -> Any:
    return a._matrix if isinstance(a, Csr) else a


def cg(
    a: Any,
    b: Any,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    most_iterations: int = 0,
    preconditioner: Any = None,
    start: Any = None,
    threads: int = 0,
) -> IterationResult:
    """X of A X = B [n] by conjugate gradients, A hermitian and positive definite."""
    return IterationResult(
        *_krylov(
            "cg", _operator(a), b, rtol, atol, most_iterations, 1, _operator(preconditioner), start, threads
        )
    )


def gmres(
    a: Any,
    b: Any,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    most_iterations: int = 0,
    restart: int = 30,
    preconditioner: Any = None,
    start: Any = None,
    threads: int = 0,
) -> IterationResult:
    """X of A X = B [n] by generalized minimal residuals, preconditioned from the right."""
    return IterationResult(
        *_krylov(
            "gmres", _operator(a), b, rtol, atol, most_iterations, restart, _operator(preconditioner), start, threads
        )
    )


def lobpcg(
    a: Any,
    start: Any,
    *,
    largest: bool = True,
    rtol: float = 0.0,
    most_iterations: int = 200,
    b: Any = None,
    preconditioner: Any = None,
    threads: int = 0,
) -> LobpcgResult:
    """Eigenvalues of a hermitian A from approximate vectors [n, k]; `b`: A V = B V diag(values)."""
    return LobpcgResult(
        *_lobpcg(
            _operator(a), start, largest, rtol, most_iterations, _operator(b), _operator(preconditioner), threads
        )
    )
