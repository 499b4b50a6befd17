"""The libraries to compare with: for each operation a function of matrices [batch, n, n] and right hand sides."""
import time

import numpy
import scipy.linalg
import torch


def matrices(operation, batch, n, dtype):
    """Normal numbers; hermitian ones for eigh, and such with a dominant diagonal for cholesky and triangles."""
    def normal(seed, columns):
        random = numpy.random.default_rng(seed)
        x = random.standard_normal((batch, n, columns))
        return x + 1j * random.standard_normal(x.shape) if dtype.startswith("complex") else x
    a = normal(1, n)
    definite = operation in ("cholesky", "triangular_solve", "cholesky_solve")
    if definite or operation in ("eigh", "eigvalsh", "ldl_factor"):
        a = numpy.tril(a) + numpy.tril(a, -1).conj().transpose(0, 2, 1)
        a[:, range(n), range(n)] = 4 * n + 4 if definite else a[:, range(n), range(n)].real
    return a.astype(dtype), normal(2, 1).astype(dtype)


TORCH = {
    "cholesky": lambda a, b: torch.linalg.cholesky(a),
    "solve": lambda a, b: torch.linalg.solve(a, b),
    "inv": lambda a, b: torch.linalg.inv(a),
    "qr": lambda a, b: torch.linalg.qr(a),
    "eigh": lambda a, b: torch.linalg.eigh(a),
    "eigvalsh": lambda a, b: torch.linalg.eigvalsh(a),
    "svd": lambda a, b: torch.linalg.svd(a, full_matrices=False),
    "svdvals": lambda a, b: torch.linalg.svdvals(a),
    "lu_factor": lambda a, b: torch.linalg.lu_factor(a),
    "det": lambda a, b: torch.linalg.det(a),
    "triangular_solve": lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
    "cholesky_solve": lambda a, b: torch.cholesky_solve(b, a),
    "lstsq": lambda a, b: torch.linalg.lstsq(a, b),
    "slogdet": lambda a, b: torch.linalg.slogdet(a),
    "pinv": lambda a, b: torch.linalg.pinv(a),
    "matrix_exp": lambda a, b: torch.linalg.matrix_exp(a),
    "eig": lambda a, b: torch.linalg.eig(a),
    "ldl_factor": lambda a, b: torch.linalg.ldl_factor(a),
}
NUMPY = {
    "cholesky": lambda a, b: numpy.linalg.cholesky(a),
    "solve": lambda a, b: numpy.linalg.solve(a, b),
    "inv": lambda a, b: numpy.linalg.inv(a),
    "qr": lambda a, b: numpy.linalg.qr(a),
    "eigh": lambda a, b: numpy.linalg.eigh(a),
    "eigvalsh": lambda a, b: numpy.linalg.eigvalsh(a),
    "svd": lambda a, b: numpy.linalg.svd(a, full_matrices=False),
    "svdvals": lambda a, b: numpy.linalg.svdvals(a),
    "det": lambda a, b: numpy.linalg.det(a),
    "slogdet": lambda a, b: numpy.linalg.slogdet(a),
    "pinv": lambda a, b: numpy.linalg.pinv(a),
    "eig": lambda a, b: numpy.linalg.eig(a),
}
SCIPY = {
    "cholesky": lambda a, b: scipy.linalg.cholesky(a, lower=True, check_finite=False),
    "solve": lambda a, b: scipy.linalg.solve(a, b, check_finite=False),
    "inv": lambda a, b: scipy.linalg.inv(a, check_finite=False),
    "qr": lambda a, b: scipy.linalg.qr(a, mode="economic", check_finite=False),
    "eigh": lambda a, b: scipy.linalg.eigh(a, check_finite=False),
    "eigvalsh": lambda a, b: scipy.linalg.eigvalsh(a, check_finite=False),
    "svd": lambda a, b: scipy.linalg.svd(a, full_matrices=False, check_finite=False),
    "svdvals": lambda a, b: scipy.linalg.svdvals(a, check_finite=False),
    "lu_factor": lambda a, b: scipy.linalg.lu_factor(a, check_finite=False),
    "det": lambda a, b: scipy.linalg.det(a, check_finite=False),
    "triangular_solve": lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True, check_finite=False),
    "cholesky_solve": lambda a, b: scipy.linalg.cho_solve((a, True), b, check_finite=False),
    "lstsq": lambda a, b: scipy.linalg.lstsq(a, b, lapack_driver="gelsy", check_finite=False),
    "pinv": lambda a, b: numpy.stack([scipy.linalg.pinv(x, check_finite=False) for x in a]),
    "matrix_exp": lambda a, b: scipy.linalg.expm(a),
    "eig": lambda a, b: scipy.linalg.eig(a, check_finite=False),
}


class Library:
    """One of them, with its inputs made. A run gives seconds of the wall and of all threads together."""

    def __init__(self, name, function, inputs, threads=None):
        self.name, self.function, self.inputs, self.threads = name, function, inputs, threads

    def run(self):
        if self.threads:
            torch.set_num_threads(self.threads)
        cpu, start = time.process_time(), time.perf_counter()
        self.function(*self.inputs)
        return time.perf_counter() - start, time.process_time() - cpu


def libraries(operation, batch, n, dtype, names, threads=(1, 2)):
    """`threads`: of torch, a library each."""
    a, b = matrices(operation, batch, n, dtype)
    tensors = torch.from_numpy(a), torch.from_numpy(b)
    all_of_them = [Library(f"torch, {t} thread{'s' * (t > 1)}", TORCH[operation], tensors, t) for t in threads]
    for name, table in ("numpy", NUMPY), ("scipy", SCIPY):
        if operation in table:
            all_of_them.append(Library(name, table[operation], (a, b)))
    return [x for x in all_of_them if x.name.split(",")[0] in names]
