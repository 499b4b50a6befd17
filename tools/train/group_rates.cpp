#include "tools/train/group_rates.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "exporter/training/methods.h"
#include "tools/text.h"

namespace tern::train {
namespace {

std::string state_of_group(const Model& model, const std::string& selector) {
  std::string name = std::string(training::kRateFactorState) + selector, groups;
  for (const StateInfo& s : model.states()) {
    if (s.name == name) return name;
    if (s.name.starts_with(training::kRateFactorState))
      groups += (groups.empty() ? "" : ", ") + escape_name(s.name.substr(training::kRateFactorState.size()));
  }
  fail(
      ErrorCode::invalid_argument,
      fmt::format("--lr and --schedule: the archive has no parameter group '{}' with a rate of its own{}; 'tern export "
                  "--params \"{}: lr=1x\"' makes one",
                  escape_name(selector), groups.empty() ? "" : " (its groups: " + groups + ")", escape_name(selector)));
}

double factor_of_text(const std::string& selector, std::string_view text, double rate) {
  const bool is_factor = text.ends_with('x');
  if (is_factor) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && std::isfinite(value))) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--lr '{}: ...' takes a finite number from 0, or one with x for a factor", escape_name(selector)));
  }
  if (is_factor || value == 0) return value;
  if (rate == 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--lr '{}: {}': rates of groups are factors of the archive's rate, which is 0; give a larger --lr",
                     escape_name(selector), value));
  }
  return value / rate;
}

double read_factor(const Session& session, const std::string& state) {
  return session.read_state(state).span<const double>()[0];
}

}  // namespace

std::pair<std::string, std::string> split_selector(const std::string& text) {
  const std::size_t at = text.find(": ");
  return at == std::string::npos ? std::pair(std::string(), text) : std::pair(text.substr(0, at), text.substr(at + 2));
}

std::string rates_text(const std::string& value, const GroupRateOptions& groups, std::string GroupRate::*member) {
  std::string text = value;
  for (const auto& [selector, group] : groups) {
    if (!(group.*member).empty()) text += fmt::format("; {}: {}", selector, group.*member);
  }
  return text;
}

GroupRates::GroupRates(const Session& session, const Model& model, const GroupRateOptions& options,
                       const std::string& text, double rate, std::uint64_t steps, std::uint64_t warmup) {
  for (const auto& [selector, group] : options) {
    Entry e;
    e.state = state_of_group(model, selector);
    e.archived_factor = read_factor(session, e.state);
    e.factor = group.rate.empty() ? e.archived_factor : factor_of_text(selector, group.rate, rate);
    e.has_schedule = !group.schedule.empty() && group.schedule != text;
    if (e.has_schedule) {
      e.schedule = LearningRateSchedule(group.schedule, rate * e.factor, steps, warmup);
      const LearningRateSchedule schedule(text, rate, steps, warmup);
      if (steps > 0 && !(schedule.rate(steps - 1) > 0)) {
        fail(ErrorCode::invalid_argument,
             fmt::format("--schedule '{}: {}': groups are factors of the archive's rate, which '{}' makes 0; give it a "
                         "positive end",
                         escape_name(selector), escape_name(group.schedule), escape_name(text)));
      }
    }
    entries_.push_back(std::move(e));
  }
}

void GroupRates::set(Session& session, std::uint64_t step, double rate) {
  for (Entry& e : entries_) {
    const double factor = e.has_schedule ? e.schedule.rate(step) / rate : e.factor;
    if (factor == e.written) continue;
    session.write_state(e.state, Tensor::borrow(&factor, DType::f64, {}));
    e.written = factor;
  }
}

void GroupRates::reset(Session& session) const {
  for (const Entry& e : entries_) session.write_state(e.state, Tensor::borrow(&e.archived_factor, DType::f64, {}));
}

}  // namespace tern::train
