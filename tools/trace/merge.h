// Merges traces of several ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern {

/// A collective present on every rank, identified by group and number.
struct JoinedCollective {
  std::string group, name;
  std::int64_t sequence = 0;
  double waited = 0;     ///< microseconds from the first rank's begin to the last rank's, after aligning the clocks
  std::size_t last = 0;  ///< position of the last rank's file
};

struct MergedTrace {
  std::vector<std::int64_t> ranks;  ///< ranks of the files, in order
  std::vector<double> offsets;      ///< microseconds added to each file's times
  std::vector<JoinedCollective> collectives;
  double residual = 0;       ///< the largest remaining difference of ends, microseconds
  std::uint64_t events = 0;  ///< written
};

/// Aligns the clocks by the ends of the collectives common to all files: all ranks leave a collective at the same time,
/// up to its latency. Without a common collective, the clocks stay unchanged. Throws invalid_argument for a repeated
/// rank, bad_file, io.
MergedTrace merge_traces(const std::vector<std::string>& paths, const std::string& output);

}  // namespace tern
