// Conversion of too large values to float8_e4m3fn.
#pragma once

#include <cstdint>

namespace tern {

/// PyTorch changed the policy in 2.15, so a program stores the policy of the exporting version. Only float8_e4m3fn
/// depends on the policy: float8_e5m2 overflows to infinity and the fnuz types to NaN in every version, and the 6- and
/// 4-bit types can only saturate.
enum class Overflow : std::uint8_t {
  to_nan,    ///< before 2.15: 464 becomes 448, larger values and infinity become NaN
  saturate,  ///< since 2.15: values larger than 448 and infinity become 448 with the sign of the input
};

}  // namespace tern
