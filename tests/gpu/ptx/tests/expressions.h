// Runs expressions of CUDA on pseudorandom numbers and compares their bits with functions of the host.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {

constexpr std::size_t kCount = 2048;

// Random bits, so floats have all exponents, and a few difficult values.
template <class T>
std::vector<T> numbers(std::uint64_t seed) {
  std::vector<T> all(kCount);
  for (T& x : all) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      reinterpret_cast<unsigned char*>(&x)[i] = static_cast<unsigned char>(seed >> 56);
    }
  }
  const T special[] = {T(0), T(1), T(-1), T(2), T(3), T(31), T(32), T(33), T(63), T(64), T(65)};
  for (std::size_t i = 0; i < kCount; i += 3) {
    if (seed >> 40 & 1) all[i] = special[(seed >> 33) % std::size(special)];
    seed = seed * 6364136223846793005u + 1442695040888963407u;
  }
  return all;
}

template <class T>
struct Expression {
  const char* cuda;  // expression of a, b and c, all of type T
  std::function<T(T, T, T)> host;
};

// All expressions in a single source. NaNs are equal, whatever their bits.
template <class T>
void expect_same_bits(const std::string& type, const std::vector<Expression<T>>& expressions) {
  std::string text = "typedef " + type + " T;\n";
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    text += "extern \"C\" __global__ void k" + std::to_string(i) +
            "(const T* x, const T* y, const T* z, T* to) { const int i = blockIdx.x * blockDim.x + threadIdx.x; const "
            "T a = x[i], b = y[i], c = z[i]; to[i] = " +
            expressions[i].cuda + "; }\n";
  }
  const Kernels kernels(text);
  const std::vector<T> a = numbers<T>(1), b = numbers<T>(2), c = numbers<T>(3);
  for (std::size_t k = 0; k < expressions.size(); ++k) {
    SCOPED_TRACE(type + ": " + expressions[k].cuda);
    std::vector<T> to(kCount, T(77));
    kernels.run("k" + std::to_string(k), {{kCount / 64, 1, 1}, {64, 1, 1}}, a.data(), b.data(), c.data(), to.data());
    for (std::size_t i = 0; i < kCount; ++i) {
      const T wanted = expressions[k].host(a[i], b[i], c[i]);
      if (wanted != wanted && to[i] != to[i]) continue;
      if (std::memcmp(&wanted, &to[i], sizeof(T)) == 0) continue;
      ADD_FAILURE() << i << ": a = " << a[i] << ", b = " << b[i] << ", c = " << c[i] << " give " << to[i] << " and not "
                    << wanted;
      break;
    }
  }
}

}  // namespace tern::emulated
