// Splits a group into groups of some of its ranks.
#pragma once

#include <tern/collective.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tern {

/// Address of a new group, sent by its first rank to the other members: a zero-terminated string.
using Invitation = std::array<char, 256>;

/// A new group, seen by one of its ranks.
struct SubgroupMembership {
  std::vector<std::int32_t> members;  ///< ranks of the parent group, ascending
  int rank = 0;                       ///< rank in the new group
  std::string name;
  int size() const { return static_cast<int>(members.size()); }
};

class Divider {
 public:
  virtual ~Divider() = default;
  /// Called by the first rank of a new group before joining.
  virtual std::string invite(const SubgroupMembership& membership) = 0;
  /// Called by all ranks of a new group; returns after all have joined.
  virtual std::shared_ptr<ProcessGroup> join(const SubgroupMembership& membership, const std::string& invitation) = 0;
};

}  // namespace tern
