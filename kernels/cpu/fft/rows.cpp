#include "kernels/cpu/fft/rows.h"

namespace tern::cpu {
namespace {

const RowTables& row_tables() {
  static const RowTables tables = best_loops<RowTables>(set_fft_rows_levels);
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
