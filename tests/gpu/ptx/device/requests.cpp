#include "tests/gpu/ptx/device/requests.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tern::emulated {
namespace {

constexpr std::uint32_t kBanks = 32, kBankBytes = 4, kWarp = 32;

// Passes for a part of the warp: the number of different words in the busiest bank.
std::uint32_t passes(std::vector<std::uint64_t>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<std::uint32_t, kBanks> of{};
  std::uint32_t most = 0;
  for (const std::uint64_t word : words) most = std::max(most, ++of[word % kBanks]);
  return most;
}

}  // namespace

GlobalRequest global_request(std::span<const std::uint64_t> addresses, std::uint32_t bytes) {
  thread_local std::vector<std::uint64_t> sorted;
  sorted.assign(addresses.begin(), addresses.end());
  if (!std::is_sorted(sorted.begin(), sorted.end())) std::sort(sorted.begin(), sorted.end());
  std::uint64_t sectors = 0, different = 0, next = 0;  // next: the first untouched sector
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    different += i == 0 || sorted[i] != sorted[i - 1];
    const std::uint64_t first = std::max(next, sorted[i] / kSector), end = (sorted[i] + bytes - 1) / kSector + 1;
    if (end > first) sectors += end - first;
    next = std::max(next, end);
  }
  return {static_cast<std::uint32_t>(sectors), static_cast<std::uint32_t>((different * bytes + kSector - 1) / kSector)};
}

SharedRequest shared_request(std::span<const std::uint64_t> addresses, std::span<const std::uint32_t> lanes,
                             std::uint32_t bytes) {
  thread_local std::vector<std::uint64_t> words;
  const std::uint32_t part = kWarp / std::max(1u, bytes / kBankBytes);  // lanes served by the banks in a pass
  SharedRequest result;
  for (std::size_t i = 0; i < addresses.size();) {
    const std::uint32_t group = lanes[i] / part;
    words.clear();
    for (; i < addresses.size() && lanes[i] / part == group; ++i) {
      for (std::uint64_t w = addresses[i] / kBankBytes; w <= (addresses[i] + bytes - 1) / kBankBytes; ++w)
        words.push_back(w);
    }
    result.passes += passes(words);
    ++result.minimum;
  }
  return result;
}

}  // namespace tern::emulated
