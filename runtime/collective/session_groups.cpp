#include "runtime/collective/session_groups.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "runtime/collective/call.h"
#include "runtime/collective/engines.h"
#include "runtime/collective/group_names.h"
#include "runtime/collective/transport_group.h"
#include "runtime/devices/device.h"
#include "runtime/devices/transfer.h"
#include "runtime/trace/recorder.h"
#include "runtime/trace/step_label.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Complex elements count as two floats.
DType part_of(DType t) {
  return t == DType::c32 ? DType::f16 : t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}
std::int64_t parts_of(DType t) {
  return is_complex(t) ? 2 : 1;
}

/// Element counts of each rank's rows of axis 0.
std::span<const std::int64_t> elements_of(const Dims& rows, const TensorView& in, std::vector<std::int64_t>& parts) {
  std::int64_t row = parts_of(in.dtype);
  for (int i = 1; i < in.rank; ++i) row *= in.size(i);
  parts.clear();
  for (const Dim d : rows) parts.push_back(d.value() * row);
  return parts;
}

Collective call_of(const Node& node, const TensorView& in) {
  Collective c;
  c.kind = static_cast<CollectiveKind>(node.integer(AttrKey::kind));
  if (c.kind == CollectiveKind::all_reduce || c.kind == CollectiveKind::reduce_scatter)
    c.reduce = static_cast<ReduceOp>(reduce_op_from_name(node.text(AttrKey::text)));
  c.root = static_cast<int>(node.integer(AttrKey::k));
  c.count = in.numel() * parts_of(in.dtype);
  c.dtype = part_of(in.dtype);
  return c;
}

/// True if all offers are of one kind and every device occurs once.
bool can_communicate(std::vector<DeviceRank::Offer> offers) {
  std::ranges::sort(offers);
  const std::int64_t kind = offers.front()[0];
  return kind != 0 && std::ranges::all_of(offers, [&](const auto& o) { return o[0] == kind; }) &&
         std::ranges::adjacent_find(offers) == offers.end();
}

/// Fails if a group of nccl or rccl has ranks without a communicating device.
void need_devices(const ProcessGroup& group, const std::vector<DeviceRank::Offer>& offers) {
  const auto* const known = dynamic_cast<const TransportGroup*>(&group);
  if (known == nullptr || !of_devices(known->engine())) return;
  std::string without;
  for (std::size_t r = 0; r < offers.size(); ++r) {
    if (offers[r][0] == 0) without += fmt::format("{}rank {}", without.empty() ? "" : ", ", r);
  }
  fail(ErrorCode::unsupported,
       fmt::format(
           "group '{}' of {}: the ranks' devices cannot communicate directly: {}; run each rank on its own device that "
           "'tern devices' lists with {}, without --reproducible, or use another engine",
           known->name(), known->engine(),
           without.empty() ? "two ranks share a device, or their plugins differ" : fmt::format("{} cannot", without),
           known->engine() == "rccl" ? "RCCL" : "NCCL"));
}

}  // namespace

void SessionGroups::set(std::string_view name, std::shared_ptr<ProcessGroup> group) {
  const std::set<std::string> known = group_names(*context_.prepared->program);
  if (!name.empty() && !known.contains(std::string(name))) {
    std::string list;
    for (const std::string& k : known) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", k);
    fail(ErrorCode::invalid_argument,
         fmt::format("the program has no group '{}'; it has: {}", name, list.empty() ? "none" : list));
  }
  if (group != nullptr) check_rank(group->rank(), group->size());
  members_.erase(std::string(name));
  if (group == nullptr) return;
  const auto same = std::ranges::find_if(members_, [&](const auto& m) { return m.second->group == group; });
  std::shared_ptr<Member> member = same != members_.end() ? same->second : std::make_shared<Member>(group);
  members_[std::string(name)] = std::move(member);
}

void SessionGroups::connect() {
  for (const auto& [name, member] : members_) {
    if (member->group->size() == 1 || member->agreed) continue;
    agree_on_communicator(*member);
    if (member->communicator == nullptr) continue;
    // Libraries of collectives open their connections in the first call.
    DeviceStream& stream = *context_.stream;
    Buffer sum;
    sum.reserve(sizeof(float), context_.device(), &stream);
    const float zero = 0;
    stream.enqueue_upload(sum.data(), &zero, sizeof zero);
    const Collective call{
        .dtype = DType::f32, .count = 1, .input = sum.data(), .output = sum.data(), .location = "connect_groups"};
    const std::uint64_t number = member->channel.take_number();
    if (member->communicator->run(call, number)) member->channel.on_device(number);
    stream.finish();
  }
}

