#!/usr/bin/env python3
"""Compares residuals of tern.linalg with those of PyTorch's LAPACK, and of SciPy where PyTorch lacks the function, over 16
classes of matrices, four types, single matrices and batches. Needs torch and scipy:
PYTHONPATH=build/python PYTHON tests/scripts/linalg_accuracy.py [--rows 33] [--functions eig,svd] [--types float64]. A residual may be twice LAPACK's, or (8 + sqrt(n)) roundings. Infinities and
NaN fail, and so do errors for matrices that LAPACK takes."""

import argparse
import sys
import warnings

import scipy.linalg
import torch

import tern
from tern import linalg

CLASSES = (
    "random symmetric spd graded clustered defective rank_deficient orthogonal triangular hilbert tiny subnormal huge "
    "zero identity companion"
).split()
FUNCTIONS = "cholesky lu solve inv qr eigh eigh_upper eigvalsh svd svdvals eig eigvals pinv lstsq ldl".split()
# Functions that compare with SciPy.
FUNCTIONS += "schur schur_complex sqrt log sylvester lyapunov stein eigh_range banded toeplitz".split()
TYPES = "float32 float64 complex64 complex128".split()
# Batch and rows.
SHAPES = [(1, n) for n in (1, 2, 5, 16, 33, 100, 200)] + [(100, n) for n in (2, 4, 7, 16, 33)] + [(17, 70)]
# Equations without a unique solution in their type, for which LAPACK returns one of near equations.
SINGULAR = {("stein", kind) for kind in ("orthogonal", "identity", "subnormal", "huge")} | {("banded", "hilbert")}
SINGULAR |= {(name, kind) for name in ("log", "lyapunov") for kind in ("rank_deficient", "zero")} | {("lyapunov", "orthogonal")}
# Functions whose results for subnormal matrices have few digits, or overflow.
LOSES = "cholesky lu solve ldl inv sylvester lyapunov banded toeplitz".split()
# PyTorch's LinAlgError is a RuntimeError, NumPy's a ValueError.
Refused = (tern.Error, RuntimeError, ValueError)


