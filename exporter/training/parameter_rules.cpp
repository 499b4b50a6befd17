#include "exporter/training/parameter_rules.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "exporter/optimizers/settings.h"
#include "platform/pattern.h"

namespace tern {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  for (std::size_t index; (index = text.find(separator)) != std::string_view::npos; text.remove_prefix(index + 1))
    items.push_back(trimmed(text.substr(0, index)));
  items.push_back(trimmed(text));
  return items;
}

[[noreturn]] void refuse_rule(const std::string& text, std::string_view reason) {
  fail(ErrorCode::invalid_argument,
       fmt::format("--params '{}': {}. It takes 'SELECTOR: SETTING, SETTING', such as 'norm*|*.bias: weight-decay=0', "
                   "'lm_head: lr=0.1x' or 'ndim<2: optimizer=adamw, lr=3e-4'; settings are lr, frozen, optimizer, {}",
                   text, reason, optimizers::setting_names()));
}

constexpr std::string_view kAxes = "ndim";
constexpr std::string_view kRelations[] = {"<=", ">=", "!=", "<", ">", "="};  // longest first

/// A condition such as "ndim<2": relation and number. Empty relation: none.
struct AxesCondition {
  std::string_view relation;
  std::int64_t number = 0;
};
AxesCondition condition_of(std::string_view item) {
  if (!item.starts_with(kAxes)) return {};
  item.remove_prefix(kAxes.size());
  for (const std::string_view relation : kRelations) {
    if (!item.starts_with(relation)) continue;
    const std::string_view number = item.substr(relation.size());
    AxesCondition c{relation, 0};
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), c.number);
    return error == std::errc() && end == number.data() + number.size() ? c : AxesCondition{};
  }
  return {};
}

bool matches_rank(const AxesCondition& c, std::int64_t rank) {
  if (c.relation == "<") return rank < c.number;
  if (c.relation == "<=") return rank <= c.number;
  if (c.relation == ">") return rank > c.number;
  if (c.relation == ">=") return rank >= c.number;
  return (rank == c.number) == (c.relation == "=");
}

double rate_of_text(const std::string& rule, std::string_view text, bool* is_factor) {
  *is_factor = text.ends_with('x');
  if (*is_factor) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && std::isfinite(value)))
    refuse_rule(rule, "lr takes a finite number from 0, or one with x for a factor of --lr");
  return value;
}

void read_setting(const std::string& text, std::string_view item, ParameterRule& rule) {
  const std::size_t equals = item.find('=');
  const std::string_view name = trimmed(item.substr(0, equals));
  const std::string_view value = equals == std::string_view::npos ? "" : trimmed(item.substr(equals + 1));
  if (name == "frozen") {
    if (!value.empty() && value != "yes" && value != "no") refuse_rule(text, "frozen takes yes or no");
    rule.frozen = value != "no";
  } else if (name == "lr") {
    rule.rate = rate_of_text(text, value, &rule.rate_is_factor);
  } else if (name == "optimizer") {
    rule.optimizer = optimizers::options_of_name(value, fmt::format("--params '{}': optimizer", text));
  } else {
    optimizers::OptimizerOptions unused;
    try {
      if (!optimizers::change_setting(unused, name, value)) refuse_rule(text, fmt::format("'{}' is no setting", name));
    } catch (const Error& e) {
      fail(e.code(), std::string(e.what()).starts_with("--params") ? std::string(e.what())
                                                                   : fmt::format("--params '{}': {}", text, e.what()));
    }
    rule.settings.emplace_back(name, value);
  }
}

/// Edit distance (Levenshtein, 1966).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

ParameterRule parse_parameter_rule(const std::string& text) {
  constexpr std::size_t kLongest = 4096;  // characters
  if (text.size() > kLongest) refuse_rule(text.substr(0, 60) + "...", "it is too long");
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) refuse_rule(text, "it has no ':' between parameters and settings");
  ParameterRule rule;
  rule.selector = trimmed(std::string_view(text).substr(0, colon));
  for (const std::string_view item : split_text(rule.selector, '|')) {
    if (item.empty()) refuse_rule(text, "a pattern is empty");
    if (item.starts_with(kAxes) && item.find_first_of("<>=!") != std::string_view::npos &&
        condition_of(item).relation.empty())
      refuse_rule(text, "ndim takes a relation <, <=, =, !=, >=, > and a number");
  }
  for (const std::string_view item : split_text(std::string_view(text).substr(colon + 1), ',')) {
    if (item.empty()) refuse_rule(text, "a setting is empty");
    read_setting(text, item, rule);
  }
  return rule;
}

