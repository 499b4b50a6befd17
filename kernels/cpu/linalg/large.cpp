#include "kernels/cpu/linalg/large.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lapack.h"

namespace tern::cpu {
namespace {

using Complex = std::complex<double>;

/// Swaps rows and columns.
template <class T>
void transpose_square(std::int64_t n, T* x) {
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < r; ++c) std::swap(x[r * n + c], x[c * n + r]);
  }
}

char job_of(const void* z) {
  return z != nullptr ? 'V' : 'N';
}
char range_of(const EigenRange& r) {
  return r.selects_values ? 'V' : 'I';
}

/// LAPACK has column k of Z at z + k n.
template <class T>
std::int64_t store_range(std::int64_t n, int found, const std::vector<T>& columns, T* z) {
  for (std::int64_t r = 0; z != nullptr && r < n; ++r) {
    for (std::int64_t k = 0; k < found; ++k) z[r * n + k] = columns[static_cast<std::size_t>(k * n + r)];
  }
  return found;
}

}  // namespace

std::optional<bool> lapack_schur(std::int64_t rows, double* a, double* z) {
  const int n = lapack_size(rows);
  transpose_square(rows, a);
  std::vector<double> values(static_cast<std::size_t>(2 * rows)), work(1);
  int none = 0;
  for (const bool query : {true, false}) {
    const int length = query ? -1 : static_cast<int>(work.size());
    const int info = LAPACKE_dgees_work(LAPACK_COL_MAJOR, 'V', 'N', nullptr, n, a, n, &none, values.data(),
                                        values.data() + rows, z, n, work.data(), length, nullptr);
    if (!query && info != 0) return false;
    if (query) work.resize(static_cast<std::size_t>(work[0]));
  }
  transpose_square(rows, a);
  transpose_square(rows, z);
  return true;
}

std::optional<bool> lapack_schur(std::int64_t rows, Complex* a, Complex* z) {
  const int n = lapack_size(rows);
  transpose_square(rows, a);
  std::vector<Complex> values(static_cast<std::size_t>(rows)), work(1);
  std::vector<double> real(static_cast<std::size_t>(rows));
  int none = 0;
  for (const bool query : {true, false}) {
    const int length = query ? -1 : static_cast<int>(work.size());
    const int info = LAPACKE_zgees_work(LAPACK_COL_MAJOR, 'V', 'N', nullptr, n, a, n, &none, values.data(), z, n,
                                        work.data(), length, real.data(), nullptr);
    if (!query && info != 0) return false;
    if (query) work.resize(static_cast<std::size_t>(work[0].real()));
  }
  transpose_square(rows, a);
  transpose_square(rows, z);
  return true;
}

std::optional<std::int64_t> lapack_eigh_range(std::int64_t rows, double* a, const EigenRange& range, double* values,
                                              double* z) {
  const int n = lapack_size(rows), first = static_cast<int>(range.first) + 1, last = static_cast<int>(range.last) + 1;
  transpose_square(rows, a);
  std::vector<double> columns(static_cast<std::size_t>(z != nullptr ? rows * rows : 1)), work(1);
  std::vector<int> support(static_cast<std::size_t>(2 * rows)), integers(1);
  int found = 0;
  for (const bool query : {true, false}) {
    const int info = LAPACKE_dsyevr_work(LAPACK_COL_MAJOR, job_of(z), range_of(range), 'L', n, a, n, range.low,
                                         range.high, first, last, 0, &found, values, columns.data(), n, support.data(),
                                         work.data(), query ? -1 : static_cast<int>(work.size()), integers.data(),
                                         query ? -1 : static_cast<int>(integers.size()));
    if (!query && info != 0) return -1;
    if (query) work.resize(static_cast<std::size_t>(work[0])), integers.resize(static_cast<std::size_t>(integers[0]));
  }
  return store_range(rows, found, columns, z);
}

std::optional<std::int64_t> lapack_eigh_range(std::int64_t rows, Complex* a, const EigenRange& range, double* values,
                                              Complex* z) {
  const int n = lapack_size(rows), first = static_cast<int>(range.first) + 1, last = static_cast<int>(range.last) + 1;
  transpose_square(rows, a);
  std::vector<Complex> columns(static_cast<std::size_t>(z != nullptr ? rows * rows : 1)), work(1);
  std::vector<double> real(1);
  std::vector<int> support(static_cast<std::size_t>(2 * rows)), integers(1);
  int found = 0;
  for (const bool query : {true, false}) {
    const auto length = [query](const auto& x) { return query ? -1 : static_cast<int>(x.size()); };
    const int info =
        LAPACKE_zheevr_work(LAPACK_COL_MAJOR, job_of(z), range_of(range), 'L', n, a, n, range.low, range.high, first,
                            last, 0, &found, values, columns.data(), n, support.data(), work.data(), length(work),
                            real.data(), length(real), integers.data(), length(integers));
    if (!query && info != 0) return -1;
    if (!query) break;
    work.resize(static_cast<std::size_t>(work[0].real()));
    real.resize(static_cast<std::size_t>(real[0]));
    integers.resize(static_cast<std::size_t>(integers[0]));
  }
  return store_range(rows, found, columns, z);
}

std::optional<std::int64_t> lapack_tridiagonal_range(std::int64_t rows, double* d, double* e, const EigenRange& range,
                                                     double* values, double* z) {
  const int n = lapack_size(rows), first = static_cast<int>(range.first) + 1, last = static_cast<int>(range.last) + 1;
  std::vector<double> columns(static_cast<std::size_t>(z != nullptr ? rows * rows : 1)), work(1);
  std::vector<int> support(static_cast<std::size_t>(2 * rows)), integers(1);
  int found = 0;
  for (const bool query : {true, false}) {
    const int info = LAPACKE_dstevr_work(LAPACK_COL_MAJOR, job_of(z), range_of(range), n, d, e, range.low, range.high,
                                         first, last, 0, &found, values, columns.data(), n, support.data(), work.data(),
                                         query ? -1 : static_cast<int>(work.size()), integers.data(),
                                         query ? -1 : static_cast<int>(integers.size()));
    if (!query && info != 0) return -1;
    if (query) work.resize(static_cast<std::size_t>(work[0])), integers.resize(static_cast<std::size_t>(integers[0]));
  }
  return store_range(rows, found, columns, z);
}

}  // namespace tern::cpu
