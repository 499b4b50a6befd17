#include "exporter/training/parameters.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <tern/error.h>

#include <algorithm>

namespace tern {
namespace {

bool is_trainable(const State& s) {
  return s.kind == State::Kind::parameter && is_floating(s.type.dtype) && element_size(s.type.dtype) > 1 &&
         !s.type.quantized();
}

std::vector<bool> read_states(const Program& program, const Function& f) {
  std::vector<bool> read(program.states.size());
  for (const FunctionInput& in : f.inputs) {
    if (in.kind == FunctionInput::Kind::state) read[in.state] = true;
  }
  return read;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name, std::vector<bool>& used) {
  bool any = false;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (::fnmatch(patterns[i].c_str(), name.c_str(), 0) != 0) continue;
    any = true;
    used[i] = true;
  }
  return any;
}

bool is_same_tensor(const State& a, const State& b) {
  return a.storage == b.storage && a.offset == b.offset && a.type == b.type && a.strides == b.strides;
}

}  // namespace

std::vector<TrainedParameter> choose_parameters(Program& program, std::uint32_t function,
                                                const std::vector<std::string>& freeze) {
  const std::vector<bool> read = read_states(program, program.functions[function]);
  std::vector<bool> used(freeze.size());
  std::vector<TrainedParameter> chosen;
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    if (!is_trainable(s) || matches_any(freeze, s.name, used) || !read[i]) continue;
    const auto first = std::ranges::find_if(
        chosen, [&](const TrainedParameter& p) { return is_same_tensor(program.states[p.state], s); });
    if (first != chosen.end()) {
      first->same.push_back(i);
    } else {
      chosen.push_back({i, {i}});
    }
  }
  for (std::size_t i = 0; i < freeze.size(); ++i) {
    if (!used[i]) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--freeze {}: no parameter has such a name; 'tern inspect --weights' lists them", freeze[i]));
    }
  }
  if (chosen.empty())
    fail(ErrorCode::invalid_argument, "--train: the program has no floating parameter that could be trained");
  for (const TrainedParameter& p : chosen) {
    const std::uint32_t storage = program.states[p.state].storage;
    for (State& s : program.states) s.is_mutable = s.is_mutable || s.storage == storage;
  }
  return chosen;
}

}  // namespace tern
