// Joint choices by the texts of a run.
#pragma once

#include <optional>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// `choice`: a cond of one text, with `operands` in the order of the loop's inputs; `loop`: the map_loop running the
/// choice text by text. If the taken branch is a reduction, such as the most likely token's, returns a cond around
/// both: if all texts take the branch, one reduction serves all, and the host decides once. Nothing for other choices.
std::optional<Node> choose_together(Builder& b, const Node& choice, const std::vector<ValueId>& operands,
                                    const Node& loop);

}  // namespace tern
