// Weights of a float program become quantized values.
#pragma once

#include "exporter/passes/quantize/options.h"
#include "schema/program.h"

namespace tern {

/// Weights of float32, float16 and bfloat16 that only products, as their second operand, and embeddings read: each gets
/// the format of the last rule that matches a node that reads it, products first. Views may lie in between. A weight
/// that several nodes read is stored once. Those that a pattern of `keep` names stay, and so do weights of other nodes,
/// which the report lists. Throws invalid_argument for a pattern that matches no product, convolution, attention or
/// embedding. A weight that `choices` names gets that, not what the rules say.
QuantizeReport quantize_weights(Program& program, const std::vector<QuantizeRule>& rules,
                                const std::vector<std::string>& keep, const QuantizeChoices& choices = {});

}  // namespace tern
