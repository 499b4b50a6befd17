// Where PyTorch stops gradients: detach() and regions under no_grad.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// x, through which no gradient flows: a node that remove_detached() takes away again.
ValueId detached(Builder& b, ValueId x);
/// What `x` becomes when `view`, which is detached, is written to: the values of `view`, and the gradient goes to x.
ValueId written_detached(Builder& b, ValueId x, ValueId view);

/// Whether a gradient that arrives at the node's results can reach operand i.
bool flows_to(const Node& node, std::size_t i);
bool is_detached(const Node& node);

/// The nodes that read a detached value read the value itself.
void remove_detached(Program& program);

}  // namespace tern
