// Loops over threads: OpenMP with the caller's thread count, exceptions carried out of the parallel region.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace tern {

/// Calls f(begin, end) for parts of 0..n, at least `grain` items each but for the last, on as many threads as that
/// allows.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  if (n <= 0) return;
  const std::int64_t parts = std::min<std::int64_t>(omp_get_max_threads(), n / std::max<std::int64_t>(grain, 1));
  if (parts <= 1 || omp_in_parallel()) {
    f(std::int64_t{0}, n);
    return;
  }
  std::exception_ptr error;
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (std::int64_t p = 0; p < parts; ++p) {
    const std::int64_t begin = p * (n / parts) + std::min(p, n % parts);
    const std::int64_t end = begin + n / parts + (p < n % parts ? 1 : 0);
    try {
      f(begin, end);
    } catch (...) {
#pragma omp critical(tern_parallel_for)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace tern
