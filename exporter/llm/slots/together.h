// Choices that the texts of a run make together.
#pragma once

#include <optional>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// `choice`: a cond of one text, whose operands are `operands` in the order of the loop's inputs; `loop`: the map_loop
/// that makes it for text after text. Where the branch taken is one reduction, as the most likely token is, a cond
/// around both: if all texts take it, it is made for all of them at once, and the host looks once. Nothing for other
/// choices.
std::optional<Node> choose_together(Builder& b, const Node& choice, const std::vector<ValueId>& operands,
                                    const Node& loop);

}  // namespace tern
