// Settings of optimizers by the names of `tern export`: "weight-decay", "betas".
#pragma once

#include <string_view>

#include "exporter/optimizers/options.h"

namespace tern::optimizers {

/// Options of a name of the table, optionally with the suffix 8bit: "adamw", "adamw8bit". Fails (invalid_argument) for
/// other names, listing all; `option` begins the message.
OptimizerOptions options_of_name(std::string_view name, std::string_view option);
/// "sgd, adam, adamw, ..."
std::string optimizer_names();

/// Fails (invalid_argument) unless the optimizer reads the setting: other optimizers would silently ignore it. `option`
/// begins the message, `optimizer` names the optimizer in it.
void require_read(Optimizer o, std::string_view setting, std::string_view option, std::string_view optimizer);

/// Changes a setting: weight-decay, momentum, dampening, eps (numbers), betas (B1/B2), nesterov, amsgrad (yes or no,
/// yes if empty). Returns false for other names; fails (invalid_argument) for another value.
bool change_setting(OptimizerOptions& o, std::string_view setting, std::string_view value);
/// "weight-decay, momentum, ..."
std::string setting_names();

/// "adamw lr=0.001 weight-decay=0.01": name, rate, and the settings that differ from PyTorch's defaults.
std::string describe(const OptimizerOptions& o);

}  // namespace tern::optimizers
