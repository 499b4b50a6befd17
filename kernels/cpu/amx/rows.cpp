#include "kernels/cpu/amx/rows.h"

#include "dtypes/cpu_level.h"

namespace tern::amx {

bool rows_possible() {
#if TERN_X86_LEVELS
  static const bool found =
      available() || (cpu_level() == CpuLevel::avx512 && __builtin_cpu_supports("avx512bf16") != 0);
  return found;
#else
  return false;
#endif
}

bool multiply_rows(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results) {
  return (available() ? multiply_rows_on_tiles : multiply_rows_on_vectors)(rows, weight, blocks, results);
}

}  // namespace tern::amx
