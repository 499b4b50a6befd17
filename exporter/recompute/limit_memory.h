// Limits the memory of a function's values: values are recomputed at their readers, in place of being held. Chen, Xu,
// Zhang, Guestrin (2016) recompute layers of a network; here any value is a candidate, as in Kirisame et al., Dynamic
// Tensor Rematerialization (2021), with a schedule known in advance.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "schema/program.h"

namespace tern {

struct MemoryLimit {
  std::optional<std::uint64_t> bytes;         ///< none: minimum
  std::map<std::string, std::int64_t> sizes;  ///< sizes of all input symbols, by name
  /// Returns the bytes of the function's intermediate values in a run at these sizes, by the runtime's plan.
  std::function<std::uint64_t(const Program&, std::uint32_t function)> measure;
};

struct RecomputeReport {
  std::uint64_t bytes_before = 0, bytes_after = 0;  ///< measured bytes
  std::size_t nodes = 0;                            ///< recomputed nodes
  double cost = 1;                                  ///< estimated, of the function before
};

/// Changes the function, if needed, until `measure` returns at most `bytes`. Recomputed nodes repeat the same node with
/// the same operands, so results are equal bit for bit. Nodes with random numbers, effects, data-dependent sizes or
/// bodies are never repeated. Fails (invalid_argument), naming the smallest possible size, if the limit is out of
/// reach.
RecomputeReport limit_memory(Program& program, std::uint32_t function, const MemoryLimit& limit);

}  // namespace tern
