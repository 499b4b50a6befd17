// Communication of a library's operator, through the groups of its session.
#pragma once

#include <tern/custom_op.h>

#include <exception>
#include <string>

#include "kernels/kernel.h"

namespace tern {

/// The groups' interface for library operators; a GroupAccess may implement it.
class NamedGroups {
 public:
  struct Membership {
    int rank, rank_count;
  };
  virtual ~NamedGroups() = default;
  /// Fails if the session has no group of this name.
  virtual Membership membership(const std::string& group, const Node& node) = 0;
  /// Runs a collective on host memory with the group's ranks.
  virtual void run(const std::string& group, const tern_op_collective& call, const Node& node) = 0;
};

/// The functions of tern/custom_op.h, for a single call of an operator.
class OperatorGroups {
 public:
  OperatorGroups(GroupAccess* groups, const Node& node);
  const tern_op_groups* functions() const { return &functions_; }
  /// The exception of a failed function, or null.
  const std::exception_ptr& failure() const { return failure_; }

 private:
  template <class Work>
  static int guarded(void* context, Work work) noexcept;
  NamedGroups* groups_;
  const Node& node_;
  tern_op_groups functions_{};
  std::exception_ptr failure_;
};

}  // namespace tern
