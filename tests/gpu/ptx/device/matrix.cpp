// Matrix fragments, in the layouts of the ISA's figures.
#include <cstdint>
#include <cstring>
#include <utility>

#include "tests/gpu/fibers/fibers.h"
#include "tests/gpu/ptx/device/device.h"

namespace {

constexpr u32 kWarp = 0xffffffff;

struct Access {
  char* shared;
  int count;
  bool transposed, stores;
};

// "Each row of 8 values of 16 bits starts at the address that thread i of the matrix's group of 8 gives: 0-7 for the
// first matrix, 8-15 the second...; thread i receives row i / 4, values 2 (i % 4) and the next." words: the address;
// then registers, starting at 1 for stores.
void combine_matrices(uint64_t, tern_fibers_words words, void* user) {
  const Access& access = *static_cast<const Access*>(user);
  for (int matrix = 0; matrix < access.count; ++matrix) {
    char* rows[8];
    for (int row = 0; row < 8; ++row) rows[row] = access.shared + words[matrix * 8 + row][0];
    for (int lane = 0; lane < 32; ++lane) {
      for (int half = 0; half < 2; ++half) {
        int row = lane / 4, column = lane % 4 * 2 + half;
        if (access.transposed) std::swap(row, column);
        u32& word = words[lane][1 + matrix];
        char* at = rows[row] + column * 2;
        if (access.stores) {
          const u16 value = static_cast<u16>(word >> 16 * half);
          std::memcpy(at, &value, 2);
        } else {
          u16 value = 0;
          std::memcpy(&value, at, 2);
          word = half ? (word & 0xffff) | u32{value} << 16 : value;
        }
      }
    }
  }
}

void access_matrices(tern_thread* thread, int line, const Access& access, u32* words, u32 address) {
  // Checks only the addresses of threads that give a row.
  if (static_cast<int>(thread->index & 31) < access.count * 8 &&
      (address % 16 || std::uint64_t{address} + 16 > thread->shared_bytes)) {
    tern_ptx_bad_address(thread, line, "shared", address, 16);
  }
  if (thread->counting && static_cast<int>(thread->index & 31) < access.count * 8) {
    ++thread->accesses;
    tern_ptx_count_shared(thread, line, access.stores ? TERN_STORE : TERN_LOAD, address, 16);
  }
  words[0] = address;
  tern_fibers_exchange(kWarp, combine_matrices, static_cast<u64>(line), const_cast<Access*>(&access), words, 5,
                       access.stores ? "stmatrix" : "ldmatrix", line);
}

void combine_movmatrix(uint64_t, tern_fibers_words words, void*) {
  u16 values[8][8];
  for (int lane = 0; lane < 32; ++lane) {
    for (int half = 0; half < 2; ++half)
      values[lane / 4][lane % 4 * 2 + half] = static_cast<u16>(words[lane][0] >> 16 * half);
  }
  for (int lane = 0; lane < 32; ++lane) {
    words[lane][0] = values[lane % 4 * 2][lane / 4] | u32{values[lane % 4 * 2 + 1][lane / 4]} << 16;
  }
}

struct Product {
  int m, k;
  tern_mma_type a, b;
  tern_mma_into accumulator;
  int selector = -1;  // says which lanes have the places of a sparse a; -1: a is not sparse
};

int bits_of(tern_mma_type type) {
  switch (type) {
    case TERN_MMA_F64: return 64;
    case TERN_MMA_TF32: return 32;
    case TERN_MMA_F16:
    case TERN_MMA_BF16: return 16;
    case TERN_MMA_S4:
    case TERN_MMA_U4: return 4;
    default: return 8;
  }
}

double decoded(tern_mma_type type, const u32* words, int index) {
  const int bits = bits_of(type), at = index * bits;
  if (bits == 64) {
    double value = 0;
    std::memcpy(&value, words + index * 2, sizeof value);
    return value;
  }
  const u32 mask = bits == 32 ? ~0u : (1u << bits) - 1, code = words[at / 32] >> at % 32 & mask;
  switch (type) {
    case TERN_MMA_F16: return tern_ptx_decode(TERN_F16, code);
    case TERN_MMA_BF16: return tern_ptx_decode(TERN_BF16, code);
    case TERN_MMA_TF32: return tern_ptx_decode(TERN_TF32, code);  // the low 13 bits are ignored
    case TERN_MMA_E4M3: return tern_ptx_decode(TERN_E4M3, code);
    case TERN_MMA_E5M2: return tern_ptx_decode(TERN_E5M2, code);
    case TERN_MMA_S8: return static_cast<s8>(code);
    case TERN_MMA_S4: return static_cast<s8>(code << 4) >> 4;
    default: return code;
  }
}

// Position of a thread's i-th value of a fragment. The figures give, for values of w bits, with g = lane / 4, t = lane
// % 4 and n = 32 / w values in a register (a single value of 32 or 64 bits): registers of `a` go down 8 rows first,
// then right by 4n columns; registers of `b` go down 4n rows; registers of `c` have two columns, and go down 8 rows.
struct ElementPosition {
  int row, column;
};
int per_register(tern_mma_type type) {
  return bits_of(type) >= 32 ? 1 : 32 / bits_of(type);
}
ElementPosition place_of_a(tern_mma_type type, int m, int lane, int i) {
  const int n = per_register(type), reg = i / n, tall = m / 8;
  return {lane / 4 + 8 * (reg % tall), lane % 4 * n + i % n + 4 * n * (reg / tall)};
}
ElementPosition place_of_b(tern_mma_type type, int lane, int i) {
  const int n = per_register(type), reg = i / n;
  return {lane % 4 * n + i % n + 4 * n * reg, lane / 4};
}
ElementPosition place_of_c(int lane, int i) {
  return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2};
}

