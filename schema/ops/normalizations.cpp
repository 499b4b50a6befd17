#include "schema/infer/checks.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"

namespace tern::ops {
namespace {

/// Type of mean and rstd: attribute `dtype`, else x's.
DType statistics_type(const Inference& c, const TensorType& x) {
  const DType t = c.dtype_or(x.dtype);
  c.require(is_floating(t) && t != DType::f4_e2m1, "mean and rstd must be floating-point");
  return t;
}

/// softmax(x; axis, log, dtype): exp(x - max) / sum(exp(x - max)) along `axis`, or its logarithm. Computed in the wider
/// of the compute types of x and `dtype` (x's if absent), and rounded once.
void infer_softmax(Inference& c) {
  const TensorType& x = floating_operand(c, 0);
  c.axis(AttrKey::axis, x.rank());
  const DType dtype = c.dtype_or(x.dtype);
  c.require(is_floating(dtype) && dtype != DType::f4_e2m1, "the result must be floating-point");
  c.out(dtype, x.shape);
}

/// Sizes of the last k axes, required of weight and bias.
Dims normalized_sizes(const Inference& c, const TensorType& x) {
  const std::int64_t k = c.integer(AttrKey::k);
  c.require(k <= x.rank(), "attribute 'k' exceeds the number of axes");
  return Dims(x.shape.end() - k, x.shape.end());
}

/// layer_norm(x, weight?, bias?; k, epsilon, dtype) -> y, mean, rstd
/// y = (x - mean) * rstd * weight + bias, with the mean and the (uncorrected) variance of the last `k` axes and rstd =
/// 1 / sqrt(var + epsilon). mean and rstd have x's shape with those axes of size 1, and the type `dtype` (x's if
/// absent).
void infer_layer_norm(Inference& c) {
  const TensorType& x = floating_operand(c, 0);
  const Dims sizes = normalized_sizes(c, x);
  parameter(c, 1, sizes, "sizes of the weight");
  parameter(c, 2, sizes, "sizes of the bias");
  Dims statistics = x.shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) statistics[statistics.size() - 1 - i] = 1;
  const DType t = statistics_type(c, x);
  c.out(x.dtype, x.shape);
  c.out(t, statistics);
  c.out(t, statistics);
}

/// rms_norm(x, weight?; k, epsilon): x / sqrt(mean(x^2) + epsilon) * weight over the last `k` axes.
void infer_rms_norm(Inference& c) {
  const TensorType& x = floating_operand(c, 0);
  parameter(c, 1, normalized_sizes(c, x), "sizes of the weight");
  c.out(x.dtype, x.shape);
}

/// group_norm(x, weight?, bias?; groups, epsilon, dtype) -> y, mean [N, groups], rstd [N, groups]
/// Like layer_norm over each of `groups` equal parts of the channels (axis 1) of each sample, but weight and bias have
/// one entry per channel.
void infer_group_norm(Inference& c) {
  const TensorType& x = floating_operand(c, 0);
  c.require(x.rank() >= 2, "needs a batch axis and a channel axis");
  const std::int64_t groups = c.integer(AttrKey::groups);
  const Dim channels = x.shape[1];
  c.require(!channels.is_const() || channels.value() % groups == 0, "the groups do not divide the channels");
  parameter(c, 1, {channels}, "sizes of the weight");
  parameter(c, 2, {channels}, "sizes of the bias");
  const DType t = statistics_type(c, x);
  c.out(x.dtype, x.shape);
  c.out(t, {x.shape[0], groups});
  c.out(t, {x.shape[0], groups});
}

/// batch_norm(x, mean, var, weight?, bias?; epsilon): (x - mean) / sqrt(var + epsilon) * weight + bias with one entry
/// per channel (axis 1). Training computes mean and var by reductions first.
void infer_batch_norm(Inference& c) {
  const TensorType& x = floating_operand(c, 0);
  c.require(x.rank() >= 2, "needs a batch axis and a channel axis");
  c.require(c.has(1) && c.has(2), "needs a mean and a variance");
  parameter(c, 1, {x.shape[1]}, "sizes of the mean");
  parameter(c, 2, {x.shape[1]}, "sizes of the variance");
  parameter(c, 3, {x.shape[1]}, "sizes of the weight");
  parameter(c, 4, {x.shape[1]}, "sizes of the bias");
  c.out(x.dtype, x.shape);
}

constexpr Attribute kEpsilon = required(AttrKey::epsilon, AttrType::number, "added to the variance").finite();
constexpr Attribute kStatistics =
    optional_attribute(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of mean and rstd");
constexpr Attribute kLastAxes =
    required(AttrKey::k, AttrType::integer, "the number of last axes to normalize").minimum(1);
constexpr AttrRecord kSoftmax[] = {
    kAlongAxis,
    flag(AttrKey::log, "its logarithm"),
    optional_attribute(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of the result"),
};
constexpr AttrRecord kLayerNorm[] = {kLastAxes, kEpsilon, kStatistics};
constexpr AttrRecord kRmsNorm[] = {kLastAxes, kEpsilon};
constexpr AttrRecord kGroupNorm[] = {
    required(AttrKey::groups, AttrType::integer, "parts of the channels").bounds(1, std::int64_t{1} << 40),
    kEpsilon,
    kStatistics,
};
constexpr AttrRecord kBatchNorm[] = {kEpsilon};

constexpr OpRecord kNormalizationsOps[] = {
    TERN_OP(25, softmax, "x -> y", "exp(x - max) / sum(exp(x - max)), or its logarithm")
        .attrs(kSoftmax)
        .rule(infer_softmax),
    TERN_OP(26, layer_norm, "x, weight?, bias? -> y, mean, rstd",
            "(x - mean) * rstd * weight + bias over the last axes")
        .attrs(kLayerNorm)
        .rule(infer_layer_norm),
    TERN_OP(27, rms_norm, "x, weight? -> y", "x / sqrt(mean(x^2) + epsilon) * weight over the last axes")
        .attrs(kRmsNorm)
        .rule(infer_rms_norm),
    TERN_OP(28, group_norm, "x, weight?, bias? -> y, mean, rstd", "layer_norm over groups of channels of each sample")
        .attrs(kGroupNorm)
        .rule(infer_group_norm),
    TERN_OP(29, batch_norm, "x, mean, var, weight?, bias? -> y", "(x - mean) / sqrt(var + epsilon) * weight + bias")
        .attrs(kBatchNorm)
        .rule(infer_batch_norm),
};

}  // namespace

std::span<const OpRecord> normalizations_ops() {
  return kNormalizationsOps;
}

}  // namespace tern::ops
