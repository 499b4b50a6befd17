// Scans by groups: each item scans a few elements, a group a block of a line; the blocks of few long lines are divided
// among several groups. The order of joining differs from the definition's.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/portable/launches.h"

namespace tern::portable {

struct ScannedLines {
  std::int64_t lines = 0, length = 0;
  DType t = DType::invalid;                    ///< type of joined values: ACC_T
  bool has_indices = false;                    ///< extrema, with their positions: REACHES and IS_NAN instead of JOIN
  std::function<void(KernelSource&)> declare;  ///< defines JOIN(a, b), or alternative macros
  std::function<void(Launch&)> read;           ///< defines READ(line, k, v, place)
  std::function<void(Launch&)> write;          ///< defines WRITE(line, k, v, place)
};

/// True if a device scans lines of this length by groups.
bool scans_by_groups(const Target& target, std::int64_t length);
void scan_by_groups(Launches& list, const ScannedLines& lines);

/// Prefix sums of `count` numbers (i64, at least one), in the scratch at `starts`; `total`: the sum of all. `read`
/// defines READ(line, k, v, place).
void start_sums(Launches& list, std::int64_t count, std::uint64_t starts, std::uint64_t total,
                const std::function<void(Launch&)>& read);

}  // namespace tern::portable
