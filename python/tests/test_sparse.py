"""tern.sparse: NumPy's results, operators as functions, errors."""

import numpy as np
import pytest

import tern
from tern import sparse

TYPES = "float32 float64 complex64 complex128".split()


def random(dtype, *shape, seed=0):
    r = np.random.default_rng(seed)
    x = r.standard_normal(shape)
    return (x + 1j * r.standard_normal(shape) if dtype.startswith("c") else x).astype(dtype)


def scattered(dtype, *shape):
    return random(dtype, *shape) * (np.random.default_rng(1).random(shape) < 0.2)


@pytest.mark.parametrize("dtype", TYPES)
def test_products(dtype):
    a, b, x = scattered(dtype, 30, 20), scattered(dtype, 20, 25), random(dtype, 20, 3)
    m = sparse.csr(a)
    assert m.shape == (30, 20) and np.array_equal(m.to_dense().numpy(), a)
    limit = dict(rtol=0, atol=100 * np.finfo(dtype).eps)
    np.testing.assert_allclose((m @ x).numpy(), a @ x, **limit)
    np.testing.assert_allclose((m @ x[:, 0]).numpy(), a @ x[:, 0], **limit)
    np.testing.assert_allclose((m @ sparse.csr(b)).to_dense().numpy(), a @ b, **limit)
    y = random(dtype, 30)
    np.testing.assert_allclose(m.multiply(y, transpose="adjoint").numpy(), np.conj(a.T) @ y, **limit)
    rows, columns = np.nonzero(a)
    again = sparse.from_coordinates(30, 20, rows[::-1], columns[::-1], a[rows, columns][::-1])
    assert np.array_equal(again.indices.numpy(), m.indices.numpy())


@pytest.mark.parametrize("dtype", TYPES)
def test_solvers(dtype):
    n = 40
    a = scattered(dtype, n, n) + 8 * np.eye(n, dtype=dtype)
    spd = a @ np.conj(a.T)
    b = random(dtype, n, seed=2)
    rtol = 1e3 * np.finfo(dtype).eps
    for found in (
        sparse.gmres(sparse.csr(a), b, rtol=rtol),
        sparse.gmres(lambda v: a @ v.numpy(), b, rtol=rtol, preconditioner=lambda v: v.numpy() / dtype_of(dtype)(8)),
    ):
        assert found.converged and np.linalg.norm(a @ found.x.numpy() - b) <= 2 * rtol * np.linalg.norm(b)
    found = sparse.cg(lambda v: spd @ v.numpy(), b, rtol=rtol)
    assert found.converged and np.linalg.norm(spd @ found.x.numpy() - b) <= 20 * rtol * np.linalg.norm(b)
    values = sparse.lobpcg(sparse.csr(spd), random(dtype, n, 3, seed=3), most_iterations=500).values.numpy()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(spd)[::-1][:3], rtol=1e-3 if dtype in ("float32", "complex64") else 1e-8)
    factors, both = sparse.Factorization(sparse.csr(a)), random(dtype, n, 2, seed=4)
    limit = dict(rtol=0, atol=1000 * np.finfo(dtype).eps)
    np.testing.assert_allclose(a @ factors.solve(both).numpy(), both, **limit)
    np.testing.assert_allclose(np.conj(a.T) @ factors.solve(b, transpose="adjoint").numpy(), b, **limit)
    assert 1e-3 < factors.rcond < 1
    lower = np.tril(a)
    x = sparse.csr(a).triangular_solve(b, transpose="transpose").numpy()
    np.testing.assert_allclose(lower.T @ x, b, rtol=0, atol=1000 * np.finfo(dtype).eps)


def dtype_of(name):
    return np.dtype(name).type


def test_matrices_of_scipy_and_torch():
    a = scattered("float64", 12, 9)
    scipy = pytest.importorskip("scipy.sparse")
    assert np.array_equal(sparse.csr(scipy.coo_array(a)).to_dense().numpy(), a)
    torch = pytest.importorskip("torch")
    assert np.array_equal(sparse.csr(torch.from_numpy(a).to_sparse_csr()).to_dense().numpy(), a)


def test_errors():
    m = sparse.csr(np.eye(3))
    with pytest.raises(tern.InvalidArgument, match="column 5 is outside"):
        sparse.Csr(1, 5, np.array([0, 1]), np.array([5]), np.ones(1))
    with pytest.raises(tern.InvalidArgument):
        m @ np.ones(4)
    with pytest.raises(tern.RunError, match="not positive definite"):
        sparse.cg(lambda v: -v.numpy(), np.ones(3))
    with pytest.raises(ZeroDivisionError):
        sparse.cg(lambda v: 1 / 0, np.ones(3))
    assert repr(m) == "tern.sparse.Csr(3 x 3, 3 elements)" and tern.sparse is sparse
