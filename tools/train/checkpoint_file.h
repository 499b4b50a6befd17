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

namespace tern::train {

NamedTensors checkpoint_of(const Model& model, const Session& session, const History& history,
                           const Settings& settings);

/// Fails (bad_file) where its bytes are not those that were written.
NamedTensors read_checkpoint(const std::string& path);

// Parts of a checkpoint. They fail (bad_file) where it lacks them, or they do not fit.
History history_of(const NamedTensors& file, const Extent& extent);
RandomPosition random_position_of(const NamedTensors& file);
/// All mutable states of the model at once, so that a session is not left with some of them. They borrow from `file`.
std::vector<std::pair<std::string, Tensor>> states_of(const NamedTensors& file, const Model& model);

/// Fails (invalid_argument) where the settings of the run that wrote it are others, and names those.
void require_same(const NamedTensors& file, const Settings& settings, const std::string& path);

}  // namespace tern::train
