// Traces of several ranks as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern {

/// A collective that every rank has made, by its group and number.
struct JoinedCollective {
  std::string group, name;
  std::int64_t sequence = 0;
  double waited = 0;     ///< microseconds from the first rank's begin to the last one's, after the clocks are aligned
  std::size_t last = 0;  ///< position among the files of the rank that began last
};

struct MergedTrace {
  std::vector<std::int64_t> ranks;  ///< of the files, in their order
  std::vector<double> offsets;      ///< microseconds added to each file's times
  std::vector<JoinedCollective> collectives;
  double residual = 0;       ///< the largest difference of ends that remains, microseconds
  std::uint64_t events = 0;  ///< written
};

/// Aligns the clocks by the ends of the collectives that all files have: all ranks leave one at the same time, up to
/// its latency. Without a common one, the clocks stay as they are. Throws invalid_argument if a rank is there twice,
/// bad_file, io.
MergedTrace merge_traces(const std::vector<std::string>& paths, const std::string& output);

}  // namespace tern
