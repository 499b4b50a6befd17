"""tern.linalg: NumPy's results, batches, NumPy and DLPack in and out, errors."""

import numpy as np
import pytest

import tern
from tern import linalg

TYPES = "float32 float64 complex64 complex128".split()


def random(dtype, *shape, seed=0):
    r = np.random.default_rng(seed)
    x = r.standard_normal(shape)
    return (x + 1j * r.standard_normal(shape) if dtype.startswith("c") else x).astype(dtype)


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def close(found, expected, factor=50):
    expected = np.asarray(expected)
    found = np.asarray(found)
    assert found.shape == expected.shape
    limit = factor * np.finfo(found.dtype).eps * max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (30,), (2, 3)])
def test_results_are_those_of_numpy(dtype, batch):
    n = 6
    a = random(dtype, *batch, n, n) + n * np.eye(n, dtype=dtype)
    b = random(dtype, *batch, n, 2, seed=1)
    spd = a @ adjoint(a)
    close(linalg.solve(a, b), np.linalg.solve(a, b))
    close(linalg.inv(a), np.linalg.inv(a))
    close(linalg.det(a).numpy() / np.linalg.det(a), np.ones(batch))
    close(linalg.slogdet(a).logabsdet, np.linalg.slogdet(a)[1])
    close(linalg.cholesky(spd), np.linalg.cholesky(spd))
    close(linalg.cholesky_solve(linalg.cholesky(spd), spd @ b), b, 1000)
    close(linalg.eigvalsh(spd), np.linalg.eigvalsh(spd))
    close(linalg.svdvals(a), np.linalg.svd(a, compute_uv=False))
    q, r = linalg.qr(a)
    close(q.numpy() @ r.numpy(), a)
    u, s, vh = linalg.svd(a[..., :4], full_matrices=False)
    close((u.numpy() * s.numpy()[..., None, :]) @ vh.numpy(), a[..., :4])
    values, vectors = linalg.eigh(spd)
    close(spd @ vectors.numpy(), vectors.numpy() * values.numpy()[..., None, :])
    values, vectors = linalg.eig(a)
    close(a @ vectors.numpy(), vectors.numpy() * values.numpy()[..., None, :], 100)
    p, l, u = (x.numpy() for x in linalg.lu(a))
    close(p @ l @ u, a)
    lu, pivots, info = linalg.lu_factor(a)
    close(linalg.lu_solve(lu, pivots, b, transpose="adjoint"), np.linalg.solve(adjoint(a), b))
    ld, pivots, _ = linalg.ldl_factor(spd, hermitian=True)
    close(linalg.ldl_solve(ld, pivots, spd @ b, hermitian=True), b, 1000)
    close(linalg.triangular_solve(np.triu(a), b, upper=True), np.linalg.solve(np.triu(a), b))
    close(linalg.lstsq(a[..., :4], b, driver="gelsd").x, np.linalg.pinv(a[..., :4]) @ b)
    close(linalg.pinv(a[..., :4]), np.linalg.pinv(a[..., :4]))
    assert (linalg.matrix_rank(a[..., :4]).numpy() == 4).all()
    close(linalg.matrix_exp(0 * a), np.broadcast_to(np.eye(n), a.shape))


@pytest.mark.parametrize("dtype", TYPES)
def test_compositions(dtype):
    a, x, b = random(dtype, 5, 4, 4), random(dtype, 5, 4, seed=1), random(dtype, 5, 4, 2, seed=2)
    spd = a @ adjoint(a) + 4 * np.eye(4, dtype=dtype)
    updated = linalg.cholesky_update(linalg.cholesky(spd), x)
    close(updated, np.linalg.cholesky(spd + x[:, :, None] * np.conj(x[:, None])), 500)
    values, vectors = (t.numpy() for t in linalg.eigh_generalized(a + adjoint(a), spd))
    close((a + adjoint(a)) @ vectors, spd @ vectors * values[:, None], 500)
    u, h = (t.numpy() for t in linalg.polar(a))
    close(u @ h, a)
    below, main, above = np.diagonal(a, -1, 1, 2), np.diagonal(spd, 0, 1, 2), np.diagonal(a, 1, 1, 2)
    dense = np.stack([np.diag(m) + np.diag(l, -1) + np.diag(r, 1) for m, l, r in zip(main, below, above)])
    close(linalg.tridiagonal_solve(below, main, above, b), np.linalg.solve(dense, b), 500)


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_and_equations(dtype):
    a = random(dtype, 3, 6, 6) + 6 * np.eye(6, dtype=dtype)
    b = random(dtype, 3, 4, 4, seed=1) + 6 * np.eye(4, dtype=dtype)
    q, own = random(dtype, 3, 6, 4, seed=2), random(dtype, 3, 6, 6, seed=3)
    for complex in (False, True):
        t, z = (x.numpy() for x in linalg.schur(a, complex=complex))
        assert np.iscomplexobj(t) == (complex or dtype.startswith("c"))
        close(z @ t @ adjoint(z), a)
    root = linalg.matrix_sqrt(a).numpy()
    assert root.dtype == a.dtype
    close(root @ root, a)
    close(linalg.matrix_exp(linalg.matrix_log(a)), a, 100)
    x = linalg.sylvester(a, b, q).numpy()
    close(a @ x + x @ b, q, 100)
    x = linalg.lyapunov(a, own).numpy()
    close(a @ x + x @ adjoint(a), own, 100)
    x = linalg.lyapunov(a, own, discrete=True).numpy()
    close(a @ x @ adjoint(a) - x + own, 0 * own, 200)
    assert linalg.matrix_sqrt_ex(-np.eye(2)).info.numpy() == 3
    assert np.abs(linalg.matrix_sqrt(-np.eye(2), complex=True).numpy() - 1j * np.eye(2)).max() == 0
    with pytest.raises(tern.RunError, match="matrix_log: the matrix is singular"):
        linalg.matrix_log(np.zeros((2, 2)))


