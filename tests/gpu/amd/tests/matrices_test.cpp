// Matrix products of a wave, on small integers with exact sums in every order. The layout of elements in lanes follows
// each instruction's description in the ISA's manual, unconfirmed by hardware.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/gpu/amd/tests/launcher.h"

namespace tern::gpu::amd {
namespace {

struct Shape {
  const char* builtin;
  const char* operand;  // type of A and B in a lane
  int size, depth, per_lane;
  const char* element;  // of memory
};

// Aligns like GPU memory.
template <class T>
std::shared_ptr<T> aligned(const std::vector<T>& values) {
  const std::size_t bytes = (values.size() * sizeof(T) + 255) / 256 * 256;
  std::shared_ptr<T> copy(static_cast<T*>(std::aligned_alloc(256, bytes)), std::free);
  std::copy(values.begin(), values.end(), copy.get());
  return copy;
}

int value(int i, int k) {
  return (i * 7 + k * 3) % 11 - 5;
}

void check(const Shape& shape) {
  SCOPED_TRACE(shape.builtin);
  const std::string results = std::to_string(shape.size * shape.size / 64);
  const Library library(std::string("typedef ") + shape.element + " element; typedef " + shape.operand +
                        " operand; typedef float result __attribute__((ext_vector_type(" + results + R"()));
    extern "C" __global__ void k(const operand* a, const operand* b, const result* c, result* d) {
      const int t = threadIdx.x;
      d[t] = )" + shape.builtin +
                        "(a[t], b[t], c[t], 0, 0, 0); }");
  const auto bits = [&](int v) -> std::vector<std::uint8_t> {
    std::vector<std::uint8_t> bytes(4);
    const float f = static_cast<float>(v);
    std::memcpy(bytes.data(), &f, 4);
    if (shape.per_lane == 1) return bytes;
    const std::string operand = shape.operand;
    const _Float16 h = static_cast<_Float16>(v);
    if (operand.find("_Float16") != std::string::npos)
      std::memcpy(bytes.data(), &h, 2);
    else
      return {bytes[2], bytes[3]};  // a bfloat16 is the upper half; these numbers need no rounding
    bytes.resize(2);
    return bytes;
  };
  std::vector<std::uint8_t> a, b;
  std::vector<float> c, d(static_cast<std::size_t>(shape.size * shape.size), -1);
  for (int lane = 0; lane < 64; ++lane) {
    for (int v = 0; v < shape.per_lane; ++v) {
      const int k = shape.per_lane * (lane / shape.size) + v;
      for (const auto byte : bits(value(lane % shape.size, k))) a.push_back(byte);
      for (const auto byte : bits(value(k + 2, lane % shape.size))) b.push_back(byte);
    }
    for (std::size_t r = 0; r < d.size() / 64; ++r) c.push_back(static_cast<float>(lane) + 100 * static_cast<float>(r));
  }
  const auto da = aligned(a), db = aligned(b);
  const auto dc = aligned(c), dd = aligned(d);
  library.run("k", {}, da.get(), db.get(), dc.get(), dd.get());
  std::copy_n(dd.get(), d.size(), d.begin());
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < shape.size * shape.size / 64; ++r) {
      const int column = lane % shape.size;
      const int row = shape.size == 32 ? r / 4 * 8 + lane / 32 * 4 + r % 4 : lane / 16 * 4 + r;
      float sum = static_cast<float>(lane) + 100 * static_cast<float>(r);
      for (int k = 0; k < shape.depth; ++k) sum += static_cast<float>(value(row, k) * value(k + 2, column));
      ASSERT_EQ(d[static_cast<std::size_t>(lane * (shape.size * shape.size / 64) + r)], sum)
          << "lane " << lane << " register " << r;
    }
  }
}

