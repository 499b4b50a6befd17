// Gradient stops of PyTorch: detach() and regions under no_grad.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Marks x as detached: gradients stop at a node later removed by remove_detached().
ValueId detached(Builder& b, ValueId x);
/// New `x` after a write to its detached `view`: the values of `view`, with the gradient sent to x.
ValueId written_detached(Builder& b, ValueId x, ValueId view);

/// True if a gradient of the node's results can reach operand i.
bool flows_to(const Node& node, std::size_t i);
bool is_detached(const Node& node);

/// Makes readers of detached values read the original values.
void remove_detached(Program& program);

}  // namespace tern
