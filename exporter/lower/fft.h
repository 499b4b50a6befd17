// Helpers and tables of the lowerings of Fourier transforms.
#pragma once

#include <span>
#include <vector>

#include "exporter/lower/lower.h"
#include "schema/linalg_kinds.h"

namespace tern {

std::span<const Lowering> transform_lowerings();  ///< fft, rfft, hfft and their inverses
std::span<const Lowering> signal_lowerings();     ///< stft, istft, fftshift, fftfreq

struct Transform {
  FftKind kind = FftKind::complex_to_complex;
  bool forward = true;
  FftNorm norm = FftNorm::none;
  std::vector<std::int64_t> axes;
  Dim length = 0;  ///< complex_to_real: of the last axis
};
ValueId transform(Builder& b, ValueId x, const Transform& t);
/// Converts x to complex64 or complex128, the types of transforms.
ValueId as_complex(Builder& b, ValueId x);
/// x as float32 or float64.
ValueId as_real(Builder& b, ValueId x);
/// x cut off, or continued by zeros, to `size` along an axis.
ValueId resized(Builder& b, ValueId x, std::int64_t axis, Dim size);

}  // namespace tern
