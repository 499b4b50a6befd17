// Attention in cuDNN's terms: tensors of batch, heads, rows and width.
#pragma once

#include <tern/device.h>

#include <optional>

#include "devices/gpu/cuda/cudnn_operations.h"

namespace tern::gpu {

struct Attention {
  int type = 0;            ///< cudnnDataType_t of q, k, v and the result
  Shape q, k, v, out;      ///< k and v may have fewer heads: several heads of q share a head
  bool is_causal = false;  ///< query i sees keys up to i
  float scale = 1;
  /// The mask, with strides of 0 along broadcast axes; without sizes if there is no mask.
  Shape mask;
  bool is_boolean = false;  ///< boolean: true for visible keys; otherwise the mask is added to the scores
  bool is_half = false;     ///< true for a float16 mask
  int bias_type = 0;        ///< cudnnDataType_t: the mask's type, or float32 if q is float16

  [[nodiscard]] bool has_mask() const { return !mask.sizes.empty(); }
  /// Shape of the bias added to the scores: one batch and head per distinct batch and head of the mask.
  [[nodiscard]] Shape bias() const;
  bool operator==(const Attention&) const = default;
};

/// Returns nothing for cases not given to cuDNN: types other than float16 and bfloat16, empty operands, rows not
/// aligned to 16 bytes or not contiguous, operands broadcast along the batch, masks of types other than boolean,
/// float32 and the operands' type.
std::optional<Attention> attention_of(const tern_device_op& op);

}  // namespace tern::gpu
