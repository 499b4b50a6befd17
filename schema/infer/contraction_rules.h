// The rules of the contractions, windows and detection ops, in several files, for the one registration of the family.
#pragma once

#include "schema/infer.h"
#include "schema/ops/attributes.h"

namespace tern::rules {

using ops::kMaxWindow;

void matmul(Inference& c);
void grouped_matmul(Inference& c);
void attention(Inference& c);
void rnn(Inference& c);
void cdist(Inference& c);

void convolution(Inference& c);
void pool(Inference& c);
void adaptive_pool(Inference& c);
void fractional_pool(Inference& c);
void fold(Inference& c);

void resize(Inference& c);
void grid_sample(Inference& c);
void roi_align(Inference& c);
void nms(Inference& c);

// Shared checks.

/// One element can be addressed, and it is a plain tensor: neither packed float4 nor an MX value.
void require_plain(const Inference& c, std::size_t input);
void require_floating(const Inference& c, std::size_t input);               ///< real floating
void require_same_dtype(const Inference& c, std::size_t a, std::size_t b);  ///< of two inputs
/// Fails when `d` cannot be at least `min`.
void require_at_least(const Inference& c, Dim d, std::int64_t min, const char* what);

}  // namespace tern::rules
