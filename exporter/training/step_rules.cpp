#include "exporter/training/step_rules.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "exporter/training/methods.h"

namespace tern {
namespace {

[[noreturn]] void refuse_step(const std::string& text, std::string_view reason) {
  fail(ErrorCode::invalid_argument,
       fmt::format("--step '{}': {}. It takes 'NAME: loss=RESULT, trains=SELECTOR, freeze=SELECTOR, every=N' and the "
                   "settings of --params, such as 'critic: loss=1, trains=critic|trunk, optimizer=adam, lr=1e-3'",
                   text, reason));
}

bool is_method_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool is_identifier = !name.empty() && letter(name[0]) &&
                             std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  return is_identifier && name != training::kForward && name != training::kLoss && name != training::kAccumulate &&
         name != training::kApply;
}

std::string_view trim_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::uint64_t count_of(const std::string& text, std::string_view value) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (error != std::errc() || end != value.data() + value.size() || count == 0)
    refuse_step(text, "every takes a number of batches from 1");
  return count;
}

bool selects_any(const std::string& selector, const NamedParameter& p) {
  ParameterRule rule;
  rule.selector = selector;
  return std::ranges::any_of(p.names, [&](const std::string& name) { return selects(rule, name, p.rank); });
}

/// --accumulate gives each step two more methods.
void refuse_method_names(const std::vector<StepRule>& steps) {
  for (const StepRule& owner : steps) {
    for (const std::string_view method : {training::kAccumulate, training::kApply}) {
      const std::string name = training::method_of_step(method, owner.name);
      if (std::ranges::find(steps, name, &StepRule::name) == steps.end()) continue;
      fail(ErrorCode::invalid_argument,
           fmt::format("--step {0}: with --accumulate, '{0}' is the method '{1}' of the step '{2}'; give this step "
                       "another name",
                       name, method, owner.name));
    }
  }
}

}  // namespace

StepRule parse_step_rule(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) refuse_step(text, "it has no ':' behind the name");
  StepRule step;
  step.name = trim_spaces(std::string_view(text).substr(0, colon));
  if (!is_method_name(step.name)) refuse_step(text, "the name must have letters, digits and _, and be no other method");
  std::string settings;
  for (std::string_view remaining = std::string_view(text).substr(colon + 1); !remaining.empty();) {
    const std::size_t comma = remaining.find(',');
    const std::string_view item = trim_spaces(remaining.substr(0, comma));
    remaining = comma == std::string_view::npos ? "" : remaining.substr(comma + 1);
    const std::size_t equals = item.find('=');
    const std::string_view name = trim_spaces(item.substr(0, equals));
    const std::string value(equals == std::string_view::npos ? "" : trim_spaces(item.substr(equals + 1)));
    if (name == "loss") {
      step.loss = value;
    } else if (name == "trains") {
      step.trains = value;
    } else if (name == "freeze") {
      step.freeze = value;
    } else if (name == "every") {
      step.every = count_of(text, value);
    } else if (name == "frozen") {
      refuse_step(text, "frozen is a setting of parameters; give freeze=SELECTOR");
    } else {
      settings += (settings.empty() ? "" : ", ") + std::string(item);
    }
  }
  if (step.loss.empty()) refuse_step(text, "it has no loss=RESULT");
  if (step.trains.empty()) refuse_step(text, "trains has no pattern");
  if (!settings.empty()) step.rule = parse_parameter_rule(step.name + ": " + settings);
  step.rule.selector = step.name;
  step.rule.selects_all = true;
  return step;
}

void check_steps(const std::vector<StepRule>& steps, bool accumulate) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (steps[k].name == steps[i].name)
        fail(ErrorCode::invalid_argument, fmt::format("--step: two steps have the name '{}'", steps[i].name));
    }
  }
  if (!steps.empty() && steps[0].every != 1) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--step: the first step, '{}', is taken with each batch; give every= to later ones",
                     steps[0].name));
  }
  if (accumulate) refuse_method_names(steps);
}

std::vector<std::string> step_names(const Program& program) {
  std::vector<std::string> names;
  for (const auto& [key, text] : program.metadata) {
    if (key != training::kStepsKey) continue;
    for (std::string_view remaining = text; !remaining.empty();) {
      const std::string_view item = remaining.substr(0, remaining.find(' '));
      remaining.remove_prefix(std::min(remaining.size(), item.size() + 1));
      names.emplace_back(item.substr(0, item.find(':')));
    }
  }
  return names;
}

bool trains(const StepRule& step, const NamedParameter& parameter) {
  return selects_any(step.trains, parameter) && (step.freeze.empty() || !selects_any(step.freeze, parameter));
}

}  // namespace tern
