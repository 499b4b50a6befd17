// The sizes of a call: what the symbols of the program were in the reference run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/verify/results.h"
#include "tools/verify/side.h"

namespace tern {

/// Values of the program's expressions in a call; kUndefined where one depends on a symbol that a body binds.
struct CallSizes {
  std::vector<std::int64_t> all;    ///< with the symbols that nodes of the function bind
  std::vector<std::int64_t> given;  ///< from the symbols of the function's inputs alone
  bool operator==(const CallSizes&) const = default;
};

/// Of each call. The program is run with its symbols as results, if it has any.
std::vector<CallSizes> sizes_of(const Side& side, const Calls& calls);

/// A constant if the size has a value, else as it is.
Dim with_value(Dim size, const std::vector<std::int64_t>& values);
/// Bytes of a value of this type; nothing where a size has no value.
std::optional<std::uint64_t> bytes_of(const TensorType& type, const CallSizes& sizes);

}  // namespace tern
