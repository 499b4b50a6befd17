// Subgroups of ranks by the program's names: --groups NAME=RANKS/RANKS.
#pragma once

#include <tern/collective.h>
#include <tern/tern.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tern {

struct Program;

/// The groups of a name: each rank is in at most one of the parts.
struct RankGroups {
  std::string name;
  std::vector<std::vector<int>> subgroups;
};

/// "tp=0,1/2,3": on ranks 0 and 1 the group tp has these two ranks, on ranks 2 and 3 the other two. "0-3" is 0,1,2,3.
/// Fails (invalid_argument) for text of another form, and for a repeated rank.
RankGroups parse_groups(const std::string& text);

/// Metadata key of an archive's group texts, separated by spaces.
inline constexpr const char* kGroupsMetadata = "groups";

/// Writes the texts to the program's metadata. Fails (invalid_argument) like parse_groups, and for names missing in the
/// program.
void hold_groups(Program& program, const std::vector<std::string>& texts);

/// Parses `texts`, or without texts the program's metadata.
std::vector<RankGroups> groups_of(const Program& program, const std::vector<std::string>& texts);

/// Sets `world` as the session's group for all names, except for subgroups of the names in `named_groups`. All ranks of
/// `world` must call set_groups. Fails (invalid_argument) if the program has several names, and a name other than "0"
/// has no group.
void set_groups(Session& session, const Program& program, const std::shared_ptr<ProcessGroup>& world,
                const std::vector<RankGroups>& named_groups);

}  // namespace tern
