// The makers of all ops: an op's own maker, or the samples of its definition (sampled.h).
#pragma once

#include <array>

#include "fuzz/ops/make.h"

namespace tern::fuzz {

using Maker = void (*)(Make&);
/// Indexed by op; null without a maker.
using MakerTable = std::array<Maker, kMaxOp + 1>;
const MakerTable& makers();

void list_movement(MakerTable& t);      ///< views, concat, pad, slices written
void list_sources(MakerTable& t);       ///< pointwise, full .. random, microscaling
void list_reductions(MakerTable& t);    ///< reduce .. segment_reduce
void list_indexing(MakerTable& t);      ///< gather .. repeat_interleave
void list_contractions(MakerTable& t);  ///< matmul, convolution, attention, rnn, cdist
void list_windows(MakerTable& t);       ///< pools, resize, grid_sample, fold, detection
void list_linalg(MakerTable& t);        ///< fft .. matrix_exp
void list_control(MakerTable& t);       ///< cond .. custom, optim, collective, wait, exchange

}  // namespace tern::fuzz
