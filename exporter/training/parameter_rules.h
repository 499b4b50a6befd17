// Parameter groups: rules that give parameters an optimizer, its settings and a rate by their names, like PyTorch's
// param_groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/optimizers/options.h"

namespace tern {

/// Selects parameters and changes their training. Later rules override earlier ones, setting by setting.
struct ParameterRule {
  std::string selector;                                   ///< "norm*|*.bias|ndim<2"
  std::optional<bool> frozen;                             ///< false: trained, although an earlier rule freezes
  std::optional<optimizers::OptimizerOptions> optimizer;  ///< begins with its defaults, the rate too
  std::optional<double> rate;                             ///< a rate, or a factor of the archive's
  bool rate_is_factor = false;
  bool selects_all = false;                                   ///< `selector` is only a name: of a step (step_rules.h)
  std::vector<std::pair<std::string, std::string>> settings;  ///< names and values for change_setting
};

/// Reads "SELECTOR: SETTING, SETTING". A selector is a list, separated by |, of shell patterns (* ? []) for names of
/// parameters or modules, and of conditions on the number of axes: ndim<2, ndim!=2. Settings: lr=0.1x, lr=1e-4, frozen,
/// frozen=no, optimizer=NAME, and those of change_setting. Fails (invalid_argument) for other text.
ParameterRule parse_parameter_rule(const std::string& text);

bool selects(const ParameterRule& rule, const std::string& name, std::int64_t rank);
/// True if a selector's pattern matches the name, or a module that holds it: "lm_head" matches "lm_head.weight".
bool matches_name(const std::string& pattern, const std::string& name);

/// Parameter under all its names.
struct NamedParameter {
  std::vector<std::string> names;
  std::int64_t rank = 0;
};
/// Training of one parameter.
struct ParameterTraining {
  optimizers::OptimizerOptions options;
  /// Number of the rule with the rate; -1: the archive's rate.
  std::int64_t rate_rule = -1;
  bool operator==(const ParameterTraining&) const = default;
};
/// Fails (invalid_argument) if a rule selects no parameter, naming the nearest one.
void require_matches(const std::vector<ParameterRule>& rules, const std::vector<NamedParameter>& parameters);
/// Training of each parameter: `options` changed by the rules in order. Fails (invalid_argument) if an optimizer does
/// not read a setting given for it, or if a rate cannot be a factor of the archive's rate 0.
std::vector<ParameterTraining> apply_rules(const std::vector<ParameterRule>& rules,
                                           const optimizers::OptimizerOptions& options,
                                           const std::vector<NamedParameter>& parameters);

/// Number by which the rule's rate exceeds the archive's.
double rate_factor(const ParameterRule& rule, const optimizers::OptimizerOptions& options);

/// "; the nearest is 'NAME'"; empty without names.
std::string nearest_parameter(const std::vector<std::string>& names, const std::string& selector);

}  // namespace tern
