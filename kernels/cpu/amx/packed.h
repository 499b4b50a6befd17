// Weights in the order in which tiles read them: made once for a program, shared by its plans.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/cpu/amx/amx.h"
#include "kernels/kernel.h"

namespace tern::amx {

/// Into how many parts the call's operands are split.
inline int parts_of(const KernelCall& call) {
  return call.precision == Precision::bfloat16 ? kRounded : kAllParts;
}

/// `count` floats made from the constant operand `input` of the call by `make`, or taken from the archive, where they
/// lie under `key`. 64-byte aligned; freed with the last user.
std::shared_ptr<const float> packed_weight(const KernelCall& call, std::size_t input, const std::string& key,
                                           std::int64_t count, const std::function<void(float*)>& make);

}  // namespace tern::amx
