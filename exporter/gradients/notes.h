// Annotations for a node's gradient, set by lowerings, unused by the forward pass and never archived.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern {

/// pointwise: no gradient flows through the node, detach.h.
inline constexpr std::string_view kDetachedNote = "tern.detached";
/// index_select: the embedding row without a gradient.
inline constexpr std::string_view kPaddingNote = "gradient.padding_idx";
/// index_select, embedding_bag: gradients of rows are divided by how often each is read.
inline constexpr std::string_view kFrequencyNote = "gradient.scale_grad_by_freq";

/// True for the exporter's own keys, closed to traced programs. (Users may set "tern.precision".)
bool is_reserved_annotation(std::string_view key);
/// Annotations of a node for its gradient nodes: without the gradient notes.
std::vector<Annotation> annotations_of_gradient(const Node& node);
void set_gradient_note(Node& node, std::string_view key, std::int64_t value);
std::optional<std::int64_t> gradient_note(const Node& node, std::string_view key);
/// Removes the notes, after gradients are derived or if none are needed.
void remove_gradient_notes(Program& program);

}  // namespace tern