bool matches_name(const std::string& pattern, const std::string& name) {
  if (platform::matches_pattern(pattern, name)) return true;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    if (platform::matches_pattern(pattern, name.substr(0, dot))) return true;
  }
  return false;
}

bool selects(const ParameterRule& rule, const std::string& name, std::int64_t rank) {
  if (rule.selects_all) return true;
  return std::ranges::any_of(split_text(rule.selector, '|'), [&](std::string_view item) {
    const AxesCondition condition = condition_of(item);
    return condition.relation.empty() ? matches_name(std::string(item), name) : matches_rank(condition, rank);
  });
}

double rate_factor(const ParameterRule& rule, const optimizers::OptimizerOptions& options) {
  if (rule.rate && rule.rate_is_factor) return *rule.rate;
  const double rate = rule.rate ? *rule.rate : rule.optimizer->lr;
  if (options.lr == 0 && rate != 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--params '{}': its rate {} is not a factor of --lr 0; give a larger --lr", rule.selector, rate));
  }
  return rate == 0 ? 0 : rate / options.lr;
}

void require_matches(const std::vector<ParameterRule>& rules, const std::vector<NamedParameter>& parameters) {
  for (const ParameterRule& rule : rules) {
    std::vector<std::string> names;
    bool is_matched = false;
    for (const NamedParameter& p : parameters) {
      names.insert(names.end(), p.names.begin(), p.names.end());
      is_matched = is_matched ||
                   std::ranges::any_of(p.names, [&](const std::string& name) { return selects(rule, name, p.rank); });
    }
    if (is_matched) continue;
    fail(ErrorCode::invalid_argument,
         fmt::format("--params '{}': no parameter matches; 'tern inspect --weights 1000' lists them{}", rule.selector,
                     nearest_parameter(names, rule.selector)));
  }
}

std::vector<ParameterTraining> apply_rules(const std::vector<ParameterRule>& rules,
                                           const optimizers::OptimizerOptions& options,
                                           const std::vector<NamedParameter>& parameters) {
  std::vector<ParameterTraining> trainings;
  for (const NamedParameter& p : parameters) {
    ParameterTraining t{options};
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const ParameterRule& rule = rules[i];
      if (std::ranges::none_of(p.names, [&](const std::string& name) { return selects(rule, name, p.rank); })) continue;
      if (rule.optimizer) t.options = *rule.optimizer;
      for (const auto& [name, value] : rule.settings) {
        optimizers::require_read(
            t.options.optimizer, name, fmt::format("--params '{}': {}", rule.selector, name),
            fmt::format("the optimizer {} of {}", optimizers::optimizer_name(t.options.optimizer), p.names.front()));
        optimizers::change_setting(t.options, name, value);
      }
      if (!rule.optimizer && !rule.rate) continue;
      t.rate_rule = static_cast<std::int64_t>(i);
      t.options.lr = options.lr * rate_factor(rule, options);
    }
    optimizers::check_options(t.options);
    trainings.push_back(t);
  }
  return trainings;
}

std::string nearest_parameter(const std::vector<std::string>& names, const std::string& selector) {
  std::string plain_selector = selector;
  std::erase_if(plain_selector, [](char c) { return c == '*' || c == '?'; });
  const std::string* nearest = nullptr;
  std::size_t lower = 0;
  for (const std::string& name : names) {
    // The name itself and its modules: a pattern may select either.
    std::size_t edit_distance_here = distance(plain_selector, name);
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      edit_distance_here =
          std::min(edit_distance_here, distance(plain_selector, std::string_view(name).substr(0, dot)));
    if (nearest != nullptr && edit_distance_here >= lower) continue;
    nearest = &name;
    lower = edit_distance_here;
  }
  return nearest == nullptr ? "" : fmt::format("; the nearest is '{}'", nearest->substr(0, 200));
}

}  // namespace tern
