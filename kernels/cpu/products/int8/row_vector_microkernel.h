// Rows by a packed weight with the instruction vpdpbusd, which adds four products of an integer with a sign and one
// without to each sum.
#pragma once

#include "kernels/cpu/products/int8/methods.h"
#include "kernels/cpu/products/tiles/row_vector_microkernel.h"

namespace tern::integer {
namespace {  // files of other instruction sets have their own

/// V: a vector of sums, and its instructions. `kWeight`: the weight has the sign, and the rows have none.
template <class V, bool kWeight>
struct VnniProducts : V {
  using Element = std::int32_t;
  using Sums = typename V::Vector;
  using Columns = typename V::Vector;
  static Columns columns(const std::byte* from) { return V::load(reinterpret_cast<const std::int32_t*>(from)); }
  static Sums add(Sums sums, Columns columns, std::int32_t group) {
    const Columns row = V::broadcast(group);
    return kWeight ? V::dot(sums, row, columns) : V::dot(sums, columns, row);
  }
};

template <class V, class Store>
void multiply_with_vnni(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results,
                        const Signs& signs, Store& store) {
  if (signs.weight) return amx::multiply_rows_in_vectors<VnniProducts<V, true>>(rows, weight, blocks, results, store);
  amx::multiply_rows_in_vectors<VnniProducts<V, false>>(rows, weight, blocks, results, store);
}

}  // namespace
}  // namespace tern::integer
