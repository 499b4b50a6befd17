// Philox 4x32-10, a counter-based generator: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011); and conversions from words to numbers, as in cuRAND.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace tern {

using PhiloxWords = std::array<std::uint32_t, 4>;

/// Returns the four words of block `counter` under `key`.
inline PhiloxWords philox(PhiloxWords counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t q = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(q >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(q),
               static_cast<std::uint32_t>(p >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Returns block `block` of the stream `thread` under `seed`: the result of curand4 after curand_init(seed, thread, 4 *
/// block).
inline PhiloxWords philox_block(std::uint64_t seed, std::uint64_t thread, std::uint64_t block) {
  return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                 static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(thread >> 32)},
                {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

/// Returns a number in (0, 1] from 24 bits, as curand_uniform does.
inline float philox_uniform(std::uint32_t x) {
  return static_cast<float>(x) * 0x1p-32f + 0x1p-33f;
}
/// Returns a number in (0, 1] from 53 bits of two words, as curand_uniform_double does.
inline double philox_uniform(std::uint32_t x, std::uint32_t y) {
  const std::uint64_t z = x ^ std::uint64_t{y} << 21;
  return static_cast<double>(z) * 0x1p-53 + 0x1p-54;
}

}  // namespace tern
