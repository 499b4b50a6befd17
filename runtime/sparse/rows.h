// The arrays of a sparse matrix.
#pragma once

#include <tern/sparse.h>

namespace tern::sparse {

template <class T>
struct Rows {
  const std::int64_t *starts, *indices;
  const T* values;

  explicit Rows(const Csr& a)
      : starts(a.starts().span<std::int64_t>().data()),
        indices(a.indices().span<std::int64_t>().data()),
        values(a.values().span<T>().data()) {}
};

}  // namespace tern::sparse