TEST(Matrices, ProductsOfAWave) {
  const char* halfs = "__attribute__((ext_vector_type(4))) _Float16";
  const char* shorts = "__attribute__((ext_vector_type(4))) short";
  check({"__builtin_amdgcn_mfma_f32_32x32x8f16", halfs, 32, 8, 4, "_Float16"});
  check({"__builtin_amdgcn_mfma_f32_16x16x16f16", halfs, 16, 16, 4, "_Float16"});
  check({"__builtin_amdgcn_mfma_f32_32x32x8bf16_1k", shorts, 32, 8, 4, "short"});
  check({"__builtin_amdgcn_mfma_f32_16x16x16bf16_1k", shorts, 16, 16, 4, "short"});
  check({"__builtin_amdgcn_mfma_f32_32x32x2f32", "float", 32, 2, 1, "float"});
  check({"__builtin_amdgcn_mfma_f32_16x16x4f32", "float", 16, 4, 1, "float"});
}

constexpr int kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

// A[16][32] is sparse: two of four are kept; lane 16 * g + i has those of A[i][8 * g ... 8 * g + 7], B[8 * g ...][i], and
// results in the rows 4 * g + r of column i.
template <class Bits>
void check_sparse(const char* builtin, const std::string& element, const Bits& bits) {
  SCOPED_TRACE(builtin);
  const Library library("typedef " + element + " four __attribute__((ext_vector_type(4))); typedef " + element +
                        R"( eight __attribute__((ext_vector_type(8)));
    typedef float result __attribute__((ext_vector_type(4)));
    extern "C" __global__ void k(const four* a, const eight* b, const result* c, const int* index, result* d) {
      const int t = threadIdx.x;
      d[t] = )" + builtin +
                        "(a[t], b[t], c[t], index[t], 0, 0); }");
  std::vector<std::uint16_t> a, b;
  std::vector<std::int32_t> index;
  std::vector<float> c, d(256, -1);
  const auto place = [](int row, int kept) { return kPairs[(row * 5 + kept / 2 * 7) % 6][kept % 2]; };
  for (int lane = 0; lane < 64; ++lane) {
    int places = 0;
    for (int v = 0; v < 4; ++v) {
      const int kept = lane / 16 * 4 + v;
      a.push_back(bits(value(lane % 16, kept)));
      places |= place(lane % 16, kept) << (2 * v);
    }
    index.push_back(places | 0x5a00);  // other bits have no meaning
    for (int v = 0; v < 8; ++v) b.push_back(bits(value(lane / 16 * 8 + v + 2, lane % 16)));
    for (int r = 0; r < 4; ++r) c.push_back(static_cast<float>(lane) + 100 * static_cast<float>(r));
  }
  const auto da = aligned(a), db = aligned(b);
  const auto di = aligned(index);
  const auto dc = aligned(c), dd = aligned(d);
  library.run("k", {}, da.get(), db.get(), dc.get(), di.get(), dd.get());
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < 4; ++r) {
      float sum = static_cast<float>(lane) + 100 * static_cast<float>(r);
      const int row = lane / 16 * 4 + r;
      for (int kept = 0; kept < 16; ++kept)
        sum += static_cast<float>(value(row, kept) * value(kept / 2 * 4 + place(row, kept) + 2, lane % 16));
      ASSERT_EQ(dd.get()[lane * 4 + r], sum) << "lane " << lane << " register " << r;
    }
  }
}

TEST(Matrices, ProductsOfASparseOperand) {
  check_sparse("__builtin_amdgcn_smfmac_f32_16x16x32_f16", "_Float16", [](int v) {
    const auto h = static_cast<_Float16>(v);
    std::uint16_t b;
    std::memcpy(&b, &h, 2);
    return b;
  });
  check_sparse("__builtin_amdgcn_smfmac_f32_16x16x32_bf16", "short", [](int v) {
    const float f = static_cast<float>(v);
    std::uint32_t b;
    std::memcpy(&b, &f, 4);
    return static_cast<std::uint16_t>(b >> 16);
  });
}

}  // namespace
}  // namespace tern::gpu::amd
