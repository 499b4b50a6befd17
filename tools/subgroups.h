// Groups of some ranks by the names that a program has for them: --groups NAME=RANKS/RANKS.
#pragma once

#include <tern/collective.h>
#include <tern/tern.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tern {

struct Program;

/// What one name stands for: each rank is in at most one of the parts.
struct NamedGroups {
  std::string name;
  std::vector<std::vector<int>> parts;
};

/// "tp=0,1/2,3": on ranks 0 and 1 the group tp has these two ranks, on ranks 2 and 3 the other two. "0-3" is 0,1,2,3.
/// Fails (invalid_argument) where the text has another form, or a rank is there twice.
NamedGroups parse_groups(const std::string& text);

/// The metadata of an archive that holds such texts, separated by spaces.
inline constexpr const char* kGroupsMetadata = "groups";

/// Writes the texts into the program's metadata. Fails (invalid_argument) as parse_groups does, and where the program
/// has no group of a name.
void hold_groups(Program& program, const std::vector<std::string>& texts);

/// `texts`, or where there are none those of the program's metadata.
std::vector<NamedGroups> groups_of(const Program& program, const std::vector<std::string>& texts);

/// Gives the session `world` for all names, and for those in `named` groups of their own. All ranks of `world` call it.
/// Fails (invalid_argument) where the program has several names, and one other than "0" stands for nothing.
void set_groups(Session& session, const Program& program, const std::shared_ptr<ProcessGroup>& world,
                const std::vector<NamedGroups>& named);

}  // namespace tern
