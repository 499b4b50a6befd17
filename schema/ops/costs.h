// Floating operations of ops with a cost model.
#pragma once

#include "schema/op_record.h"

namespace tern::ops {

double matmul_operations(const Node& node, std::span<const OperandSizes> operands,
                         std::span<const OperandSizes> results);
double convolution_operations(const Node& node, std::span<const OperandSizes> operands,
                              std::span<const OperandSizes> results);
double attention_operations(const Node& node, std::span<const OperandSizes> operands,
                            std::span<const OperandSizes> results);
double pointwise_operations(const Node& node, std::span<const OperandSizes> operands,
                            std::span<const OperandSizes> results);
double rnn_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes> results);
double cdist_operations(const Node& node, std::span<const OperandSizes> operands,
                        std::span<const OperandSizes> results);
double sort_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes> results);
double topk_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes> results);
double scan_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes> results);
double fft_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes> results);
double cholesky_operations(const Node& node, std::span<const OperandSizes> operands,
                           std::span<const OperandSizes> results);
double qr_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes> results);
double lu_factor_operations(const Node& node, std::span<const OperandSizes> operands,
                            std::span<const OperandSizes> results);
double lu_solve_operations(const Node& node, std::span<const OperandSizes> operands,
                           std::span<const OperandSizes> results);
double triangular_solve_operations(const Node& node, std::span<const OperandSizes> operands,
                                   std::span<const OperandSizes> results);

}  // namespace tern::ops
