#include "runtime/collective/session_groups.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "runtime/collective/call.h"
#include "runtime/devices/device.h"
#include "runtime/devices/transfer.h"
#include "runtime/trace/recorder.h"
#include "runtime/trace/step_label.h"
#include "schema/kinds.h"

namespace tern {
namespace {

std::set<std::string> names_of_groups(const Program& program) {
  std::set<std::string> names;
  for (const Function& f : program.functions) {
    for (const Node& n : f.nodes) {
      if (n.op == Op::collective) names.insert(n.text(AttrKey::name));
    }
  }
  return names;
}

Collective call_of(const Node& node, const TensorView& in) {
  Collective c;
  c.kind = static_cast<CollectiveKind>(node.integer(AttrKey::kind));
  if (c.kind == CollectiveKind::all_reduce || c.kind == CollectiveKind::reduce_scatter)
    c.reduce = static_cast<ReduceOp>(reduce_op_from_name(node.text(AttrKey::text)));
  c.root = static_cast<int>(node.integer(AttrKey::k));
  c.count = in.numel() * (is_complex(in.dtype) ? 2 : 1);
  c.dtype = in.dtype == DType::c32    ? DType::f16
            : in.dtype == DType::c64  ? DType::f32
            : in.dtype == DType::c128 ? DType::f64
                                      : in.dtype;
  return c;
}

/// All offers are of one kind, and no two of one device.
bool can_communicate(std::vector<DeviceRank::Offer> offers) {
  std::ranges::sort(offers);
  const std::int64_t kind = offers.front()[0];
  return kind != 0 && std::ranges::all_of(offers, [&](const auto& o) { return o[0] == kind; }) &&
         std::ranges::adjacent_find(offers) == offers.end();
}

}  // namespace

void SessionGroups::set(std::string_view name, std::shared_ptr<ProcessGroup> group) {
  const std::set<std::string> known = names_of_groups(*context_.prepared->program);
  if (!name.empty() && !known.contains(std::string(name))) {
    std::string list;
    for (const std::string& k : known) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", k);
    fail(ErrorCode::invalid_argument,
         fmt::format("the program has no group '{}'; it has: {}", name, list.empty() ? "none" : list));
  }
  if (group != nullptr) check_rank(group->rank(), group->size());
  members_.erase(std::string(name));
  if (group != nullptr) members_[std::string(name)].group = std::move(group);
}

SessionGroups::Member* SessionGroups::find(const std::string& name) {
  auto found = members_.find(name);
  if (found == members_.end()) found = members_.find("");
  return found == members_.end() ? nullptr : &found->second;
}

void SessionGroups::run(const KernelCall& call) {
  const Node& node = *call.node;
  const std::string& name = node.text(AttrKey::name);
  const std::int64_t wanted = node.integer(AttrKey::groups);
  Member* member = find(name);
  const int ranks = member == nullptr ? 1 : member->group->size();
  if (wanted > 1 && member == nullptr) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} ranks of the group '{}' do this together, and the session has no group: the application makes "
                     "one and gives it to Session::set_group (tern/collective.h)",
                     wanted, name));
  }
  if (wanted > 0 && wanted != ranks) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the program was exported for {} ranks of the group '{}', but the session's has {}", wanted, name,
                     ranks));
  }
  const TensorView &in = call.in[0], &out = call.out[0];
  Collective c = call_of(node, in);
  if (c.kind == CollectiveKind::reduce_scatter && in.size(0) % ranks != 0) {
    fail(ErrorCode::runtime, fmt::format("axis 0 has {} elements, which {} ranks cannot share", in.size(0), ranks));
  }
  if (c.kind == CollectiveKind::broadcast && c.root >= ranks)
    fail(ErrorCode::runtime, fmt::format("rank {} sends, in a group of {}", c.root, ranks));
  if (ranks == 1) {
    if (in.data != out.data) context_.copy(in, out);
    return;
  }
  if (!member->agreed) agree(*member);
  const TraceSpan span(EventKind::collective, "record_param_comms", member->calls++, [&] {
    return collective_args(c, name, ranks) + fmt::format("\"Rank\": {}, ", member->group->rank());
  });
  c.in = in.data;
  c.out = out.data;
  if (member->communicator != nullptr && member->communicator->run(c)) return;
  run_on_host(*member->group, c, in, out);
}

void SessionGroups::run_on_host(ProcessGroup& group, Collective c, const TensorView& in, const TensorView& out) {
  if (context_.device().traits().host_memory) return group.run(c);
  const std::uint64_t given = Transfer::bytes_of(in), made = Transfer::bytes_of(out);
  in_.reserve(given, cpu_device());
  out_.reserve(made, cpu_device());
  context_.read(in_.data(), in.data, given);  // what has failed on the device is not sent
  c.in = in_.data();
  c.out = out_.data();
  group.run(c);
  context_.stream->enqueue_upload(out.data, out_.data(), made);
  context_.stream->synchronize();
}

/// What a rank tells the others of its device.
void SessionGroups::agree(Member& member) {
  ProcessGroup& group = *member.group;
  DeviceRank* const rank = context_.prepared->options.reproducible ? nullptr : context_.stream->rank();
  using Offer = DeviceRank::Offer;
  const Offer mine = rank == nullptr ? Offer{} : rank->offer();
  std::vector<Offer> offers(static_cast<std::size_t>(group.size()));
  group.run({.kind = CollectiveKind::all_gather,
             .dtype = DType::i64,
             .count = static_cast<std::int64_t>(mine.size()),
             .in = mine.data(),
             .out = offers.data()});
  if (can_communicate(offers)) member.communicator = rank->join(group);
  member.agreed = true;
}

void SessionGroups::abort(const std::string& why) noexcept {
  for (auto& [name, member] : members_) {
    member.communicator.reset();
    member.agreed = false;
    if (member.group->size() > 1) member.group->abort(why);
  }
}

}  // namespace tern