SessionGroups::Member* SessionGroups::find_member(const std::string& name) {
  auto found = members_.find(name);
  if (found == members_.end()) found = members_.find("");
  return found == members_.end() ? nullptr : found->second.get();
}

void SessionGroups::run(const KernelCall& call) {
  called_ = true;
  switch (call.node->op) {
    case Op::wait: return wait(call);
    case Op::exchange: return run_exchange(call);
    default: return run_collective(call);
  }
}

const char* SessionGroups::source_line(const Node& node) const {
  const std::vector<Origin>& origins = context_.prepared->program->origins;
  const auto i = static_cast<std::size_t>(node.origin);
  return node.origin >= 0 && i < origins.size() ? origins[i].source.c_str() : "";
}

void SessionGroups::run_collective(const KernelCall& call) {
  const Node& node = *call.node;
  const std::string& name = node.text(AttrKey::name);
  const std::int64_t expected_ranks = node.integer(AttrKey::groups);
  Member* member = find_member(name);
  const int ranks = member == nullptr ? 1 : member->group->size();
  if (expected_ranks > 1 && member == nullptr) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} ranks of the group '{}' do this together, but the session has no group: create one and pass "
                     "it to Session::set_group (tern/collective.h)",
                     expected_ranks, name));
  }
  if (expected_ranks > 0 && expected_ranks != ranks) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the program was exported for {} ranks of the group '{}', but the session's has {}",
                     expected_ranks, name, ranks));
  }
  const TensorView &in = call.in[0], &out = call.out[0];
  Collective c = call_of(node, in);
  const bool divides = c.kind == CollectiveKind::reduce_scatter ||
                       (c.kind == CollectiveKind::all_to_all && node.dims(AttrKey::sizes).empty());
  if (divides && in.size(0) % ranks != 0) {
    fail(ErrorCode::runtime,
         fmt::format("axis 0 has {} elements, which {} ranks cannot share equally", in.size(0), ranks));
  }
  if (c.kind == CollectiveKind::broadcast && c.root >= ranks)
    fail(ErrorCode::runtime, fmt::format("rank {} sends, in a group of {}", c.root, ranks));
  if (ranks == 1) {
    if (in.numel() != out.numel())
      fail(ErrorCode::runtime, "a group of one rank must receive as much as it sends, but the sizes differ");
    if (in.data != out.data) context_.copy(in, out);
    return;
  }
  c.location = source_line(node);
  if (c.kind == CollectiveKind::all_to_all && !node.dims(AttrKey::sizes).empty()) {
    c.input_splits = elements_of(node.dims(AttrKey::sizes), in, input_splits_);
    c.output_splits = elements_of(node.dims(AttrKey::counts), in, output_splits_);
  }
  if (!member->agreed) agree_on_communicator(*member);
  const Called as{name, member->channel.take_number()};
  c.input = in.data;
  c.output = out.data;
  if (member->communicator != nullptr) {
    check_call(c, member->group->rank(), ranks);  // devices do not check sizes
    const TraceSpan span(EventKind::collective, "record_param_comms", as.number,
                         [&] { return collective_args(c, name, member->group->rank(), ranks); });
    if (member->communicator->run(c, as.number)) return member->channel.on_device(as.number);
  }
  if (node.integer(AttrKey::mode) != 0) return start_on_host(*member, as, c, call);
  run_on_host(*member, as, c, in, out);
}

const void* SessionGroups::host_data(const TensorView& view, Buffer& copy) {
  if (context_.device().traits().host_memory) return view.data;
  const std::uint64_t bytes = Transfer::bytes_of(view);
  copy.reserve(bytes, cpu_device());
  context_.read(copy.data(), view.data, bytes);  // a failed operation on the device must not be sent
  return copy.data();
}

