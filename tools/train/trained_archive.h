// Archives with the states that a session has trained.
#pragma once

#include <tern/tern.h>

#include <string>

namespace tern::train {

/// The model's archive, with the session's values of all mutable states: it can be trained further.
void write_trained(const Model& model, const Session& session, const std::string& path);

/// `forward` alone, with the trained parameters as constants: batch norms and other work on constants is done now, as
/// `tern export` does it, and low-rank adapters are merged into the weights. Fails (invalid_argument) where the model
/// has no such method.
void write_forward(const Model& model, const Session& session, const std::string& path);

}  // namespace tern::train
