// Listing of a function's nodes, a line each: op, attributes, origin.
#pragma once

#include <string>

#include "schema/program.h"

namespace tern {

/// "%12 float32[s0, 64] = matmul(%10, %3)  {axis: 1}  encoder.fc1  model.py:42  [stage: 1]"; untrusted names are
/// escaped.
std::string node_text(const Program& program, const Function& function, const Node& node);
/// "%12", or the value's name if present.
std::string value_text(const Function& function, ValueId value);
/// `stage: 1, note: "x"`
std::string annotations_text(const Node& node);
std::string attribute_text(const Program& program, const Attr& attribute);
/// "mul(x0, sigmoid(x0))"
std::string expression_text(const PointwiseExpr& expression);

}  // namespace tern