@pytest.mark.parametrize("dtype", TYPES)
def test_ranges_updates_and_structured_systems(dtype):
    a, u, v = random(dtype, 2, 9, 9), random(dtype, 2, 9, seed=1), random(dtype, 2, 9, seed=2)
    h = a + adjoint(a)
    expected = np.linalg.eigvalsh(h)
    values, vectors, counts = (x.numpy() for x in linalg.eigh_range(h, first=2, last=-3))
    close(values, expected[:, 2:7])
    close(h @ vectors, vectors * values[:, None], 100)
    values, vectors, counts = (x.numpy() for x in linalg.eigh_range(h, low=0))
    assert (counts == (expected > 0).sum(1)).all() and values.shape[1] == counts.max()
    q, r = (x.numpy() for x in linalg.qr_update(*linalg.qr(a), u, v))
    close(q @ r, a + u[:, :, None] * np.conj(v)[:, None])
    reflectors, tau = linalg.geqrf(a)
    close(linalg.ormqr(reflectors, tau, a, adjoint=True), np.triu(linalg.qr(a).r.numpy()), 100)
    b = random(dtype, 2, 9, 3, seed=4)
    i = np.arange(9)
    toeplitz = np.where(i[:, None] >= i, a[:, :, 0][:, np.abs(i[:, None] - i)], u[:, np.abs(i[:, None] - i)])
    close(toeplitz @ linalg.toeplitz_solve(a[:, :, 0], u, b).numpy(), b, 2000)
    bands = random(dtype, 2, 3, 9, seed=5)
    bands[:, 1] += 4
    dense = np.stack([np.diag(x[1]) + np.diag(x[0, 1:], 1) + np.diag(x[2, :-1], -1) for x in bands])
    close(linalg.banded_solve(bands, 1, b), np.linalg.solve(dense, b))
    half = np.stack([np.full(9, 4), np.ones(9)]).astype(dtype)
    dense = 4 * np.eye(9) + np.eye(9, k=1) + np.eye(9, k=-1)
    close(linalg.banded_cholesky_solve(half, b[0]), np.linalg.solve(dense, b[0]))
    if not dtype.startswith("c"):
        values, vectors, _ = (x.numpy() for x in linalg.eigh_tridiagonal(half[0], half[1, 1:], last=3))
        close(values, np.linalg.eigvalsh(dense)[:4])
        close(dense.astype(dtype) @ vectors, vectors * values)


def test_memory_passes_by_dlpack():
    a = np.asfortranarray(random("float64", 5, 5))  # strided
    t = linalg.solve(tern.Tensor(a), a)
    close(np.from_dlpack(t), np.eye(5), 1000)
    torch = pytest.importorskip("torch")
    close(torch.from_dlpack(linalg.inv(torch.from_numpy(a))).numpy(), np.linalg.inv(a), 1000)


def test_infos_name_matrices_without_solution():
    a = random("float64", 40, 5, 5)
    a[7, 4, 0] = np.nan
    for found in (linalg.eigh_ex(a), linalg.eig_ex(a), linalg.svd_ex(a), linalg.eigvalsh_ex(a), linalg.svdvals_ex(a)):
        info = found.info.numpy()
        assert info[7] == 1 and info.sum() == 1
        assert np.isnan(found[0].numpy()[7]).all() and np.isfinite(np.delete(found[0].numpy(), 7, 0)).all()
    np.testing.assert_allclose(linalg.svdvals_ex(a).values.numpy()[8], np.linalg.svd(a[8], compute_uv=False))
    a[7] = 0
    assert linalg.solve_ex(a, a).info.numpy()[7] == 1
    assert linalg.cholesky_ex(-np.eye(3)).info.numpy() == 1


def test_errors():
    with pytest.raises(tern.RunError, match="matrix 3 of the batch"):
        linalg.cholesky(np.stack([np.eye(3)] * 3 + [-np.eye(3)] * 2))
    with pytest.raises(tern.InvalidArgument, match="float32, float64"):
        linalg.inv(np.eye(3, dtype="int64"))
    with pytest.raises(tern.InvalidArgument, match="'reduced', 'complete', 'r'"):
        linalg.qr(np.eye(3), mode="full")
    with pytest.raises(tern.InvalidArgument):
        linalg.det(np.ones((2, 3)))
    with pytest.raises(TypeError):
        linalg.inv("a")


def test_member_of_the_package():
    assert tern.linalg is linalg and "linalg" in dir(tern)
