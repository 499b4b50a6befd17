// Tern's attention as cuDNN sees it: tensors of batch, heads, rows and width.
#pragma once

#include <tern/device.h>

#include <optional>

#include "devices/gpu/cuda/cudnn_operations.h"

namespace tern::gpu {

struct Attention {
  int type = 0;            ///< of q, k, v and the result: cudnnDataType_t
  Shape q, k, v, out;      ///< k and v may have fewer heads: each is that of several heads of q
  bool is_causal = false;  ///< query i sees keys up to i
  float scale = 1;
  /// The mask, with strides of 0 where an axis of the result repeats; no sizes without a mask.
  Shape mask;
  bool is_boolean = false;  ///< true for keys that take part; otherwise the mask is added to the scores
  bool is_half = false;     ///< the mask is of float16
  int bias_type = 0;        ///< cudnnDataType_t: that of the mask, but float32 where q is float16

  [[nodiscard]] bool has_mask() const { return !mask.sizes.empty(); }
  /// What is added to the scores, made of the mask: as many batches and heads as the mask tells apart.
  [[nodiscard]] Shape bias() const;
  bool operator==(const Attention&) const = default;
};

/// Nothing where cuDNN is not asked: types other than float16 and bfloat16, empty operands, rows that do not begin at
/// multiples of 16 bytes or whose elements are apart, operands that repeat along the batch, masks of other types than
/// boolean, float32 and that of the operands.
std::optional<Attention> attention_of(const tern_device_op& op);

}  // namespace tern::gpu
