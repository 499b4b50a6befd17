// Keeps the memory of a function's values under a limit: values are made again where they are read, instead of being
// held until then. Chen, Xu, Zhang, Guestrin (2016) made layers of a network again; here any value is a candidate, as
// in Kirisame et al., Dynamic Tensor Rematerialization (2021), but for a schedule that is known in advance.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "schema/program.h"

namespace tern {

struct MemoryLimit {
  std::optional<std::uint64_t> bytes;         ///< none: as few as possible
  std::map<std::string, std::int64_t> sizes;  ///< of all symbols that inputs have, by name
  /// Bytes of the function's intermediate values in a run at these sizes, as the runtime plans them.
  std::function<std::uint64_t(const Program&, std::uint32_t function)> measure;
};

struct RecomputeReport {
  std::uint64_t before = 0, after = 0;  ///< measured bytes
  std::size_t nodes = 0;                ///< that run again
  double cost = 1;                      ///< estimated, of the function before
};

/// Changes the function, where it needs more, until `measure` gives at most `bytes`. Nodes that are made again are the
/// same nodes with the same operands, so results keep their bits; nodes that draw random numbers, have effects, find
/// sizes or run other functions are never repeated. Fails (invalid_argument), naming the least that was possible, where
/// the limit cannot be kept.
RecomputeReport limit_memory(Program& program, std::uint32_t function, const MemoryLimit& limit);

}  // namespace tern
