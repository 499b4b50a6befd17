// Stands in for LAPACK in builds without LAPACK: the portable definitions of linear algebra, compiled into Tern, serve.
#include "kernels/cpu/linalg/large.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern {

void register_cpu_linalg(KernelTable& t) {
  t.set(Op::fft, cpu::fft_kernel());
}

namespace cpu {

bool solves_unfactored(const Kernel&) {
  return false;
}

std::optional<bool> lapack_schur(std::int64_t, double*, double*) {
  return std::nullopt;
}
std::optional<bool> lapack_schur(std::int64_t, std::complex<double>*, std::complex<double>*) {
  return std::nullopt;
}
std::optional<std::int64_t> lapack_eigh_range(std::int64_t, double*, const EigenRange&, double*, double*) {
  return std::nullopt;
}
std::optional<std::int64_t> lapack_eigh_range(std::int64_t, std::complex<double>*, const EigenRange&, double*,
                                              std::complex<double>*) {
  return std::nullopt;
}
std::optional<std::int64_t> lapack_tridiagonal_range(std::int64_t, double*, double*, const EigenRange&, double*,
                                                     double*) {
  return std::nullopt;
}

}  // namespace cpu
}  // namespace tern
