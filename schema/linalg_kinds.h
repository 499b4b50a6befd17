// The enumerations of attributes of linear algebra and transforms. The numbers are part of the archive format.
#pragma once

#include <cstdint>

namespace tern {

/// Attribute `kind` of fft: input and output types.
enum class FftKind : std::uint8_t {
  complex_to_complex = 0,
  real_to_complex = 1,  ///< the non-redundant half of the spectrum
  complex_to_real = 2,  ///< input is the non-redundant half
};
inline constexpr int kFftKinds = 3;

/// Attribute `norm` of fft: divisor of the sums; n is the number of elements of the transform.
enum class FftNorm : std::uint8_t { none = 0, root_n = 1, n = 2 };
inline constexpr int kFftNorms = 3;

/// Attribute `mode` of qr.
enum class QrKind : std::uint8_t {
  reduced = 0,
  complete = 1,
  r = 2,           ///< R alone
  reflectors = 3,  ///< R above the Householder vectors, and their factors: LAPACK's geqrf
};
inline constexpr int kQrKinds = 4;

/// Attribute `kind` of householder.
enum class HouseholderKind : std::uint8_t { product = 0, multiply = 1 };
inline constexpr int kHouseholderKinds = 2;

/// Attribute `transpose` of the solvers and of householder: operation applied to the matrix.
enum class TransposeKind : std::uint8_t { none = 0, transpose = 1, adjoint = 2 };
inline constexpr int kTransposes = 3;

/// Attribute `mode` of lstsq: LAPACK's driver.
enum class LstsqKind : std::uint8_t { gels = 0, gelsy = 1, gelsd = 2, gelss = 3 };
inline constexpr int kLstsqKinds = 4;

}  // namespace tern
