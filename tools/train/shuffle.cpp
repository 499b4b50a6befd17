#include "tools/train/shuffle.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tern::train {
namespace {

/// The round for choosing held-out samples; epochs count from 0.
constexpr std::uint64_t kHeldOutRound = ~std::uint64_t{0};

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// Uniform in 0 .. limit-1: rejects the smallest numbers, which would make small remainders more likely.
  std::uint64_t uniform_below(std::uint64_t limit) {
    const std::uint64_t rejected_below = (~std::uint64_t{0} % limit + 1) % limit;
    std::uint64_t x = next();
    while (x < rejected_below) x = next();
    return x % limit;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

std::vector<std::uint64_t> ascending_numbers(std::uint64_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  return order;
}

std::vector<std::uint64_t> shuffled(std::uint64_t count, std::uint64_t seed, std::uint64_t round) {
  std::vector<std::uint64_t> order = ascending_numbers(count);
  // The seed is mixed before adding the round: seed 1 of round 2 must differ from seed 2 of round 1.
  SplitMix64 numbers(SplitMix64(seed).next() + round);
  for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[numbers.uniform_below(i)]);
  return order;
}

SampleSplit hold_out(std::uint64_t count, double fraction, std::uint64_t seed) {
  std::vector<std::uint64_t> order = shuffled(count, seed, kHeldOutRound);
  const auto held_out_count = static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(count)));
  const auto held_out_begin = order.begin() + static_cast<std::ptrdiff_t>(count - std::min(held_out_count, count));
  SampleSplit d{{order.begin(), held_out_begin}, {held_out_begin, order.end()}};
  std::ranges::sort(d.trained);
  std::ranges::sort(d.held_out);
  return d;
}

}  // namespace tern::train
