#include "kernels/cpu/fft/rows.h"

namespace tern::cpu {
namespace {

const RowTables& row_tables() {
  static const RowTables tables = [] {
    RowTables filled{};
    for_each_level(set_fft_rows_levels, [&](auto* fill) { fill(&filled); });  // better levels replace loops
    return filled;
  }();
  return tables;
}

}  // namespace

template <>
const RowLoops<float, float>& fft_rows() {
  return row_tables().f;
}
template <>
const RowLoops<float, double>& fft_rows() {
  return row_tables().f_in_double;
}
template <>
const RowLoops<double, double>& fft_rows() {
  return row_tables().d;
}

}  // namespace tern::cpu