// The words of a lane: a, b, c, the places of a sparse a; d overwrites a.
constexpr int kB = 4, kC = 8, kPlaces = 12;

// Column of the n-th kept element of a row of a sparse a, m16n8k32 of 16 bits: "for each 4 elements 2 are kept; 2 bits
// give an element's index". "A thread pair of a group of four consecutive threads has the metadata; selector 0: threads
// T0, T1; 1: T2, T3". The figure: the first thread of the pair has columns 0 to 15, the second 16 to 31; bits 0 to 15
// are of row g, bits 16 to 31 of row g + 8.
int sparse_column(tern_fibers_words words, int selector, int row, int n) {
  const int lane = row % 8 * 4 + 2 * selector + n / 8;
  return n / 2 * 4 + static_cast<int>(words[lane][kPlaces] >> (row / 8 * 16 + n % 8 * 2) & 3);
}

double value_of_c(const Product& product, const u32* words, int i) {
  switch (product.accumulator) {
    case TERN_MMA_INTO_F32: {
      float value = 0;
      std::memcpy(&value, words + i, sizeof value);
      return value;
    }
    case TERN_MMA_INTO_F16: return decoded(TERN_MMA_F16, words, i);
    case TERN_MMA_INTO_F64: return decoded(TERN_MMA_F64, words, i);
    default: return static_cast<s32>(words[i]);
  }
}

void put_d(const Product& product, u32* words, int i, double value, s64 integer) {
  switch (product.accumulator) {
    case TERN_MMA_INTO_F32: {
      const u32 code = tern_ptx_encode(TERN_F32, TERN_RN, 0, value);
      words[i] = code;
      break;
    }
    case TERN_MMA_INTO_F16: {
      const u32 code = tern_ptx_encode(TERN_F16, TERN_RN, 0, value);
      words[i / 2] = i % 2 ? (words[i / 2] & 0xffff) | code << 16 : code;
      break;
    }
    case TERN_MMA_INTO_F64: std::memcpy(words + i * 2, &value, sizeof value); break;
    case TERN_MMA_INTO_S32: words[i] = static_cast<u32>(integer); break;
    default: words[i] = static_cast<u32>(integer < INT32_MIN ? INT32_MIN : integer > INT32_MAX ? INT32_MAX : integer);
  }
}

// The order of additions and roundings on devices is unspecified; here a sum is in f64 and rounded once.
void combine_products(uint64_t, tern_fibers_words words, void* user) {
  const Product& product = *static_cast<const Product*>(user);
  double a[16][32] = {}, b[32][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    const bool sparse = product.selector >= 0;
    for (int i = 0; i < product.m * product.k / (sparse ? 64 : 32); ++i) {
      ElementPosition at = place_of_a(product.a, product.m, lane, i);
      if (sparse) at.column = sparse_column(words, product.selector, at.row, at.column);
      a[at.row][at.column] = decoded(product.a, words[lane], i);
    }
    for (int i = 0; i < product.k * 8 / 32; ++i) {
      const ElementPosition at = place_of_b(product.b, lane, i);
      b[at.row][at.column] = decoded(product.b, words[lane] + kB, i);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < product.m * 8 / 32; ++i) {
      const ElementPosition at = place_of_c(lane, i);
      const double c = value_of_c(product, words[lane] + kC, i);
      double sum = c;
      for (int k = 0; k < product.k; ++k) sum += a[at.row][k] * b[k][at.column];
      const bool whole = product.accumulator == TERN_MMA_INTO_S32 || product.accumulator == TERN_MMA_INTO_S32_SATURATED;
      put_d(product, words[lane], i, sum, whole ? static_cast<s64>(sum) : 0);
    }
  }
}

}  // namespace

