// Copies between matrices and tiles: four elements of each matrix at a time, transposed in registers.

template <class T>
using Four = typename Lane<T>::Four;
/// Vectors of four matrices each per tile vector; 0: none.
template <class T>
inline constexpr int kQuarters = kWidth<T> / 4;

template <int... kIndices, class X>
TERN_SIMD_INLINE auto chosen(X x, X y) {
  return __builtin_shufflevector(x, y, kIndices...);
}

/// A vector of `kCount` parts.
template <class T, int kCount>
TERN_SIMD_INLINE auto joined(const Four<T>* parts) {
  if constexpr (kCount == 1) {
    return parts[0];
  } else if constexpr (kCount == 2) {
    return chosen<0, 1, 2, 3, 4, 5, 6, 7>(parts[0], parts[1]);
  } else {
    const auto low = joined<T, 2>(parts), high = joined<T, 2>(parts + 2);
    return chosen<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>(low, high);
  }
}
template <class T, int kPart>
TERN_SIMD_INLINE Four<T> part_of(V<T> x) {
  return chosen<4 * kPart, 4 * kPart + 1, 4 * kPart + 2, 4 * kPart + 3>(x, x);
}

/// Shuffles two vectors: lane i takes element F::at(i).
template <class T, class F, int... kI>
TERN_SIMD_INLINE V<T> shuffled(V<T> x, V<T> y, F, std::integer_sequence<int, kI...>) {
  return chosen<F::source_index(kI)...>(x, y);
}
/// Alternates between two vectors: the first and third of each four, or with kSecond the second and fourth (floats,
/// with parts of 16 bytes: the first two, the last two).
template <class T, int kSecond>
struct AlternatePairs {
  static constexpr int source_index(int i) {
    const int part = i / 4 * 4, k = i % 4 / 2;
    return part + (sizeof(T) == 4 ? k + 2 * kSecond : 2 * k + kSecond) + i % 2 * kWidth<T>;
  }
};
/// Takes the first two of each four from both vectors, or the last two.
template <class T, int kSecond>
struct Halves {
  static constexpr int source_index(int i) { return i / 4 * 4 + i % 2 + 2 * kSecond + i % 4 / 2 * kWidth<T>; }
};
template <class T>
TERN_SIMD_INLINE void transpose_parts(V<T> (&q)[4]) {
  constexpr auto all = std::make_integer_sequence<int, kWidth<T>>{};
  const V<T> a = shuffled<T>(q[0], q[1], AlternatePairs<T, 0>{}, all),
             b = shuffled<T>(q[0], q[1], AlternatePairs<T, 1>{}, all);
  const V<T> c = shuffled<T>(q[2], q[3], AlternatePairs<T, 0>{}, all),
             d = shuffled<T>(q[2], q[3], AlternatePairs<T, 1>{}, all);
  const V<T> first = shuffled<T>(a, c, Halves<T, 0>{}, all), other = shuffled<T>(a, c, Halves<T, 1>{}, all);
  const V<T> last = shuffled<T>(b, d, Halves<T, 1>{}, all), second = shuffled<T>(b, d, Halves<T, 0>{}, all);
  q[0] = first, q[3] = last;
  q[1] = sizeof(T) == 4 ? other : second, q[2] = sizeof(T) == 4 ? second : other;
}

/// Returns the next start of a group of four in a row of `n` >= 4 elements; the last group may overlap.
TERN_SIMD_INLINE std::int64_t next_four(std::int64_t at, std::int64_t n) {
  return at + 8 <= n ? at + 4 : at + 4 < n ? n - 4 : n;
}

/// Returns the offset of number e of a row with elements `apart`: a complex element is two numbers.
template <bool kPairs>
TERN_SIMD_INLINE std::ptrdiff_t element_offset(std::int64_t e, std::ptrdiff_t apart) {
  return kPairs ? e / 2 * 2 * apart + e % 2 : e * apart;
}

/// Packs a row of `n` numbers per matrix, from[lane], into a row of a tile with elements `column` apart.
template <class T, bool kPairs>
void pack_row(const T* const* from, std::int64_t step, std::int64_t n, T* to, std::ptrdiff_t column) {
  constexpr int lanes = kWidth<T>;
  if constexpr (kQuarters < T >> 0) {
    if (step == 1 && n >= 4) {
      for (std::int64_t c = 0; c < n; c = next_four(c, n)) {
        V<T> q[4];
        for (int i = 0; i < 4; ++i) {
          Four<T> parts[kQuarters<T>];
          for (int p = 0; p < kQuarters<T>; ++p) __builtin_memcpy(&parts[p], from[4 * p + i] + c, sizeof parts[p]);
          q[i] = joined<T, kQuarters<T>>(parts);
        }
        transpose_parts<T>(q);
        for (int i = 0; i < 4; ++i) *registers<T>(to + element_offset<kPairs>(c + i, column) * lanes) = q[i];
      }
      return;
    }
  }
  for (std::int64_t c = 0; c < n; ++c) {
    for (int l = 0; l < lanes; ++l)
      to[element_offset<kPairs>(c, column) * lanes + l] = from[l][element_offset<kPairs>(c, step)];
  }
}

