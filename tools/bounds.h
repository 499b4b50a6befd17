// Bounds of numeric options, in a single table.
#pragma once

#include <cstdint>
#include <string_view>

#include "tools/options.h"

namespace tern {

/// Inclusive.
struct WholeBounds {
  std::uint64_t min, max;
};
struct RealBounds {
  double min, max;
};

namespace bounds {

inline constexpr std::uint64_t kBillion = 1'000'000'000;
inline constexpr WholeBounds kThreads{0, 1024};
inline constexpr WholeBounds kCores{1, 1024};
inline constexpr WholeBounds kUnits{0, 65'536};  ///< multiprocessors
inline constexpr WholeBounds kSessions{1, 256};
inline constexpr WholeBounds kJobs{0, 1024};
inline constexpr WholeBounds kPort{0, 65'535};
inline constexpr WholeBounds kRepeat{1, kBillion};
inline constexpr WholeBounds kTokens{0, kBillion};
inline constexpr WholeBounds kWaiting{0, 1000};  ///< requests
inline constexpr WholeBounds kLogprobs{0, 20};
inline constexpr WholeBounds kRunCount{1, 10'000'000};
inline constexpr WholeBounds kEvery{1, kBillion};
inline constexpr WholeBounds kListed{0, 1'000'000};  ///< lines of a list: --nodes, --weights, --failures
inline constexpr WholeBounds kSeed{0, UINT64_MAX};
inline constexpr WholeBounds kSize{0, (std::uint64_t{1} << 48)};  ///< size of a dimension
inline constexpr WholeBounds kIterations{0, INT64_MAX};
inline constexpr RealBounds kSeconds{0.001, 86'400};
inline constexpr RealBounds kFinishSeconds{0, 86'400};
inline constexpr RealBounds kBandwidth{0.1, 100'000};  ///< GB/s
inline constexpr RealBounds kLimitSeconds{0, 1e9};
inline constexpr WholeBounds kNodes{1, 1'000'000};  ///< nodes of tern verify
inline constexpr RealBounds kCosine{-1, 1};
inline constexpr RealBounds kDecibels{-1000, 1000};
inline constexpr RealBounds kBits{1, 32};  ///< bits of a weight
inline constexpr RealBounds kFractionBounds{0, 1};

}  // namespace bounds

/// Requires a number within the bounds; other values are errors naming the bounds. The help shows the bounds as the
/// type.
void require_range(Option option, WholeBounds bounds);
void require_range(Option option, RealBounds bounds);

/// Parses a number; throws invalid_argument with the prefix `quantity`: "--size s0".
std::uint64_t parse_whole(std::string_view quantity, std::string_view text, WholeBounds bounds);

}  // namespace tern
