#include "exporter/microscaling/scale_tiles.h"

namespace tern::microscaling {

ValueId scales_from_tiles(Builder& b, ValueId scales, const Dims& lead, Dim rows, Dim columns) {
  ExprPool& p = b.pool();
  const Dim tile_rows = p.ceildiv(rows, 128), tile_columns = p.ceildiv(columns, 4), matrix_count = p.product(lead);
  // A tile has 32 rows of 16 bytes: four rows of the matrix, 32 apart, with four columns each.
  ValueId v = b.permute(b.reshape(scales, {matrix_count, tile_rows, tile_columns, 32, 4, 4}), {0, 1, 4, 3, 2, 5});
  v = b.reshape(v, {matrix_count, p.mul(tile_rows, 128), p.mul(tile_columns, 4)});
  Dims shape = lead;
  shape.push_back(rows);
  shape.push_back(columns);
  return b.reshape(b.slice(b.slice(v, 1, 0, rows), 2, 0, columns), shape);
}

}  // namespace tern::microscaling
