#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace tern::test {

/// Uniform from -1 to 1.
inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> element(-1, 1);
  std::vector<float> v(static_cast<std::size_t>(count));
  for (float& x : v) x = element(random);
  return v;
}

}  // namespace tern::test
