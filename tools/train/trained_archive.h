// Archives with a session's trained states.
#pragma once

#include <tern/tern.h>

#include <string>

namespace tern::train {

/// Writes the model's archive with the session's values of all mutable states; training can continue from this archive.
void write_trained(const Model& model, const Session& session, const std::string& path);

/// Writes `forward` alone, with the trained parameters as constants: folds batch norms and other constants, like `tern
/// export`, and merges low-rank adapters into the weights. Fails (invalid_argument) for a model without `forward`.
void write_forward(const Model& model, const Session& session, const std::string& path);

}  // namespace tern::train
