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
