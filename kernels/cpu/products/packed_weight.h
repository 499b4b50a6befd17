// Weights in the order in which tiles read them: made once for a program, shared by its plans.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/cpu/products/tiles/tiles.h"
#include "kernels/kernel.h"

namespace tern::tiles {

/// Into how many parts the call's operands are split.
inline int parts_of(const KernelCall& call) {
  return call.precision == Precision::bfloat16 ? kRounded : kAllParts;
}

/// `bytes` bytes made from the constant operand `input` of the call by `make`, or taken from the archive or cache,
/// where they lie under `key`. 64-byte aligned; freed with the last user. `make` may be called later, too.
using MakePacked = std::function<void(std::byte*)>;
std::shared_ptr<const std::byte> packed_weight(const KernelCall& call, std::size_t input, const std::string& key,
                                               std::int64_t bytes, const MakePacked& make);
/// The same where it has been kept; else null, and it is offered, so that it is there another time.
const std::byte* stored_weight(const KernelCall& call, std::size_t input, const std::string& key, std::int64_t bytes,
                               const MakePacked& make);

}  // namespace tern::tiles
