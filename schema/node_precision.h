// The precision that an archive gives a node: an annotation that `tern export --precision` and `--keep` make.
#pragma once

#include <tern/precision.h>

#include <optional>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// The annotation's key; its value is "float32" or "bfloat16".
inline constexpr const char* kPrecisionKey = "tern.precision";

/// What the node says, exported (float32) or bfloat16; none where it says nothing, or nothing that is known.
std::optional<Precision> noted_precision(const Node& node);
void note_precision(Node& node, Precision precision);

/// Whether the op's products can be made in another precision: products, convolutions and attention.
bool has_precision(Op op);

/// Notes `precision` on each such node that no pattern of `keep` matches, and that the others are kept. Throws
/// invalid_argument for a pattern that matches no such node. Returns how many are to be computed in `precision`.
std::size_t note_precision(Program& program, Precision precision, const std::vector<std::string>& keep);

}  // namespace tern
