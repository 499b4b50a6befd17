// What a lowering knows of a node's gradient that its forward pass does not need: annotations that no archive keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern {

/// pointwise: no gradient flows through the node, detach.h.
inline constexpr std::string_view kDetachedNote = "tern.detached";
/// index_select: the row of an embedding that gets no gradient.
inline constexpr std::string_view kPaddingNote = "gradient.padding_idx";
/// index_select, embedding_bag: gradients of rows are divided by how often each is read.
inline constexpr std::string_view kFrequencyNote = "gradient.scale_grad_by_freq";

/// A key of this exporter's own, which no traced program can set. ("tern.precision" is one that users may set.)
bool is_reserved_annotation(std::string_view key);
/// Annotations of a node without those that only its own gradient reads.
std::vector<Annotation> annotations_of_gradient(const Node& node);
void set_gradient_note(Node& node, std::string_view key, std::int64_t value);
std::optional<std::int64_t> gradient_note(const Node& node, std::string_view key);
/// Once gradients are derived, or nobody asks for them.
void remove_gradient_notes(Program& program);

}  // namespace tern