void SessionGroups::run_on_host(Member& member, Called as, Collective c, const TensorView& in, const TensorView& out) {
  c.input = host_data(in, in_);
  if (context_.device().traits().host_memory) return member.channel.run(c, as.name, as.number);
  const std::uint64_t made = Transfer::bytes_of(out);
  out_.reserve(made, cpu_device());
  c.output = out_.data();
  member.channel.run(c, as.name, as.number);
  context_.stream->enqueue_upload(out.data, out_.data(), made);
  context_.stream->synchronize();
}

void SessionGroups::start_on_host(Member& member, Called as, const Collective& call, const KernelCall& kernel) {
  const TensorView &in = kernel.in[0], &out = kernel.out[0];
  Collective c = call;
  auto free = std::ranges::find_if(pending_, [](const auto& p) { return !p->busy; });
  if (free == pending_.end()) free = pending_.insert(pending_.end(), std::make_unique<Pending>());
  Pending& p = **free;
  p.staged = !context_.device().traits().host_memory;
  p.bytes = Transfer::bytes_of(out);
  c.input = host_data(in, p.from);
  if (p.staged) {
    p.to.reserve(p.bytes, cpu_device());
    c.output = p.to.data();
  }
  p.channel = &member.channel;
  p.name = &as.name;
  p.number = as.number;
  p.ticket = p.channel->start(c, as.name, as.number);
  p.value = kernel.node->outputs[0];
  p.out = out.data;
  p.busy = true;
}

void SessionGroups::wait(const KernelCall& call) {
  const TensorView &in = call.in[0], &out = call.out[0];
  for (const auto& p : pending_) {
    if (!p->busy || p->value != call.node->inputs[0] || p->out != in.data) continue;
    p->busy = false;
    {
      const TraceSpan span(EventKind::wait, "wait_tensor", 0,
                           [&] { return fmt::format("\"Seq\": {}, ", p->number) + group_arg(*p->name); });
      p->channel->wait(p->ticket);
    }
    if (!p->staged) break;
    context_.stream->enqueue_upload(in.data, p->to.data(), p->bytes);
    context_.stream->synchronize();
    break;
  }
  if (in.data != out.data) context_.copy(in, out);
}

SessionGroups::Member& SessionGroups::require_member(const std::string& name, std::string_view what) {
  Member* const member = find_member(name);
  if (member != nullptr) return *member;
  fail(ErrorCode::invalid_argument, fmt::format("{} of the group '{}', but the session has no group: create one and "
                                                "pass it to Session::set_group (tern/collective.h)",
                                                what, name));
}

NamedGroups::Membership SessionGroups::membership(const std::string& name, const Node& node) {
  const ProcessGroup& group = *require_member(name, "an operator asks for the ranks").group;
  return {group.rank(), group.size()};
}

void SessionGroups::run(const std::string& name, const tern_op_collective& call, const Node& node) {
  called_ = true;
  Member& member = require_member(name, "an operator calls the ranks");
  const auto ranks = static_cast<std::size_t>(member.group->size());
  const auto parts = [&](const std::int64_t* p) { return std::span(p, p == nullptr ? 0 : ranks); };
  const Collective c{.kind = static_cast<CollectiveKind>(call.kind),
                     .reduce = static_cast<ReduceOp>(call.reduction),
                     .dtype = static_cast<DType>(call.dtype),
                     .count = call.count,
                     .root = call.root,
                     .input = call.input,
                     .output = call.output,
                     .input_splits = parts(call.input_splits),
                     .output_splits = parts(call.output_splits),
                     .tag = call.tag,
                     .location = source_line(node)};
  const auto within = [](std::int32_t x, int end) { return x >= 0 && x < end; };
  if (!within(call.kind, static_cast<int>(CollectiveKind::receive) + 1) ||
      !within(call.reduction, static_cast<int>(ReduceOp::bxor) + 1) || !within(call.dtype, kTensorDTypeCount))
    fail(ErrorCode::invalid_argument,
         fmt::format("an operator requests an unknown collective: kind {}, reduction {}, type {}", call.kind,
                     call.reduction, call.dtype));
  if (!member.agreed) agree_on_communicator(member);
  if (is_point_to_point(c.kind)) {
    member.channel.settle();
    return member.group->run(c);
  }
  member.channel.run(c, name, member.channel.take_number());
}

