#include "kernels/custom/groups.h"

#include <tern/error.h>

namespace tern {

template <class Work>
int OperatorGroups::guarded(void* context, Work work) noexcept {
  auto& self = *static_cast<OperatorGroups*>(context);
  try {
    if (self.groups_ == nullptr) fail(ErrorCode::invalid_argument, "an operator can only communicate in a session");
    work(self);
    return 0;
  } catch (...) {
    if (self.failure_ == nullptr) self.failure_ = std::current_exception();
    return 1;
  }
}

OperatorGroups::OperatorGroups(GroupAccess* groups, const Node& node)
    : groups_(dynamic_cast<NamedGroups*>(groups)), node_(node) {
  functions_.size = sizeof functions_;
  functions_.context = this;
  functions_.query_rank = [](void* context, const char* group, std::int32_t* rank, std::int32_t* ranks) {
    return guarded(context, [&](OperatorGroups& self) {
      if (group == nullptr) fail(ErrorCode::invalid_argument, "an operator passes no group");
      const NamedGroups::Membership membership = self.groups_->membership(group, self.node_);
      *rank = membership.rank;
      *ranks = membership.rank_count;
    });
  };
  functions_.run = [](void* context, const char* group, const tern_op_collective* call) {
    return guarded(context, [&](OperatorGroups& self) {
      if (call == nullptr || group == nullptr)
        fail(ErrorCode::invalid_argument, "an operator passes no group, or no call");
      if (call->size < sizeof *call)
        fail(ErrorCode::invalid_argument,
             "tern_op_collective::size is too small: set it to sizeof(tern_op_collective)");
      self.groups_->run(group, *call, self.node_);
    });
  };
}

}  // namespace tern
