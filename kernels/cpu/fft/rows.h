// Passes between rows of a tensor's elements and the lines of a transform.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"
#include "kernels/cpu/fft/plan.h"

namespace tern::cpu {

/// Loops for elements of type T and lines of type W. A row holds one number of each of `lanes` lines; rows begin
/// `distance` elements apart. A complex element takes two rows, real and imaginary parts. A real spectrum of `size`
/// elements has size / 2 + 1 complex ones.
template <class T, class W>
struct RowLoops {
  /// Reads complex elements [0, count).
  void (*read_complex)(const T* rows, std::int64_t distance, std::int64_t count, std::int64_t lanes, FftLines<W> x);
  void (*write_complex)(FftLines<W> x, std::int64_t count, std::int64_t lanes, W scale, T* rows, std::int64_t distance);
  /// Here complex elements of neighbouring lines alternate: real, imaginary, real, ...
  void (*read_pairs)(const T* pairs, std::int64_t distance, std::int64_t count, std::int64_t lanes, FftLines<W> x);
  void (*write_pairs)(FftLines<W> x, std::int64_t count, std::int64_t lanes, W scale, T* pairs, std::int64_t distance);
  /// Reads real elements; the imaginary parts are zero.
  void (*read_real)(const T* rows, std::int64_t distance, std::int64_t count, std::int64_t lanes, FftLines<W> x);
  void (*write_real)(FftLines<W> x, std::int64_t count, std::int64_t lanes, W scale, T* rows, std::int64_t distance);
  /// Reads a real spectrum, imaginary parts times `sign`. With `roots` (exp(-2 pi i k / size)), the lines' spectra of
  /// half the size whose transforms alternate even and odd elements of the signal; else the whole spectrum.
  void (*read_spectrum)(const T* rows, std::int64_t size, std::int64_t lanes, W sign, const W* roots, FftLines<W> x);
  /// Writes a real spectrum from lines of the same form.
  void (*write_spectrum)(FftLines<W> x, std::int64_t size, std::int64_t lanes, W scale, W sign, const W* roots,
                         T* rows);
};

/// Returns this processor's loops for float or double T.
template <class T, class W>
const RowLoops<T, W>& fft_rows();
template <>
const RowLoops<float, float>& fft_rows();
template <>
const RowLoops<float, double>& fft_rows();
template <>
const RowLoops<double, double>& fft_rows();

struct RowTables {
  RowLoops<float, float> f;
  RowLoops<float, double> f_in_double;
  RowLoops<double, double> d;
};

TERN_LEVEL_FUNCTIONS(vectors, set_fft_rows, RowTables* tables)

}  // namespace tern::cpu
