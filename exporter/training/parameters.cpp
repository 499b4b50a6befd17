#include "exporter/training/parameters.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "platform/pattern.h"

namespace tern {
namespace {

bool is_trainable(const State& s) {
  return s.kind == State::Kind::parameter && is_floating(s.type.dtype) && element_size(s.type.dtype) > 1 &&
         !s.type.quantized();
}

std::vector<bool> read_states(const Program& program, const Function& f) {
  std::vector<bool> is_read(program.states.size());
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::state) is_read[input.state] = true;
  }
  return is_read;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name, std::vector<bool>& is_used) {
  bool is_matched = false;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!platform::matches_pattern(patterns[i], name)) continue;
    is_matched = true;
    is_used[i] = true;
  }
  return is_matched;
}

/// Joins parameters under all their names, read by the function or not.
std::vector<TrainedParameter> join_names(const Program& program) {
  std::vector<TrainedParameter> joined;
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    if (!is_trainable(s)) continue;
    const auto first = std::ranges::find_if(
        joined, [&](const TrainedParameter& p) { return is_same_tensor(program.states[p.state], s); });
    if (first != joined.end()) {
      first->tied_states.push_back(i);
    } else {
      joined.push_back({i, {i}});
    }
  }
  return joined;
}

/// --freeze, then the rules in order.
bool is_frozen_name(const State& s, const std::vector<std::string>& freeze, const std::vector<ParameterRule>& rules,
                    std::vector<bool>& is_used) {
  bool frozen = matches_any(freeze, s.name, is_used);
  for (const ParameterRule& rule : rules) {
    if (rule.frozen && selects(rule, s.name, s.type.rank())) frozen = *rule.frozen;
  }
  return frozen;
}

/// Fails if patterns match only some of a tensor's names: both freezing and training it would be a surprise.
bool is_frozen(const Program& program, const TrainedParameter& p, const std::vector<std::string>& freeze,
               const std::vector<ParameterRule>& rules, std::vector<bool>& is_used) {
  std::string frozen_names, trained_names;
  for (std::uint32_t s : p.tied_states) {
    const State& state = program.states[s];
    std::string& names = is_frozen_name(state, freeze, rules, is_used) ? frozen_names : trained_names;
    names += (names.empty() ? "" : ", ") + state.name;
  }
  if (!frozen_names.empty() && !trained_names.empty()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} matches {}, which is the same tensor as {} (tied weights): give patterns for all of its "
                     "names, or for none",
                     freeze.empty() ? "--params with frozen" : "--freeze", frozen_names, trained_names));
  }
  return !frozen_names.empty();
}

/// Calls f with the byte range of each element in its storage.
template <typename F>
void visit_elements(const State& s, const F& f) {
  const auto size = static_cast<std::int64_t>(element_size(s.type.dtype));
  std::vector<std::int64_t> index(s.strides.size(), 0);
  for (;;) {
    std::int64_t element_offset = s.offset;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (s.type.shape[d].value() == 0) return;
      element_offset += index[d] * s.strides[d];
    }
    f(static_cast<std::size_t>(element_offset * size), static_cast<std::size_t>(size));
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == s.type.shape[d - 1].value()) index[--d] = 0;
    if (d == 0) return;
  }
}

/// The end of the last element, in bytes.
std::int64_t end_of(const State& s) {
  std::int64_t last = s.offset;
  for (std::size_t d = 0; d < s.strides.size(); ++d) last += (s.type.shape[d].value() - 1) * s.strides[d];
  return (last + 1) * element_size(s.type.dtype);
}

/// A step would write shared bytes twice, or change a frozen parameter.
void refuse_overlaps(const Program& program, const std::vector<TrainedParameter>& chosen,
                     const std::vector<TrainedParameter>& candidates) {
  for (const TrainedParameter& p : chosen) {
    for (const TrainedParameter& q : candidates) {
      const State &a = program.states[p.state], &b = program.states[q.state];
      if (is_same_tensor(a, b) || !share_bytes(program, a, b)) continue;
      fail(ErrorCode::unsupported,
           fmt::format("--train: the parameters {} and {} share bytes, but are not the same tensor; make one a view of "
                       "the other in forward(), so that there is one parameter",
                       a.name, b.name));
    }
  }
}

}  // namespace

bool is_same_tensor(const State& a, const State& b) {
  return a.storage == b.storage && a.offset == b.offset && a.type == b.type && a.strides == b.strides;
}

bool share_bytes(const Program& program, const State& a, const State& b) {
  // An LSTM's weights follow each other in one storage: no need to compare their bytes.
  if (a.storage != b.storage || end_of(a) <= b.offset * element_size(b.type.dtype) ||
      end_of(b) <= a.offset * element_size(a.type.dtype))
    return false;
  std::vector<bool> is_covered(program.storages[a.storage].size);
  visit_elements(a, [&](std::size_t index, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) is_covered.at(index + i) = true;
  });
  bool shared = false;
  visit_elements(b, [&](std::size_t index, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) shared = shared || is_covered.at(index + i);
  });
  return shared;
}

std::vector<NamedParameter> names_of(const Program& program, const std::vector<TrainedParameter>& parameters) {
  std::vector<NamedParameter> named_parameters;
  for (const TrainedParameter& p : parameters) {
    named_parameters.push_back({{}, program.states[p.state].type.rank()});
    for (const std::uint32_t s : p.tied_states) named_parameters.back().names.push_back(program.states[s].name);
  }
  return named_parameters;
}

std::vector<TrainedParameter> choose_parameters(Program& program, std::uint32_t function,
                                                const std::vector<std::string>& freeze,
                                                const std::vector<ParameterRule>& rules,
                                                const std::vector<StepRule>& steps) {
  const std::vector<bool> is_read = read_states(program, program.functions[function]);
  std::vector<bool> is_used(freeze.size());
  std::vector<TrainedParameter> chosen;
  const std::vector<TrainedParameter> candidates = join_names(program);
  require_matches(rules, names_of(program, candidates));
  for (TrainedParameter p : candidates) {
    if (is_frozen(program, p, freeze, rules, is_used)) continue;
    const NamedParameter parameter_names = names_of(program, {p}).front();
    if (!steps.empty() && std::ranges::none_of(steps, [&](const StepRule& s) { return trains(s, parameter_names); }))
      continue;
    std::erase_if(p.tied_states, [&](std::uint32_t s) { return !is_read[s]; });
    if (p.tied_states.empty()) continue;
    p.state = p.tied_states[0];
    chosen.push_back(std::move(p));
  }
  for (std::size_t i = 0; i < freeze.size(); ++i) {
    if (is_used[i]) continue;
    std::vector<std::string> names;
    for (const TrainedParameter& p : candidates) {
      for (const std::uint32_t state : p.tied_states) names.push_back(program.states[state].name);
    }
    fail(ErrorCode::invalid_argument,
         fmt::format("--freeze {}: no parameter matches; 'tern inspect --weights 1000' lists them{}", freeze[i],
                     nearest_parameter(names, freeze[i])));
  }
  if (chosen.empty())
    fail(ErrorCode::invalid_argument, "--train: the program has no floating-point parameter to train");
  refuse_overlaps(program, chosen, candidates);
  for (const TrainedParameter& p : chosen) {
    const std::uint32_t storage = program.states[p.state].storage;
    for (State& s : program.states) s.is_mutable = s.is_mutable || s.storage == storage;
  }
  return chosen;
}

}  // namespace tern
