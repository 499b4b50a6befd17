// Translates operators of torch._prims, left by make_fx and PyTorch's decompositions, to ATen.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exporter/pt2/model.h"

namespace tern::importing {

/// Equivalent ATen call; nothing if none exists, or if the operator has a lowering of its own.
std::optional<pt2::Node> aten_call_of(const pt2::Node& prim);

/// Translated operators with their ATen names: "prims.add.default", "aten.add.Tensor".
std::vector<std::pair<std::string, std::string>> prims_as_aten();

}  // namespace tern::importing