template <class T, int... kPart>
TERN_SIMD_INLINE void store_parts(V<T> x, T* const* to, std::integer_sequence<int, kPart...>) {
  const Four<T> parts[] = {part_of<T, kPart>(x)...};
  for (int p = 0; p < kQuarters<T>; ++p) __builtin_memcpy(to[4 * p], &parts[p], sizeof parts[p]);
}
template <class T, bool kPairs>
void unpack_row(const T* from, std::ptrdiff_t column, std::int64_t n, int count, T* const* to, std::int64_t step) {
  constexpr int lanes = kWidth<T>;
  if constexpr (kQuarters < T >> 0) {
    if (step == 1 && n >= 4 && count == lanes) {
      for (std::int64_t c = 0; c < n; c = next_four(c, n)) {
        V<T> q[4];
        for (int i = 0; i < 4; ++i) q[i] = *registers<T>(from + element_offset<kPairs>(c + i, column) * lanes);
        transpose_parts<T>(q);
        for (int i = 0; i < 4; ++i) {
          T* at[lanes];
          for (int p = 0; p < kQuarters<T>; ++p) at[4 * p] = to[4 * p + i] + c;
          store_parts<T>(q[i], at, std::make_integer_sequence<int, kQuarters<T>>{});
        }
      }
      return;
    }
  }
  for (std::int64_t c = 0; c < n; ++c) {
    for (int l = 0; l < count; ++l)
      to[l][element_offset<kPairs>(c, step)] = from[element_offset<kPairs>(c, column) * lanes + l];
  }
}

/// True if `count` matrices are adjacent, `apart` elements each.
template <class T>
TERN_SIMD_INLINE bool follow(T* const* at, int count, std::int64_t apart) {
  bool all = true;
  for (int l = 1; l < count; ++l) all = all && at[l] == at[0] + l * apart;
  return all;
}
// Gathers two or three adjacent elements of each matrix: element e of lane l is number l * kN + e. Lane i first takes
// from two vectors, then from the third.
template <class T, int kN, int kE, bool kThird>
struct Spaced {
  static constexpr int source_index(int i) {
    const int from = i * kN + kE, past = 2 * kWidth<T>;
    return kThird ? (from < past ? i : from - past + kWidth<T>) : (from < past ? from : 0);
  }
};
template <class T, int kN, int kE, bool kThird>
struct Woven {
  static constexpr int source_index(int i) {
    const int number = kE * kWidth<T> + i, e = number % kN, l = number / kN;
    return kThird ? (e < 2 ? i : l + kWidth<T>) : e < 2 ? l + e * kWidth<T> : 0;
  }
};
template <class T, int kN, template <class, int, int, bool> class Pattern, int... kE>
TERN_SIMD_INLINE void rearrange(const V<T> (&in)[kN], V<T> (&out)[kN], std::integer_sequence<int, kE...>) {
  constexpr auto all = std::make_integer_sequence<int, kWidth<T>>{};
  ((out[kE] = shuffled<T>(in[0], in[1], Pattern<T, kN, kE, false>{}, all)), ...);
  if constexpr (kN > 2) ((out[kE] = shuffled<T>(out[kE], in[2], Pattern<T, kN, kE, true>{}, all)), ...);
}
template <class T, int kN>
TERN_SIMD_INLINE void pack_few(const T* from, T* to, std::ptrdiff_t column) {
  V<T> in[kN], out[kN];
  __builtin_memcpy(in, from, sizeof in);
  rearrange<T, kN, Spaced>(in, out, std::make_integer_sequence<int, kN>{});
  for (int e = 0; e < kN; ++e) registers<T>(to)[e * column] = out[e];
}
template <class T, int kN>
TERN_SIMD_INLINE void unpack_few(const T* from, std::ptrdiff_t column, T* to) {
  V<T> in[kN], out[kN];
  for (int e = 0; e < kN; ++e) in[e] = registers<T>(from)[e * column];
  rearrange<T, kN, Woven>(in, out, std::make_integer_sequence<int, kN>{});
  __builtin_memcpy(to, out, sizeof out);
}