/// Describes the message of operand `i`, without addresses.
Collective SessionGroups::message_of(const Node& node, const TensorView& in, std::size_t i) const {
  Collective c;
  c.kind = node.integer_at(AttrKey::counts, i) != 0 ? CollectiveKind::receive : CollectiveKind::send;
  c.dtype = part_of(in.dtype);
  c.count = in.numel() * parts_of(in.dtype);
  c.root = static_cast<int>(node.integer_at(AttrKey::sizes, i));
  c.tag = static_cast<int>(node.integer_at(AttrKey::mapped, i));
  c.location = source_line(node);
  return c;
}

void SessionGroups::run_exchange(const KernelCall& call) {
  const Node& node = *call.node;
  const std::string& name = node.text(AttrKey::name);
  Member* const member = &require_member(name, "ranks send each other messages, those");
  const bool on_host = context_.device().traits().host_memory;
  if (member->communicator != nullptr && run_exchange_on_device(*member, call)) return;
  batch_.clear();
  staged_.resize(std::max(staged_.size(), call.in.size()));
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const TensorView &in = call.in[i], &out = call.out[i];
    Collective c = message_of(node, in, i);
    if (c.kind == CollectiveKind::send) {
      c.input = host_data(in, staged_[i]);
      if (out.data != nullptr) context_.copy(in, out);
    } else if (on_host && out.data != nullptr) {
      c.output = out.data;
    } else {
      staged_[i].reserve(Transfer::bytes_of(in), cpu_device());
      c.output = staged_[i].data();
    }
    batch_.push_back(c);
  }
  member->channel.settle();
  member->group->run_batch(batch_);
  for (std::size_t i = 0; i < call.in.size() && !on_host; ++i) {
    if (batch_[i].kind != CollectiveKind::receive || call.out[i].data == nullptr) continue;
    context_.stream->enqueue_upload(call.out[i].data, staged_[i].data(), Transfer::bytes_of(call.out[i]));
  }
  if (!on_host) context_.stream->synchronize();
}

/// Returns false if the device does not support the messages.
bool SessionGroups::run_exchange_on_device(Member& member, const KernelCall& call) {
  batch_.clear();
  staged_.resize(std::max(staged_.size(), call.in.size()));
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const TensorView &in = call.in[i], &out = call.out[i];
    Collective c = message_of(*call.node, in, i);
    if (c.kind == CollectiveKind::send) {
      c.input = in.data;
      if (out.data != nullptr) context_.copy(in, out);
    } else {
      c.output = out.data;
      if (out.data == nullptr) {  // unused result
        staged_[i].reserve(Transfer::bytes_of(in), context_.device());
        c.output = staged_[i].data();
      }
    }
    check_call(c, member.group->rank(), member.group->size());
    batch_.push_back(c);
  }
  // Sorts by tag: devices have no tags, so messages between two ranks match in order.
  std::ranges::stable_sort(batch_, {}, [](const Collective& c) { return std::pair(c.tag, c.dtype); });
  member.channel.settle();
  return member.communicator->run_batch(batch_);
}

/// Exchanges the device offers of all ranks.
void SessionGroups::agree_on_communicator(Member& member) {
  member.channel.settle();  // the group may be in use under another name
  ProcessGroup& group = *member.group;
  DeviceRank* const rank = context_.prepared->options.reproducible ? nullptr : context_.stream->rank();
  using Offer = DeviceRank::Offer;
  const Offer mine = rank == nullptr ? Offer{} : rank->offer();
  std::vector<Offer> offers(static_cast<std::size_t>(group.size()));
  group.run({.kind = CollectiveKind::all_gather,
             .dtype = DType::i64,
             .count = static_cast<std::int64_t>(mine.size()),
             .input = mine.data(),
             .output = offers.data()});
  if (can_communicate(offers)) member.communicator = rank->join(group);
  if (member.communicator == nullptr) need_devices(group, offers);
  member.agreed = true;
}

void SessionGroups::abort(const std::string& why) noexcept {
  for (auto& [name, member] : members_) {
    // Aborts the group as well: without it, no pending call on the device would end.
    if (member->group->size() > 1) member->group->abort(why);
    if (member->communicator != nullptr) member->communicator->abort(why);
    member->communicator.reset();
    member->agreed = false;
  }
}

void SessionGroups::settle() noexcept {
  for (const auto& p : pending_) {
    if (p->busy) p->channel->settle();
    p->busy = false;
  }
}

}  // namespace tern
