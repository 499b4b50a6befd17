// Precision of a node stored in an archive: an annotation written by `tern export --precision` and `--keep`.
#pragma once

#include <tern/precision.h>

#include <optional>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// The annotation's key; its value is "float32" or "bfloat16".
inline constexpr const char* kPrecisionKey = "tern.precision";

/// Returns the annotated precision, exported (float32) or bfloat16; none if missing or unknown.
std::optional<Precision> noted_precision(const Node& node);
void note_precision(Node& node, Precision precision);

/// True if the op's products may use another precision: products, convolutions and attention.
bool has_precision(Op op);

/// Annotates each such node with `precision`, or as kept if a pattern of `keep` matches. Throws invalid_argument for a
/// pattern without a matching node. Returns the number of nodes with `precision`.
std::size_t note_precision(Program& program, Precision precision, const std::vector<std::string>& keep);

}  // namespace tern
