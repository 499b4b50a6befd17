// Forward-mode derivatives left open by a traced program. Between _make_dual and _unpack_dual of torch.func.jvp and
// torch.autograd.forward_ad, the file has only the primal computation.
#pragma once

#include <string_view>
#include <vector>

#include "exporter/import/scope.h"

namespace tern::importing {

class Duals : ScopeUser {
 public:
  explicit Duals(Scope& scope) : ScopeUser(scope) {}

  /// False for nodes unrelated to dual numbers.
  bool call(const pt2::Node& node);

 private:
  struct Dual {
    ValueId primal, tangent;
    int level;
  };

  ValueId tensor_at(const pt2::Node& node, std::size_t input);
  void make_dual(const pt2::Node& node);
  void unpack_dual(const pt2::Node& node);
  void bind(const pt2::Node& node, std::size_t output, ValueId value);
  /// The derivative of `value` in the direction of the tangents of this level.
  ValueId tangent_of(ValueId value);
  void leave_level();

  std::vector<Dual> duals_;
  int level_ = 0;  ///< nesting of jvp
};

}  // namespace tern::importing
