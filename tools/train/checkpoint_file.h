// What a checkpoint holds: every mutable state (`state.NAME`), the position in the stream of random numbers, the
// history, the settings, and a hash of all of it, as safetensors.
#pragma once

#include <tern/tern.h>

#include <string>
#include <utility>
#include <vector>

#include "tools/files/host_tensor.h"
#include "tools/train/checkpoint.h"
#include "tools/train/history.h"
#include "tools/train/ranks.h"

namespace tern::train {

/// `offsets`: of each rank in its stream of random numbers; the session's is one of them.
NamedTensors checkpoint_of(const Model& model, const Session& session, const History& history, const Settings& settings,
                           const std::vector<std::uint64_t>& offsets);

/// Fails (bad_file) where its bytes are not those that were written.
NamedTensors read_checkpoint(const std::string& path);

// Parts of a checkpoint. They fail (bad_file) where it lacks them, or they do not fit.
History history_of(const NamedTensors& file, const Extent& extent);
/// One for each rank of the run that wrote it.
std::vector<std::uint64_t> random_offsets_of(const NamedTensors& file);
/// All mutable states of the model at once, so that a session is not left with some of them. They borrow from `file`.
std::vector<std::pair<std::string, Tensor>> states_of(const NamedTensors& file, const Model& model);

/// Brings a rank's session and history to where the file is. Fails as the parts do, before anything changes.
void restore(const NamedTensors& file, const Model& model, const Extent& extent, const Ranks& ranks, Session& session,
             History& history);

/// Fails (invalid_argument) where the settings of the run that wrote it are others, and names those.
void require_same(const NamedTensors& file, const Settings& settings, const std::string& path);

}  // namespace tern::train
