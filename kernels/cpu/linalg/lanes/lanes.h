// Kernels for batches of small matrices, one per lane of a vector (loops.h). The LAPACK kernels of the parent folder
// compute all other batches.
#pragma once

#include "kernels/cpu/linalg/lanes/run.h"

namespace tern::cpu::lanes {

/// Declares an op: `fits` is true if lanes are faster for a call; `run` computes the call.
#define TERN_LANES(name)                                \
  struct name {                                         \
    static bool supports(const KernelCall& c);          \
    static std::size_t scratch(const KernelCall& c);    \
    static void run(KernelCall& c, Leftover& leftover); \
  };
TERN_LANES(Cholesky)
TERN_LANES(LuFactor)
TERN_LANES(LuSolve)
TERN_LANES(FactorSolve)
TERN_LANES(TriangularSolve)
TERN_LANES(Qr)
TERN_LANES(Householder)
TERN_LANES(Eigh)
TERN_LANES(Svd)
#undef TERN_LANES

void run_any_leftover(const AnyJob& job, const Leftover& leftover, Failure& failure);

/// Computes the leftover of a batch, matrix by matrix.
template <class Job>
void run_leftover(const KernelCall& c, const Leftover& leftover) {
  const Job job(c);
  Failure failure;
  run_any_leftover({&job, job.count, job.flops, bytes_of(job), do_matrices<Job>}, leftover, failure);
  if (failure.exists()) fail_matrix(failure, job.count);
}

template <class Lanes, int kSmall>
bool serves(const KernelCall& c) {
  return Lanes::supports(c) || is_large<kSmall>(c);
}
template <class Lanes, template <class> class Job>
std::size_t scratch(const KernelCall& c) {
  return Lanes::supports(c) ? Lanes::scratch(c) : cpu::scratch_by_type<Job>(c);
}
template <class Lanes, template <class> class Job>
void run(KernelCall& c) {
  if (!Lanes::supports(c)) return cpu::run_by_type<Job>(c);
  Leftover leftover;
  Lanes::run(c, leftover);
  if (!leftover.exists() && !leftover.failure.exists()) return;
  switch (c.in[0].dtype) {
    case DType::f64: return run_leftover<Job<double>>(c, leftover);
    case DType::c64: return run_leftover<Job<std::complex<float>>>(c, leftover);
    case DType::c128: return run_leftover<Job<std::complex<double>>>(c, leftover);
    default: return run_leftover<Job<float>>(c, leftover);
  }
}

/// Makes a kernel: lanes if they fit, LAPACK's job for matrices of more than `kSmall` rows or columns, otherwise the
/// portable definition.
template <class Lanes, template <class> class Job, int kSmall>
Kernel kernel_with() {
  Kernel k;
  k.serves = serves<Lanes, kSmall>;
  k.run = run<Lanes, Job>;
  k.scratch = scratch<Lanes, Job>;
  k.strided = kAllStrided;
  return k;
}

}  // namespace tern::cpu::lanes
