// Between matrices in memory and tiles: four elements of four matrices at a time, transposed in registers.

template <class T>
using Four = typename Lane<T>::Four;

/// Columns of four matrices that are moved before those of the next four: a line of the caches. Matrices lie a power of
/// two apart so often that lines of all of them would fall in one set of the first-level cache.
template <class T>
inline constexpr std::int64_t kLine = 64 / sizeof(T);

/// Calls f(first column, first lane) for groups of four of both, and returns the columns that this covers.
template <class T, class F>
TERN_SIMD_INLINE std::int64_t each_four(std::int64_t columns, int lanes, F&& f) {
  const std::int64_t end = columns & ~std::int64_t{3};
  for (std::int64_t begin = 0; begin < end; begin += kLine<T>) {
    const std::int64_t stop = begin + kLine<T> < end ? begin + kLine<T> : end;
    for (int l = 0; l < lanes; l += 4) {
      for (std::int64_t c = begin; c < stop; c += 4) f(c, l);
    }
  }
  return end;
}

/// One row of each matrix, from[lane], to a row of a tile; `column` apart there.
template <class T>
void pack_row(const T* const* from, std::int64_t step, std::int64_t n, T* to, std::ptrdiff_t column) {
  constexpr int lanes = kWidth<T>;
  std::int64_t c = 0;
  if (lanes % 4 == 0 && step == 1) {
    c = each_four<T>(n, lanes, [&](std::int64_t at, int l) {
      Four<T> q[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&q[i], from[l + i] + at, sizeof q[i]);
      simd::transpose(q);
      for (int i = 0; i < 4; ++i) __builtin_memcpy(to + (at + i) * column * lanes + l, &q[i], sizeof q[i]);
    });
  }
  for (; c < n; ++c) {
    for (int l = 0; l < lanes; ++l) to[c * column * lanes + l] = from[l][c * step];
  }
}

template <class T>
void unpack_row(const T* from, std::ptrdiff_t column, std::int64_t n, int count, T* const* to, std::int64_t step) {
  constexpr int lanes = kWidth<T>;
  const int fours = lanes % 4 == 0 && step == 1 ? count & ~3 : 0;
  const std::int64_t covered = each_four<T>(n, fours, [&](std::int64_t at, int l) {
    Four<T> q[4];
    for (int i = 0; i < 4; ++i) __builtin_memcpy(&q[i], from + (at + i) * column * lanes + l, sizeof q[i]);
    simd::transpose(q);
    for (int i = 0; i < 4; ++i) __builtin_memcpy(to[l + i] + at, &q[i], sizeof q[i]);
  });
  for (std::int64_t c = 0; c < n; ++c) {
    for (int l = c < covered ? fours : 0; l < count; ++l) to[l][c * step] = from[c * column * lanes + l];
  }
}

/// The same elements with rows and columns exchanged, or as one row, if rows are longer that way.
template <class M, class T>
void lengthen_rows(M& m, Tile<T>& t, bool ordered) {
  if (ordered) return;
  if (m.column != 1 && m.row == 1) {
    const std::int64_t rows = m.rows, row = m.row;
    const std::ptrdiff_t tile_row = t.row;
    m.rows = m.columns, m.columns = rows;
    m.row = m.column, m.column = row;
    t.row = t.column, t.column = tile_row;
  }
  if (m.column == 1 && m.row == m.columns && t.row == t.column * m.columns) {
    m.columns *= m.rows;
    m.rows = 1;
  }
}

template <class T>
void pack(const Matrices<const T>& source, const std::int32_t* order, const Tile<T>& tile) {
  constexpr int lanes = kWidth<T>;
  Matrices<const T> from = source;
  Tile<T> to = tile;
  lengthen_rows(from, to, order != nullptr);
  for (std::int64_t r = 0; r < from.rows; ++r) {
    const T* rows[lanes];
    for (int l = 0; l < lanes; ++l) rows[l] = from.at[l] + (order != nullptr ? order[r * lanes + l] : r) * from.row;
    pack_row<T>(rows, from.column, from.columns, to.data + r * to.row * lanes, to.column);
  }
}

template <class T>
void unpack(const Tile<T>& tile, const std::int32_t* order, int count, const Matrices<T>& matrices) {
  constexpr int lanes = kWidth<T>;
  Matrices<T> to = matrices;
  Tile<T> from = tile;
  lengthen_rows(to, from, order != nullptr);
  for (std::int64_t r = 0; r < to.rows; ++r) {
    T* rows[lanes];
    for (int l = 0; l < count; ++l) rows[l] = to.at[l] + (order != nullptr ? order[r * lanes + l] : r) * to.row;
    unpack_row<T>(from.data + r * from.row * lanes, from.column, to.columns, count, rows, to.column);
  }
}

template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  const std::int64_t row_end = rows & ~std::int64_t{3}, column_end = columns & ~std::int64_t{3};
  for (std::int64_t r = 0; r < row_end; r += 4) {
    for (std::int64_t c = 0; c < column_end; c += 4) {
      Four<T> q[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&q[i], from + (r + i) * columns + c, sizeof q[i]);
      simd::transpose(q);
      for (int i = 0; i < 4; ++i) __builtin_memcpy(to + (c + i) * rows + r, &q[i], sizeof q[i]);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < row_end ? column_end : 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  }
}
