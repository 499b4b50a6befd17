// Operators of torch._prims, which make_fx and PyTorch's decompositions leave, as those of ATen.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exporter/pt2/model.h"

namespace tern::importing {

/// The same call of an ATen operator; nothing where there is none, or where the operator has a lowering of its own.
std::optional<pt2::Node> aten_call_of(const pt2::Node& prim);

/// The operators that have such a call, and ATen's: "prims.add.default", "aten.add.Tensor".
std::vector<std::pair<std::string, std::string>> prims_as_aten();

}  // namespace tern::importing