/// Exchanges rows and columns, or merges everything into a row, if this lengthens rows.
template <class M, class T>
void lengthen_rows(M& m, Tile<T>& t, bool ordered) {
  if (ordered) return;
  if ((m.column != 1 && m.row == 1) || m.columns == 1) {
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
void pack(const LaneMatrices<const T>& source, const std::int32_t* order, const Tile<T>& tile) {
  using R = RealPart<T>;
  constexpr int lanes = kWidth<T>, parts = kIsComplex<T> ? 2 : 1;
  LaneMatrices<const T> from = source;
  Tile<T> to = tile;
  lengthen_rows(from, to, order != nullptr);
  if (order == nullptr && follow(from.data, lanes, 0)) {  // the same matrix in all lanes
    for (std::int64_t r = 0; r < from.rows; ++r) {
      for (std::int64_t c = 0; c < from.columns; ++c)
        registers<T>(to.data)[r * to.row + c * to.column] = repeated<T>(from.data[0] + r * from.row + c * from.column);
    }
    return;
  }
  if constexpr (!kIsComplex<T>) {
    if (order == nullptr && from.rows == 1 && from.column == 1 && follow(from.data, lanes, from.columns)) {
      if (from.columns == 2) return pack_few<T, 2>(from.data[0], to.data, to.column);
      if (from.columns == 3) return pack_few<T, 3>(from.data[0], to.data, to.column);
    }
  }
  for (std::int64_t r = 0; r < from.rows; ++r) {
    const R* rows[lanes];
    for (int l = 0; l < lanes; ++l) {
      const T* row = from.data[l] + (order != nullptr ? order[r * lanes + l] : r) * from.row;
      rows[l] = reinterpret_cast<const R*>(row);
    }
    pack_row<R, kIsComplex<T>>(rows, from.column, parts * from.columns,
                               reinterpret_cast<R*>(to.data + r * to.row * lanes), to.column);
  }
}

template <class T>
void unpack(const Tile<T>& tile, const std::int32_t* order, int count, const LaneMatrices<T>& matrices) {
  using R = RealPart<T>;
  constexpr int lanes = kWidth<T>, parts = kIsComplex<T> ? 2 : 1;
  LaneMatrices<T> to = matrices;
  Tile<T> from = tile;
  lengthen_rows(to, from, order != nullptr);
  if constexpr (!kIsComplex<T>) {
    if (order == nullptr && to.rows == 1 && count == lanes && follow(to.data, lanes, to.columns)) {
      if (to.columns == 2) return unpack_few<T, 2>(from.data, from.column, to.data[0]);
      if (to.columns == 3) return unpack_few<T, 3>(from.data, from.column, to.data[0]);
    }
  }
  for (std::int64_t r = 0; r < to.rows; ++r) {
    R* rows[lanes];
    for (int l = 0; l < count; ++l)
      rows[l] = reinterpret_cast<R*>(to.data[l] + (order != nullptr ? order[r * lanes + l] : r) * to.row);
    unpack_row<R, kIsComplex<T>>(reinterpret_cast<const R*>(from.data + r * from.row * lanes), from.column,
                                 parts * to.columns, count, rows, to.column);
  }
}

/// Transposes a block that fits the first-level cache, even with rows a power of two apart.
template <class T>
TERN_SIMD_INLINE void transpose_block(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t from_row,
                                      T* to, std::int64_t to_row) {
  std::int64_t row_end = 0, column_end = 0;
  if constexpr (!kIsComplex<T>) {
    row_end = rows & ~std::int64_t{3}, column_end = columns & ~std::int64_t{3};
    for (std::int64_t c = 0; c < column_end; c += 4) {
      for (std::int64_t r = 0; r < row_end; r += 4) {
        Four<T> q[4];
        for (int i = 0; i < 4; ++i) __builtin_memcpy(&q[i], from + (r + i) * from_row + c, sizeof q[i]);
        simd::transpose(q);
        for (int i = 0; i < 4; ++i) __builtin_memcpy(to + (c + i) * to_row + r, &q[i], sizeof q[i]);
      }
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < row_end ? column_end : 0; c < columns; ++c)
      __builtin_memcpy(to + c * to_row + r, from + r * from_row + c, sizeof(T));
  }
}
template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t from_row, T* to,
               std::int64_t to_row) {
  constexpr std::int64_t block_rows = 16, block_columns = 8;
  for (std::int64_t r = 0; r < rows; r += block_rows) {
    const std::int64_t some_rows = r + block_rows < rows ? block_rows : rows - r;
    for (std::int64_t c = 0; c < columns; c += block_columns) {
      transpose_block<T>(from + r * from_row + c, some_rows, c + block_columns < columns ? block_columns : columns - c,
                         from_row, to + c * to_row + r, to_row);
    }
  }
}
