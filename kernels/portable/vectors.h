// Vectors of floats in a single item: OpenCL C's vectors, on processors running an item at a time. Elsewhere an item is
// a lane of a vector, and has single floats.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/portable/launcher.h"
#include "kernels/portable/source.h"

namespace tern::portable {

/// A tile of a product: rows of `vectors` vectors of `vector` floats for an item; `items` items share a panel.
struct VectorTile {
  std::int64_t rows, vectors, vector, items;
  std::int64_t panel() const { return vectors * vector * items; }
  bool has_vectors() const { return vector > 1; }
};

/// The tile with sums filling a device's registers: 32 registers of 16 floats, or 16 of fewer.
inline VectorTile widest_tile(const Target& target) {
  if (target.dialect != Dialect::opencl || target.vector_floats < 4) return {12, 1, 1, 64};
  return target.vector_floats >= 16 ? VectorTile{12, 2, 16, 1} : VectorTile{6, 2, target.vector_floats >= 8 ? 8 : 4, 1};
}

/// VECTOR_T, VECTOR_LOAD(p), VECTOR_STORE(p, v), and the tile's numbers.
inline void declare_tile(KernelSource& s, const VectorTile& t) {
  s.define("ROWS", t.rows);
  s.define("VECTORS", t.vectors);
  s.define("VECTOR", t.vector);
  s.define("ITEMS", t.items);
  const std::string n = std::to_string(t.vector);
  s.define("VECTOR_T", t.has_vectors() ? "float" + n : "float");
  s.define("VECTOR_LOAD(p)", t.has_vectors() ? "vload" + n + "(0, p)" : "(*(p))");
  s.define("VECTOR_STORE(p, v)", t.has_vectors() ? "vstore" + n + "(v, 0, p)" : "*(p) = (v)");
}

}  // namespace tern::portable