def matrices(kind, dtype, batch, n, seed):
    wide = torch.complex128 if dtype.is_complex else torch.float64
    single = dtype in (torch.float32, torch.complex64)
    limits = torch.finfo(dtype)
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, dtype=wide, generator=generator)

    a, eye, i = normal(batch, n, n), torch.eye(n, dtype=wide), torch.arange(n, dtype=torch.float64)
    q = torch.linalg.qr(a).Q
    scales = 10.0 ** (-i * (6 if single else 14) / max(n - 1, 1))
    near = 1 + i % 3 + 1e-9 * torch.rand(n, dtype=torch.float64, generator=generator)
    if kind == "subnormal":  # small multiples of the smallest number
        steps = (torch.view_as_real(a) * 50).round() if dtype.is_complex else (a * 50).round()
        a = (torch.view_as_complex(steps) if dtype.is_complex else steps) * (limits.tiny * limits.eps)
        return a.to(dtype)
    made = {
        "random": lambda: a,
        "symmetric": lambda: a + a.mH,
        "spd": lambda: a @ a.mH + n * eye,
        "graded": lambda: scales[:, None] * (a + a.mH) * scales,
        "clustered": lambda: (q * near) @ q.mH,
        "defective": lambda: (1.5 * eye + torch.diag(torch.ones(n - 1, dtype=wide), 1)).repeat(batch, 1, 1),
        "rank_deficient": lambda: normal(batch, n, max(n // 2, 1)) @ normal(batch, max(n // 2, 1), n),
        "orthogonal": lambda: q,
        "triangular": lambda: a.triu(),
        "hilbert": lambda: (1 / (i[:, None] + i + 1)).to(wide).repeat(batch, 1, 1),
        "tiny": lambda: a * limits.tiny * (2.0**20 if single else 1e8),
        "huge": lambda: a / a.abs().amax((1, 2), True) * (limits.max / (2.0**20 if single else 1e8)),
        "zero": lambda: a * 0,
        "identity": lambda: eye.repeat(batch, 1, 1),
        "companion": lambda: torch.cat([normal(batch, 1, n), eye[:-1].repeat(batch, 1, 1)], 1),
    }
    return made[kind]().to(dtype).contiguous()


def scaled(x, exponent):
    """x / 2^exponent in double precision."""
    y = x.to(torch.complex128 if x.is_complex() else torch.float64)
    return y * 2.0 ** -(exponent // 2) * 2.0 ** -(exponent - exponent // 2)


def exponent_of(a):
    parts = torch.view_as_real(a) if a.is_complex() else a
    most = float(parts.double().abs().max()) if a.numel() else 0.0
    return 0 if most == 0 else int(torch.frexp(torch.tensor(most, dtype=torch.float64)).exponent)


def norm(x):
    return torch.linalg.matrix_norm(x, "fro")


def worst(x):
    x = x.real
    return float(x.max()) if torch.isfinite(x).all() else float("inf")


def relative(x, size):
    return worst(torch.where(x == 0, torch.zeros_like(x), x / size))


def orthogonality(q):
    q = scaled(q, 0)
    return worst(norm(q.mH @ q - torch.eye(q.shape[-1])) / q.shape[-1] ** 0.5)


def hermitian(a, upper=False):
    """The matrix that functions of hermitian matrices read."""
    a = a.mH if upper else a
    below = a.tril(-1)
    return below + below.mH + torch.diag_embed(torch.diagonal(a, 0, -2, -1).real).to(a.dtype)


def residuals(run, name, a, b):
    e, f = exponent_of(a), exponent_of(b)
    matrix, rhs, n = scaled(a, e), scaled(b, f), a.shape[-1]
    size = norm(matrix)
    if name == "cholesky":
        odd = e % 2
        factor = scaled(run(name, a), (e - odd) // 2) * 0.5 ** (odd / 2)
        return [relative(norm(factor @ factor.mH - hermitian(matrix)), size)]
    if name == "lu":
        p, lower, upper = run(name, a)
        lower, upper = scaled(lower, 0), scaled(upper, e)
        return [relative(norm(scaled(p, 0) @ (lower @ upper) - matrix), norm(lower) * norm(upper))]
    if name in ("solve", "ldl"):
        x = scaled(run(name, a, b), f - e)
        matrix = hermitian(matrix) if name == "ldl" else matrix
        return [relative(norm(matrix @ x - rhs), norm(matrix) * norm(x) + norm(rhs))]
    if name == "lstsq":
        x = scaled(run(name, a, b), f - e)
        return [relative(norm(matrix.mH @ (matrix @ x - rhs)), size * (size * norm(x) + norm(rhs)))]
    if name == "inv":
        x = scaled(run(name, a), -e)
        return [relative(norm(matrix @ x - torch.eye(n)), size * norm(x))]
    if name == "pinv":
        x = scaled(run(name, a), -e)
        return [relative(norm(matrix @ x @ matrix - matrix), size * size * norm(x))]
    if name == "qr":
        q, r = run(name, a)
        return [relative(norm(scaled(q, 0) @ scaled(r, e) - matrix), size), orthogonality(q)]
    if name in ("eigh", "eigh_upper"):
        values, vectors = run(name, a)
        matrix, w, v = hermitian(matrix, name == "eigh_upper"), scaled(values, e), scaled(vectors, 0)
        falls = worst(w[:, :-1] - w[:, 1:]) if n > 1 else 0.0
        return [relative(norm(matrix @ v - v * w[:, None]), norm(matrix)), orthogonality(vectors), falls]
    if name == "eigvalsh":
        difference = scaled(run(name, a), e) - torch.linalg.eigvalsh(matrix)
        return [relative(difference.norm(dim=-1), size)]
    if name == "svd":
        u, s, vh = run(name, a)
        product = (scaled(u, 0) * scaled(s, e)[:, None]) @ scaled(vh, 0)
        return [relative(norm(product - matrix), size), orthogonality(u), orthogonality(vh.mH)]
    if name == "svdvals":
        difference = scaled(run(name, a), e) - torch.linalg.svdvals(matrix)
        return [relative(difference.norm(dim=-1), size)]
    if name == "eig":
        values, vectors = run(name, a)
        w, v = scaled(values, e), scaled(vectors, 0)
        columns = (matrix.to(v.dtype) @ v - v * w[:, None]).norm(dim=-2).amax(-1)
        return [relative(columns, size), worst((v.norm(dim=-2) - 1).abs())]
    if name in ("schur", "schur_complex"):
        t, z = run(name, a)
        unitary = scaled(z, 0)
        return [relative(norm(unitary @ scaled(t, e) @ unitary.mH - matrix), size), orthogonality(z)]
    if name == "sqrt":
        odd = e % 2
        root = scaled(run(name, a), (e - odd) // 2) * 0.5 ** (odd / 2)
        return [relative(norm(root @ root - matrix), norm(root) ** 2)]
    if name == "log":
        log = scaled(run(name, a), 0)
        eye = torch.eye(n, dtype=log.dtype)
        back = torch.matrix_exp(log - e * torch.log(torch.tensor(2.0, dtype=torch.float64)) * eye)
        # Eigenvalues near the negative axis make the norm of the logarithm large, and its condition larger.
        return [relative(norm(back - matrix), norm(back) * (1 + norm(log)) ** 2)]
    if name == "sylvester":
        other = second_coefficient(a)
        x, right = scaled(run(name, a, b), f - e), scaled(other, e)
        return [relative(norm(matrix @ x + x @ right - rhs), (size + norm(right)) * norm(x) + norm(rhs))]
    if name == "lyapunov":
        x = scaled(run(name, a, whole(b)), f - e)
        given = scaled(whole(b), f)
        return [relative(norm(matrix @ x + x @ matrix.mH - given), 2 * size * norm(x) + norm(given))]
    if name == "stein":  # A of the equation has elements of size 1
        unit = scaled(a, e).to(a.dtype)
        x, left, given = scaled(run(name, unit, whole(b)), f), scaled(unit, 0), scaled(whole(b), f)
        return [relative(norm(left @ x @ left.mH - x + given), (size * size + 1) * norm(x) + norm(given))]
    if name == "eigh_range":
        values, vectors = run(name, a)
        matrix, w, v = hermitian(matrix), scaled(values, e), scaled(vectors, 0)
        return [relative(norm(matrix @ v - v * w[:, None]), norm(matrix)), orthogonality(vectors)]
    if name == "banded":
        dense = scaled(band_matrix(bands_of(a)), e)
        x = scaled(run(name, a, b), f - e)
        return [relative(norm(dense @ x - rhs), norm(dense) * norm(x) + norm(rhs))]
    if name == "toeplitz":
        dense = scaled(toeplitz_matrix(a), e)
        x = scaled(run(name, a, b), f - e)
        return [relative(norm(dense @ x - rhs), norm(dense) * norm(x) + norm(rhs))]
    w = scaled(run(name, a), e)  # eigvals
    if n > 40 or a.shape[0] > 1:
        return [0.0 if torch.isfinite(torch.view_as_real(w)).all() else float("inf")]
    shifted = matrix[:, None].to(w.dtype) - w[..., None, None] * torch.eye(n)
    return [relative(torch.linalg.svdvals(shifted)[..., -1].amax(-1), size)]


def second_coefficient(a):
    """A coefficient B [3, 3] of the size of A."""
    columns = min(3, a.shape[-1])
    b = matrices("random", a.dtype, a.shape[0], columns, 7)
    return (b * a.abs().amax()).to(a.dtype)


def whole(b):
    """A square right side."""
    return (b[..., :1] @ torch.ones(1, b.shape[-2], dtype=b.dtype)).contiguous()


BELOW = 1  # diagonals under the main one of banded matrices


def bands_of(a):
    return a[:, : min(4, a.shape[-1] + 1), :].contiguous() if a.shape[-1] > 1 else a.repeat(1, 2, 1)


def band_matrix(bands):
    batch, width, n = bands.shape
    dense = torch.zeros(batch, n, n, dtype=bands.dtype)
    for row in range(width):
        offset = width - 1 - BELOW - row  # columns right of the main diagonal
        if abs(offset) < n:
            part = bands[:, row, offset:] if offset >= 0 else bands[:, row, : n + offset]
            dense += torch.diag_embed(part, offset)
    return dense


def toeplitz_matrix(a):
    i = torch.arange(a.shape[-1])
    difference = i[:, None] - i
    return torch.where(difference >= 0, a[:, :, 0][:, difference.clamp(min=0)], a[:, 0, :][:, (-difference).clamp(min=0)])


def selected(n):
    return n // 4, n // 2


def run_scipy(name, a, b=None):
    def each(function, *operands):
        found = [function(*(x[i].numpy() for x in operands)) for i in range(a.shape[0])]
        if isinstance(found[0], tuple):
            return tuple(torch.stack([torch.from_numpy(x[k].copy()) for x in found]) for k in range(len(found[0])))
        return torch.stack([torch.from_numpy(x.copy()) for x in found])

    if name == "schur":
        return each(scipy.linalg.schur, a)
    if name == "schur_complex":
        return each(lambda x: scipy.linalg.schur(x, output="complex"), a)
    if name == "sqrt":
        return each(scipy.linalg.sqrtm, a)
    if name == "log":
        return each(scipy.linalg.logm, a)
    if name == "sylvester":
        return each(scipy.linalg.solve_sylvester, a, second_coefficient(a), b)
    if name == "lyapunov":
        return each(scipy.linalg.solve_continuous_lyapunov, a, b)
    if name == "stein":
        return each(lambda x, q: scipy.linalg.solve_discrete_lyapunov(x, q, method="bilinear"), a, b)
    if name == "eigh_range":
        return each(lambda x: scipy.linalg.eigh(x, subset_by_index=selected(a.shape[-1])), a)
    if name == "banded":
        width = bands_of(a).shape[1]
        return each(lambda x, y: scipy.linalg.solve_banded((BELOW, width - 1 - BELOW), x, y), bands_of(a), b)
    return torch.linalg.solve(toeplitz_matrix(a), b)  # LU is backward stable, SciPy's recursion is not


def run_tern(name, a, b=None):
    def tensors(found):
        if isinstance(found, tuple):
            return tuple(torch.from_dlpack(t) for t in found)
        return torch.from_dlpack(found)

    if name in ("eigh", "eigh_upper"):
        return tensors(linalg.eigh(a, upper=name == "eigh_upper"))
    if name == "solve":
        return tensors(linalg.solve(a, b))
    if name in ("schur", "schur_complex"):
        return tensors(linalg.schur(a, complex=name == "schur_complex"))
    if name == "sqrt":
        return tensors(linalg.matrix_sqrt(a, complex=True))
    if name == "log":
        return tensors(linalg.matrix_log(a, complex=True))
    if name == "sylvester":
        return tensors(linalg.sylvester(a, second_coefficient(a), b))
    if name in ("lyapunov", "stein"):
        return tensors(linalg.lyapunov(a, b, discrete=name == "stein"))
    if name == "eigh_range":
        first, last = selected(a.shape[-1])
        return tensors(linalg.eigh_range(a, first=first, last=last))[:2]
    if name == "banded":
        return tensors(linalg.banded_solve(bands_of(a), BELOW, b))
    if name == "toeplitz":
        return tensors(linalg.toeplitz_solve(a[:, :, 0].contiguous(), a[:, 0].contiguous(), b))
    if name == "svd":
        return tensors(linalg.svd(a, full_matrices=False))
    if name == "lstsq":
        return tensors(linalg.lstsq(a, b, driver="gelsd").x)
    if name == "ldl":
        ld, pivots, _ = linalg.ldl_factor(a, hermitian=True)
        return tensors(linalg.ldl_solve(ld, pivots, b, hermitian=True))
    return tensors(getattr(linalg, name)(a))


def run_torch(name, a, b=None):
    if name in FUNCTIONS[FUNCTIONS.index("schur") :]:
        return run_scipy(name, a, b)
    if name in ("eigh", "eigh_upper"):
        return torch.linalg.eigh(a, UPLO="U" if name == "eigh_upper" else "L")
    if name == "solve":
        return torch.linalg.solve(a, b)
    if name == "svd":
        return torch.linalg.svd(a, full_matrices=False)
    if name == "lstsq":
        return torch.linalg.lstsq(a, b, driver="gelsd").solution
    if name == "ldl":
        ld, pivots = torch.linalg.ldl_factor(a, hermitian=True)
        return torch.linalg.ldl_solve(ld, pivots, b, hermitian=True)
    return getattr(torch.linalg, name)(a)


def attempt(run, *arguments, refused=Refused):
    try:
        return residuals(run, *arguments), ""
    except refused as error:
        return None, str(error)[-100:]


def is_within(found, expected, n, epsilon, loses_digits):
    if loses_digits:
        return found is None or expected is None or all(r < float("inf") or r == limit for r, limit in zip(found, expected))
    if found is None:
        return expected is None or any(r == float("inf") or r > 0.01 for r in expected)  # LAPACK's is no solution
    floor = epsilon * (8 + n**0.5)
    if expected is None:  # LAPACK refuses a singular matrix; the rounding of another order does not show that
        return all(r < float("inf") for r in found)
    return all(r <= max(2 * limit, floor) for r, limit in zip(found, expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200, help="largest matrices")
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    parser.add_argument("--types", default=",".join(TYPES))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    passed = failed = 0
    for type_name in options.types.split(","):
        dtype = getattr(torch, type_name)
        epsilon = torch.finfo(dtype).eps
        for kind in CLASSES:
            for batch, n in SHAPES:
                if n > options.rows:
                    continue
                a = matrices(kind, dtype, batch, n, n + batch)
                b = matrices("random", dtype, batch, max(n, 3), 1)[:, :n, :3].contiguous()
                if kind in ("tiny", "subnormal", "huge"):
                    b = a[..., :3].contiguous()
                for name in options.functions.split(","):
                    if (name, kind) in SINGULAR:
                        continue
                    found, error = attempt(run_tern, name, a, b)
                    expected, refusal = attempt(run_torch, name, a, b, refused=Exception)
                    # Factors of subnormal matrices have few digits, and may be singular; inverses overflow.
                    loses_digits = kind == "subnormal" and name in LOSES
                    if is_within(found, expected, n, epsilon, loses_digits):
                        passed += 1
                        continue
                    failed += 1
                    texts = [e or [f"{r / epsilon:.2g}" for r in x] for e, x in ((error, found), (refusal, expected))]
                    print(f"FAIL {name} {type_name} {kind} {batch} x {n}: {texts[0]}, LAPACK {texts[1]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
