// Numbers of element types (tern/dtype.h).
#pragma once

namespace tern::gpu {

enum DTypeNumber : int {
  kBool = 1,
  kI8 = 3,
  kI32 = 5,
  kF16 = 10,
  kBf16 = 11,
  kF32 = 12,
  kF64 = 13,
  kE4m3 = 17,
  kE5m2 = 18,
  kE4m3Fnuz = 19,
  kE5m2Fnuz = 20
};

}  // namespace tern::gpu
