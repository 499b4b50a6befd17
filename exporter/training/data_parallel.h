// Data-parallel training: several ranks share each batch. Defines the messages of a step, and their time. Gradients
// travel in buckets during the backward pass, as in PyTorch's DistributedDataParallel (Li et al., 2020).
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/builder.h"
#include "exporter/training/losses.h"
#include "exporter/training/options.h"
#include "exporter/training/parameters.h"

namespace tern {

/// Weight of this rank's part of a batch: its samples over the mean of all ranks' samples; 1 for equal parts. Ranks
/// compare nothing else: an epoch's last batch may be divided freely.
struct RankLoss {
  ValueId rank_loss = kNoValue;       ///< loss of the rank's samples; the batch's loss is the mean over the ranks
  ValueId weight = kNoValue;          ///< weigh()'s factor for the gradients; kNoValue: none
  ValueId differentiated = kNoValue;  ///< loss to differentiate; weigh() turns its gradients into those of `rank_loss`
};

/// Adds the loss to the function of `b`, with an input `target` as in add_head(): the sum over the rank's samples over
/// the mean of all ranks' counts. The mean of the ranks' gradients then is the batch's gradient. Losses over classes
/// count the targets not ignored, others the prediction's elements, a program's own loss the samples of the first input
/// of symbolic size. Ranks may have no samples.
RankLoss add_rank_loss(Builder& b, const LossRecord* loss, const TrainingOptions& options);

/// Weights the gradients of a program's own loss. A rank without samples has zero gradients, although its loss is NaN.
void weigh(Builder& b, ValueId weight, std::vector<ValueId>& gradients);

/// Mean of a number over the ranks. Starts at the producer of `v`; ends here.
ValueId mean_over_ranks(Builder& b, ValueId v);

/// Mean of each gradient over the ranks. Gradients of one type share buckets in the order of their computation: at most
/// `bucket` bytes each, and 1 MB in a type's first bucket. Each bucket starts after its last gradient.
std::vector<ValueId> mean_gradients(Builder& b, const std::vector<ValueId>& gradients, std::uint64_t bucket);

/// Sends rank 0's written-back values other than parameters, such as running statistics of batch norms, to all ranks,
/// like PyTorch.
void share_buffers(Builder& b, std::uint64_t bucket);

}  // namespace tern
