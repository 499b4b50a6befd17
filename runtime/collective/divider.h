// How a kind of group makes groups of some of its ranks.
#pragma once

#include <tern/collective.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tern {

/// What the first rank of a new group tells the others: where they find it. A text with a final zero.
using Invitation = std::array<char, 256>;

/// A new group, as one of its ranks sees it.
struct Part {
  std::vector<std::int32_t> members;  ///< ranks of the group that is divided, ascending
  int rank = 0;                       ///< in the new group
  std::string name;
  int size() const { return static_cast<int>(members.size()); }
};

class Divider {
 public:
  virtual ~Divider() = default;
  /// Called by the first rank of a new group, before it joins.
  virtual std::string invite(const Part& part) = 0;
  /// Called by all ranks of a new group; returns when all have come.
  virtual std::shared_ptr<ProcessGroup> join(const Part& part, const std::string& invitation) = 0;
};

}  // namespace tern
