// Decisions read from a fuzzer's bytes, each from the next bytes. A generator, seeded by the first eight bytes,
// continues after the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

namespace tern::fuzz {

class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    std::memcpy(&state_, bytes.data(), std::min<std::size_t>(bytes.size(), sizeof state_));
  }

  std::uint8_t byte() {
    if (bytes_.empty()) return static_cast<std::uint8_t>(generated() >> 56);
    const std::uint8_t b = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return b;
  }
  std::uint64_t word() {
    std::uint64_t w = 0;
    for (int i = 0; i < 8; ++i) w = w << 8 | byte();
    return w;
  }
  /// A number in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    if (span < 256) return low + byte() % static_cast<std::int64_t>(span + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (span + 1 == 0 ? word() : word() % (span + 1)));
  }
  bool chance(int percent) { return byte() * 100 < percent * 256; }
  std::size_t index(std::size_t count) {
    return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(count) - 1));
  }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[index(of.size())];
  }
  template <class T>
  const T& pick(const std::vector<T>& of) {
    return of[index(of.size())];
  }

 private:
  /// SplitMix64.
  std::uint64_t generated() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  std::span<const std::uint8_t> bytes_;
  std::uint64_t state_ = 0;
};

}  // namespace tern::fuzz
