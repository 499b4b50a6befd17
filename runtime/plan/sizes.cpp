// Resolves sizes: every node with constant attributes, and its shape rule applied to concrete types.
#include <tern/error.h>

#include <algorithm>
#include <string_view>

#include "runtime/plan/passes.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// Message: "x.shape[0] > x.shape[1], which the program assumes, does not hold: x.shape[0] is 3, x.shape[1] is 7"
[[noreturn]] void refuse_inputs(const Draft& d, const Node& n) {
  std::string message = n.text(AttrKey::text) + ", which the program assumes, does not hold";
  std::string_view names = n.text(AttrKey::name), joint = ": ";
  for (const Dim size : n.dims(AttrKey::sizes)) {
    const std::size_t end = std::min(names.find('\n'), names.size());
    message.append(joint).append(names.substr(0, end)) += " is " + std::to_string(d.concrete.value(size));
    names.remove_prefix(std::min(end + 1, names.size()));
    joint = ", ";
  }
  fail(ErrorCode::invalid_argument, message);
}

/// Undefined relations, such as divisions by 0, count as false.
void check_relation(const Draft& d, const Node& n) {
  const std::int64_t holds = d.concrete.value_or_undefined(n.dim(AttrKey::dim));
  if (holds == 0 || holds == kUndefined) refuse_inputs(d, n);
}

void check_dim(const Draft& d, const Node& n) {
  if (d.concrete.value(n.dim(AttrKey::dim)) == 0)
    fail(ErrorCode::runtime, "the program's check failed: " + n.text(AttrKey::text));
}

}  // namespace

void resolve_sizes(Draft& d) {
  // Checks each form of node once: nodes of equal form are equal at known sizes, too.
  std::vector<bool> checked(d.f.nodes.size());
  d.resolved.reserve(d.section.end - d.section.begin);
  for (std::uint32_t i = d.section.begin; i < d.section.end; ++i) {
    const Node& n = d.f.nodes[i];
    d.resolved.push_back(&n);
    if (n.op == Op::assert_dim && n.has(AttrKey::sizes)) {
      check_relation(d, n);  // the message names inputs instead of the node
      continue;
    }
    d.run_for_node(i, [&] {
      if (n.op == Op::assert_dim) return check_dim(d, n);
      if (auto copy = d.concrete.resolve(n)) {
        d.resolved.back() = copy.get();
        d.plan.nodes.push_back(std::move(copy));
      }
      const std::uint32_t form = d.facts.first_of_form[i];
      if (has_trait(n.op, Trait::control) || checked[form]) return;
      d.concrete.check(d.f, i, *d.resolved.back());
      checked[form] = true;
    });
  }
}

}  // namespace tern
