#include "runtime/weights/state_names.h"

#include <tern/error.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "runtime/weights/replace.h"

namespace tern {
namespace {

constexpr std::size_t kSampledNames = 4;       // names that prefixes are looked for with
constexpr std::size_t kMaxPrefixes = 64;       // bounds the work for programs with many equal names
constexpr std::size_t kMaxNameMatched = 4096;  // names of a file that are counted

/// Prefixes that make a state of one of the first names, in the order of removed modules.
std::set<std::pair<std::string, std::string>> prefixes_of(const Program& program,
                                                          const std::vector<std::string>& names) {
  std::set<std::pair<std::string, std::string>> found;
  for (std::size_t i = 0; i < std::min(names.size(), kSampledNames); ++i) {
    const std::string_view name = names[i];
    for (std::size_t begin = 0; begin != std::string_view::npos && name.find('.', begin) != std::string_view::npos;) {
      const std::string_view rest = name.substr(begin);
      for (const State& s : program.states) {
        const std::string_view state = s.name;
        if (!state.ends_with(rest) || found.size() >= kMaxPrefixes) continue;
        const std::string_view before = state.substr(0, state.size() - rest.size());
        if (before.empty() || before.ends_with('.')) found.emplace(name.substr(0, begin), before);
      }
      begin = name.find('.', begin) + 1;
    }
  }
  return found;
}

}  // namespace

std::string ModulePrefix::state_name(std::string_view name) const {
  return name.starts_with(removed) ? added + std::string(name.substr(removed.size())) : std::string();
}

ModulePrefix find_prefix(const Program& program, const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> states;
  for (const State& s : program.states) states.insert(s.name);
  const auto is_known = [&](const std::string& name) { return states.contains(name) || is_folded(program, name); };
  if (std::ranges::any_of(names, is_known)) return {};
  std::vector<ModulePrefix> best;
  std::size_t most = 0;
  for (const auto& [removed, added] : prefixes_of(program, names)) {
    ModulePrefix prefix{removed, added};
    const auto count = static_cast<std::size_t>(std::count_if(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxNameMatched)),
        [&](const std::string& name) { return states.contains(prefix.state_name(name)); }));
    if (count < most) continue;
    // Fewer removed modules come first: removing more gives the same states.
    if (count > most) best.clear();
    most = count;
    if (best.empty() || best.front().removed.size() == removed.size()) best.push_back(std::move(prefix));
  }
  if (best.size() > 1)
    fail(ErrorCode::invalid_argument,
         "'" + names.front() + "' may be the state '" + best[0].state_name(names.front()) + "' or '" +
             best[1].state_name(names.front()) +
             "': rename the tensors of the file to the names that 'tern inspect --json' lists");
  return best.empty() ? ModulePrefix() : best.front();
}

std::string nearest_state(const Program& program, std::string_view name) {
  const State* nearest = nullptr;
  std::size_t most = 0;
  for (const State& s : program.states) {
    const std::string_view state = s.name;
    const auto begin = static_cast<std::size_t>(std::ranges::mismatch(state, name).in1 - state.begin());
    const std::size_t longest = std::min(state.size(), name.size()) - begin;
    std::size_t end = 0;
    while (end < longest && state[state.size() - 1 - end] == name[name.size() - 1 - end]) ++end;
    if (nearest != nullptr && begin + end <= most) continue;
    nearest = &s;
    most = begin + end;
  }
  return nearest == nullptr ? std::string() : "; the nearest is '" + nearest->name.substr(0, 200) + "'";
}

}  // namespace tern