extern "C" {

void tern_ptx_ldmatrix(tern_thread* thread, int line, int count, int transposed, u32 address, u32* d) {
  u32 words[5] = {};
  access_matrices(thread, line, {thread->shared, count, transposed != 0, false}, words, address);
  for (int i = 0; i < count; ++i) d[i] = words[1 + i];
}

void tern_ptx_stmatrix(tern_thread* thread, int line, int count, int transposed, u32 address, const u32* values) {
  u32 words[5] = {};
  for (int i = 0; i < count; ++i) words[1 + i] = values[i];
  access_matrices(thread, line, {thread->shared, count, transposed != 0, true}, words, address);
}

u32 tern_ptx_movmatrix(tern_thread*, int line, u32 value) {
  tern_fibers_exchange(kWarp, combine_movmatrix, static_cast<u64>(line), nullptr, &value, 1, "movmatrix", line);
  return value;
}

void tern_ptx_mma_sparse(tern_thread* thread, int line, int m, int k, tern_mma_type a_type, tern_mma_type b_type,
                         tern_mma_into into, const u32* a, const u32* b, const u32* c, u32 places, u32 selector,
                         int ordered, u32* d) {
  if (selector > 1) tern_ptx_trap(thread, line, "mma.sp with a sparsity selector that the shape lacks");
  // "Values 0b0000, 0b0101, 0b1010, 0b1111 are invalid and result in undefined behavior"; "ordered_metadata: the
  // indices are in increasing order".
  for (int block = 0; block < 8 && (thread->index & 3) / 2 == selector; ++block) {
    const u32 first = places >> 4 * block & 3, second = places >> (4 * block + 2) & 3;
    if (first == second) tern_ptx_trap(thread, line, "mma.sp with two elements at one place");
    if (ordered && first > second) tern_ptx_trap(thread, line, "mma.sp with places that do not ascend");
  }
  Product product{m, k, a_type, b_type, into, static_cast<int>(selector)};
  u32 words[13] = {};
  std::memcpy(words, a, 4 * sizeof(u32));
  std::memcpy(words + kB, b, 4 * sizeof(u32));
  const std::size_t sums = into == TERN_MMA_INTO_F16 ? 2 : 4;
  std::memcpy(words + kC, c, sums * sizeof(u32));
  words[kPlaces] = places;
  tern_fibers_exchange(kWarp, combine_products, static_cast<u64>(line), &product, words, 13, "mma.sp.sync", line);
  std::memcpy(d, words, sums * sizeof(u32));
}

void tern_ptx_mma(tern_thread*, int line, int m, int k, tern_mma_type a_type, tern_mma_type b_type, tern_mma_into into,
                  const u32* a, const u32* b, const u32* c, u32* d) {
  Product product{m, k, a_type, b_type, into};
  const bool twice = into == TERN_MMA_INTO_F64;
  const int a_words = twice ? 2 : m * k * bits_of(a_type) / 32 / 32,
            b_words = twice ? 2 : k * 8 * bits_of(b_type) / 32 / 32;
  const int c_words = twice ? 4 : m * 8 / 32 / (into == TERN_MMA_INTO_F16 ? 2 : 1);
  u32 words[12] = {};
  std::memcpy(words, a, sizeof(u32) * static_cast<std::size_t>(a_words));
  std::memcpy(words + kB, b, sizeof(u32) * static_cast<std::size_t>(b_words));
  std::memcpy(words + kC, c, sizeof(u32) * static_cast<std::size_t>(c_words));
  tern_fibers_exchange(kWarp, combine_products, static_cast<u64>(line), &product, words, 12, "mma.sync", line);
  std::memcpy(d, words, sizeof(u32) * static_cast<std::size_t>(c_words));
}

}  // extern "C"
