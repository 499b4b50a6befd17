// Floating operations of ops with a cost model.
#pragma once

#include "schema/op_record.h"

namespace tern::ops {

double matmul_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double convolution_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double attention_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double pointwise_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double rnn_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double cdist_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double sort_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double topk_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double scan_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double fft_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double cholesky_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double qr_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double lu_factor_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double lu_solve_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);
double triangular_solve_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out);

}  // namespace tern::ops
