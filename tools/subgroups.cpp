#include "tools/subgroups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tern/error.h>
#include <tern/subgroup.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "runtime/collective/group_names.h"
#include "schema/program.h"

namespace tern {
namespace {

constexpr int kMaxRanks = 1 << 20;

[[noreturn]] void refuse_subgroups(const std::string& text, const std::string& reason) {
  fail(ErrorCode::invalid_argument,
       fmt::format("invalid groups '{}': {}; write NAME=RANKS/RANKS, as in tp=0,1/2,3 or dp=0-3", text, reason));
}

/// "3" or "0-3", at the begin of `remaining`.
std::vector<int> take_range(const std::string& text, std::string_view& remaining) {
  const auto number = [&] {
    int n = -1;
    const auto [end, error] = std::from_chars(remaining.data(), remaining.data() + remaining.size(), n);
    if (error != std::errc() || n < 0 || n >= kMaxRanks)
      refuse_subgroups(text, fmt::format("'{}' is not a rank", remaining));
    remaining.remove_prefix(static_cast<std::size_t>(end - remaining.data()));
    return n;
  };
  const int first = number();
  int last = first;
  if (remaining.starts_with('-')) {
    remaining.remove_prefix(1);
    last = number();
    if (last < first) refuse_subgroups(text, fmt::format("{}-{} has no ranks", first, last));
  }
  std::vector<int> ranks;
  for (int r = first; r <= last; ++r) ranks.push_back(r);
  return ranks;
}

/// The part of a name containing the rank, or -1.
int part_with(const RankGroups& groups, int rank) {
  for (std::size_t p = 0; p < groups.subgroups.size(); ++p) {
    if (std::ranges::find(groups.subgroups[p], rank) != groups.subgroups[p].end()) return static_cast<int>(p);
  }
  return -1;
}

void check_sizes(const RankGroups& groups, int size) {
  for (const std::vector<int>& subgroup : groups.subgroups) {
    const int max_rank = *std::ranges::max_element(subgroup);
    if (max_rank >= size)
      fail(ErrorCode::invalid_argument,
           fmt::format("the group '{}' has rank {}, but there are {} ranks", groups.name, max_rank, size));
  }
}

}  // namespace

RankGroups parse_groups(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse_subgroups(text, "NAME= is missing");
  RankGroups groups{text.substr(0, equals), {{}}};
  std::set<int> visited;
  std::string_view remaining = std::string_view(text).substr(equals + 1);
  for (;;) {
    for (const int r : take_range(text, remaining)) {
      if (!visited.insert(r).second) refuse_subgroups(text, fmt::format("rank {} occurs twice", r));
      groups.subgroups.back().push_back(r);
    }
    if (remaining.empty()) return groups;
    if (remaining[0] != ',' && remaining[0] != '/')
      refuse_subgroups(text, fmt::format("unexpected '{}' after a rank", remaining[0]));
    if (remaining[0] == '/') groups.subgroups.emplace_back();
    remaining.remove_prefix(1);
  }
}

namespace {

std::string name_in(const std::string& text) {
  return text.substr(0, text.find('='));
}

/// `names_seen`: the names of other texts.
RankGroups parse_once(const std::string& text, std::set<std::string>& visited) {
  if (!visited.insert(name_in(text)).second) refuse_subgroups(text, fmt::format("'{}' is given twice", name_in(text)));
  return parse_groups(text);
}

void require_name(const std::string& text, const std::set<std::string>& names) {
  if (text.find('=') != std::string::npos && !names.contains(name_in(text)))
    refuse_subgroups(text, fmt::format("the program has no group '{}'; it has: {}", name_in(text),
                                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

void hold_groups(Program& program, const std::vector<std::string>& texts) {
  const std::set<std::string> names = group_names(program);
  std::string text;
  std::set<std::string> visited;
  for (const std::string& t : texts) {
    require_name(t, names);
    parse_once(t, visited);
    text += (text.empty() ? "" : " ") + t;
  }
  if (!text.empty()) program.metadata.emplace_back(kGroupsMetadata, text);
}

std::vector<RankGroups> groups_of(const Program& program, const std::vector<std::string>& texts) {
  std::vector<RankGroups> named_groups;
  std::set<std::string> visited;
  for (const std::string& t : texts) named_groups.push_back(parse_once(t, visited));
  const std::string* stored_groups = program.find_metadata(kGroupsMetadata);
  if (!texts.empty() || stored_groups == nullptr) return named_groups;
  const std::set<std::string> names = group_names(program);
  std::istringstream stream(*stored_groups);
  for (std::string t; stream >> t;) {
    require_name(t, names);  // checked before its ranks (possibly many)
    named_groups.push_back(parse_once(t, visited));
  }
  return named_groups;
}

void set_groups(Session& session, const Program& program, const std::shared_ptr<ProcessGroup>& world,
                const std::vector<RankGroups>& named_groups) {
  const std::set<std::string> names = group_names(program);
  for (const RankGroups& g : named_groups) check_sizes(g, world->size());
  for (const std::string& name : names) {
    const auto found = std::ranges::find(named_groups, name, &RankGroups::name);
    if (found == named_groups.end() && names.size() > 1 && name != "0")
      fail(ErrorCode::invalid_argument,
           fmt::format("the program has {} groups, and the ranks of '{}' are unknown: give --groups {}=RANKS/RANKS",
                       names.size(), name, name));
    if (found != named_groups.end() && part_with(*found, world->rank()) < 0)
      fail(ErrorCode::invalid_argument,
           fmt::format("rank {} runs a program with the group '{}', but is in no part of it", world->rank(), name));
  }
  session.set_group(world);
  for (const RankGroups& g : named_groups) {
    std::shared_ptr<ProcessGroup> subgroup = split_group(*world, part_with(g, world->rank()), g.name);
    if (subgroup != nullptr && names.contains(g.name)) session.set_group(std::move(subgroup), g.name);
  }
}

}  // namespace tern
