// Contents of a checkpoint: every mutable state (`state.NAME`), the position in the stream of random numbers, the
// history, the settings, and a hash of all data, as safetensors.
#pragma once

#include <tern/tern.h>

#include <string>
#include <utility>
#include <vector>

#include "tools/files/host_tensor.h"
#include "tools/train/checkpoint.h"
#include "tools/train/history.h"
#include "tools/train/patience.h"
#include "tools/train/ranks.h"

namespace tern::train {

/// `offsets`: each rank's position in its stream of random numbers, including the session's.
NamedTensors checkpoint_of(const Model& model, const Session& session, const History& history, const Settings& settings,
                           const std::vector<std::uint64_t>& offsets, const Patience& patience = Patience());

/// Fails (bad_file) if the bytes have changed since writing.
NamedTensors read_checkpoint(const std::string& path);

// Parts of a checkpoint. These functions fail (bad_file) for missing or mismatched parts.
History history_of(const NamedTensors& file, const RunLength& extent);
/// An offset for each rank of the writing run.
std::vector<std::uint64_t> random_offsets_of(const NamedTensors& file);
/// All mutable states of the model at once, to never restore a session partially. The tensors borrow from `file`.
std::vector<std::pair<std::string, Tensor>> states_of(const NamedTensors& file, const Model& model);

/// Restores a rank's session and history to the file's position. Fails like the parts do, before any change.
void restore(const NamedTensors& file, const Model& model, const RunLength& extent, const Ranks& ranks,
             Session& session, History& history);

/// Fails (invalid_argument) if the settings of the writing run differ, and names the differences.
void require_same(const NamedTensors& file, const Settings& settings, const std::string& path);

}  // namespace tern::train
