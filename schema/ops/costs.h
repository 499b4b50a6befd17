// Floating operations of ops with a cost model.
#pragma once

#include "schema/op_record.h"

namespace tern::ops {

double matmul_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double convolution_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double attention_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double pointwise_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double rnn_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double cdist_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double sort_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double topk_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double scan_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double fft_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double cholesky_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double qr_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double lu_factor_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double lu_solve_operations(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);
double triangular_solve_operations(const Node& node, std::span<const OperandSizes> in,
                                   std::span<const OperandSizes> out);

}  // namespace tern::ops
