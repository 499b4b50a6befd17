#!/usr/bin/env python3
"""Compares residuals of tern.linalg with those of PyTorch's LAPACK over 16 classes of matrices, four types, single
matrices and batches. Needs torch: PYTHONPATH=build/python PYTHON tests/scripts/linalg_accuracy.py [--rows 33]
[--functions eig,svd] [--types float64]. A residual may be twice LAPACK's, or (8 + sqrt(n)) roundings. Infinities and
NaN fail, and so do errors for matrices that LAPACK takes."""

import argparse
import sys
import warnings

import torch

import tern
from tern import linalg

CLASSES = (
    "random symmetric spd graded clustered defective rank_deficient orthogonal triangular hilbert tiny subnormal huge "
    "zero identity companion"
).split()
FUNCTIONS = "cholesky lu solve inv qr eigh eigh_upper eigvalsh svd svdvals eig eigvals pinv lstsq ldl".split()
TYPES = "float32 float64 complex64 complex128".split()
# Batch and rows.
SHAPES = [(1, n) for n in (1, 2, 5, 16, 33, 100, 200)] + [(100, n) for n in (2, 4, 7, 16, 33)] + [(17, 70)]
Refused = (tern.Error, RuntimeError)  # LinAlgError is a RuntimeError


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
    w = scaled(run(name, a), e)  # eigvals
    if n > 40 or a.shape[0] > 1:
        return [0.0 if torch.isfinite(torch.view_as_real(w)).all() else float("inf")]
    shifted = matrix[:, None].to(w.dtype) - w[..., None, None] * torch.eye(n)
    return [relative(torch.linalg.svdvals(shifted)[..., -1].amax(-1), size)]


def run_tern(name, a, b=None):
    def tensors(found):
        if isinstance(found, tuple):
            return tuple(torch.from_dlpack(t) for t in found)
        return torch.from_dlpack(found)

    if name in ("eigh", "eigh_upper"):
        return tensors(linalg.eigh(a, upper=name == "eigh_upper"))
    if name == "solve":
        return tensors(linalg.solve(a, b))
    if name == "svd":
        return tensors(linalg.svd(a, full_matrices=False))
    if name == "lstsq":
        return tensors(linalg.lstsq(a, b, driver="gelsd").x)
    if name == "ldl":
        ld, pivots, _ = linalg.ldl_factor(a, hermitian=True)
        return tensors(linalg.ldl_solve(ld, pivots, b, hermitian=True))
    return tensors(getattr(linalg, name)(a))


def run_torch(name, a, b=None):
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


def attempt(run, *arguments):
    try:
        return residuals(run, *arguments), ""
    except Refused as error:
        return None, str(error)[-100:]


def is_within(found, expected, n, epsilon, loses_digits):
    if loses_digits:
        return found is None or expected is None or all(r < float("inf") or r == limit for r, limit in zip(found, expected))
    if found is None:
        return expected is None or any(r == float("inf") for r in expected)
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
                    found, error = attempt(run_tern, name, a, b)
                    expected, refusal = attempt(run_torch, name, a, b)
                    # Factors of subnormal matrices have few digits, and may be singular; inverses overflow.
                    loses_digits = kind == "subnormal" and name in ("cholesky", "lu", "solve", "ldl", "inv")
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
