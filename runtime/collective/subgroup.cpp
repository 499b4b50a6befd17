#include <fmt/format.h>
#include <tern/error.h>
#include <tern/subgroup.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "runtime/collective/call.h"
#include "runtime/collective/divider.h"
#include "runtime/collective/transport_group.h"

namespace tern {
namespace {

/// Request of a rank.
struct SplitRequest {
  std::int64_t color, name, list;
  static constexpr int kNumbers = 3;
};

/// Equal in all processes on all hosts (FNV-1a).
std::int64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<std::int64_t>(h);
}

TransportGroup& require_transport_group(ProcessGroup& group) {
  auto* const found = dynamic_cast<TransportGroup*>(&group);
  if (found == nullptr || found->divider() == nullptr)
    fail(ErrorCode::unsupported,
         "only groups of local_group, connect_group and split_group can be divided: create groups of the application's "
         "own engine directly");
  return *found;
}

/// Marks a refusal; the reason follows.
constexpr char kRefusal = '!';

/// Creates the invitation of a new group's first rank. Failures are sent as well, because the members wait.
Invitation invite(TransportGroup& group, const SubgroupMembership& membership) {
  std::string text;
  try {
    text = group.divider()->invite(membership);
    if (text.size() >= Invitation{}.size()) fail(ErrorCode::internal, "an invitation is too long");
  } catch (const std::exception& e) {
    text = kRefusal + std::string(e.what());
  }
  Invitation invitation{};
  text.copy(invitation.data(), invitation.size() - 1);
  return invitation;
}

/// `list`: hash of the requested ranks; 0 if the caller gives only its color.
std::shared_ptr<ProcessGroup> divide(TransportGroup& group, int color, const std::string& name, std::int64_t list) {
  const SplitRequest mine{color, hash(name), list};
  std::vector<SplitRequest> requests(static_cast<std::size_t>(group.size()));
  group.run({.kind = CollectiveKind::all_gather,
             .dtype = DType::i64,
             .count = SplitRequest::kNumbers,
             .input = &mine,
             .output = requests.data(),
             .location = "split_group"});
  // All ranks see equal wishes, so all fail or none.
  for (std::size_t r = 1; r < requests.size(); ++r) {
    if (requests[r].name != requests[0].name || requests[r].list != requests[0].list)
      fail(ErrorCode::runtime, fmt::format("ranks 0 and {} divide their group differently: they ask for other {}", r,
                                           requests[r].name != requests[0].name ? "names" : "ranks"));
  }
  SubgroupMembership membership{{}, 0, name};
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (requests[r].color != color) continue;
    if (static_cast<int>(r) == group.rank()) membership.rank = membership.size();
    membership.members.push_back(static_cast<std::int32_t>(r));
  }
  const bool belongs = color >= 0;
  const Invitation invitation = belongs && membership.rank == 0 ? invite(group, membership) : Invitation{};
  std::vector<Invitation> invitations(requests.size());
  group.run({.kind = CollectiveKind::all_gather,
             .dtype = DType::u8,
             .count = static_cast<std::int64_t>(invitation.size()),
             .input = invitation.data(),
             .output = invitations.data(),
             .location = "split_group"});
  for (std::size_t r = 0; r < invitations.size(); ++r) {
    const std::string_view text = invitations[r].data();
    if (text.starts_with(kRefusal))
      fail(ErrorCode::runtime, fmt::format("rank {} cannot begin the new group '{}': {}", r, name, text.substr(1)));
  }
  if (!belongs) return nullptr;
  return group.divider()->join(membership, invitations[static_cast<std::size_t>(membership.members[0])].data());
}

}  // namespace

std::shared_ptr<ProcessGroup> split_group(ProcessGroup& group, int color, const std::string& name) {
  return divide(require_transport_group(group), std::max(color, -1), name, 0);
}

std::shared_ptr<ProcessGroup> new_group(ProcessGroup& group, std::span<const int> ranks, const std::string& name) {
  std::set<int> members;
  std::string list;
  for (const int r : ranks) {
    check_rank(r, group.size());
    if (!members.insert(r).second)
      fail(ErrorCode::invalid_argument, fmt::format("the new group '{}' has rank {} twice", name, r));
  }
  for (const int r : members) list += fmt::format("{} ", r);
  return divide(require_transport_group(group), members.contains(group.rank()) ? 0 : -1, name, hash(list));
}

}  // namespace tern
