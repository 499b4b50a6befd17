// Floating operations of ops with a cost model.
#pragma once

#include "schema/op_record.h"

namespace tern::ops {

double matmul_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double convolution_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double attention_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double pointwise_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);

}  // namespace tern::ops
