// The sizes of a call: values of the program's symbols in the reference run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/verify/results.h"
#include "tools/verify/side.h"

namespace tern {

/// Values of the program's expressions in a call; kUndefined for expressions with a symbol bound in a body.
struct CallSizes {
  std::vector<std::int64_t> all_values;    ///< including symbols bound by nodes of the function
  std::vector<std::int64_t> input_values;  ///< only from the symbols of the function's inputs
  bool operator==(const CallSizes&) const = default;
};

/// Sizes of each call. Runs the program with its symbols as results, if the program has symbols.
std::vector<CallSizes> sizes_of(const Side& program_side, const Calls& calls);

/// A constant if the size has a value, else the size itself.
Dim resolve_dim(Dim size, const std::vector<std::int64_t>& values);
/// Bytes of a value of this type; empty if a size has no value.
std::optional<std::uint64_t> bytes_of(const TensorType& type, const CallSizes& sizes);

}  // namespace tern
