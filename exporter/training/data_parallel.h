// Training by several ranks that share each batch (data parallel): what a step's ranks tell each other, and when. As
// PyTorch's DistributedDataParallel (Li et al., 2020), gradients travel in buckets while the backward pass goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/builder.h"
#include "exporter/training/losses.h"
#include "exporter/training/options.h"
#include "exporter/training/parameters.h"

namespace tern {

/// How much this rank's part of a batch counts: its samples over the mean of all ranks' samples. 1 where all parts are
/// equal. Ranks compare nothing else, so the last batch of an epoch may divide as it likes.
struct RankLoss {
  ValueId own = kNoValue;             ///< of the rank's samples; the mean over the ranks is the batch's loss
  ValueId weight = kNoValue;          ///< weigh() of its gradients; kNoValue: nothing to do
  ValueId differentiated = kNoValue;  ///< the loss whose gradients weigh() makes those of `own`
};

/// The loss in the function of `b`, whose inputs it adds `target` to as add_head() does: the sum over the rank's
/// samples over the mean of all ranks' counts, so that the mean of the ranks' gradients is the batch's gradient. Losses
/// over classes count the targets that are not ignored, others the elements of the prediction, a program's own loss the
/// samples of the first input of symbolic size. Ranks may have no samples at all.
RankLoss add_rank_loss(Builder& b, const LossRecord* loss, const TrainingOptions& options);

/// Weighted gradients of a program's own loss. Those of a rank without samples are zeros, though its loss is NaN.
void weigh(Builder& b, ValueId weight, std::vector<ValueId>& gradients);

/// The mean of a number over the ranks. Begins where `v` is known; ends here.
ValueId mean_over_ranks(Builder& b, ValueId v);

/// The mean of each gradient over the ranks. Gradients of one type travel together, in the order in which the function
/// computes them, at most `bucket` bytes at once, and 1 MB in the first bucket of a type. Each bucket starts as soon as
/// its last gradient is known.
std::vector<ValueId> mean_gradients(Builder& b, const std::vector<ValueId>& gradients, std::uint64_t bucket);

/// What the function writes back beside parameters, such as the running statistics of batch norms, is rank 0's on all
/// ranks, as PyTorch has it.
void share_buffers(Builder& b, std::uint64_t bucket);

}  // namespace tern
