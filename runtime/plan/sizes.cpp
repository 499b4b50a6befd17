// Sizes: every node with constant attributes, and its shape rule applied to concrete types.
#include <tern/error.h>

#include "runtime/plan/passes.h"
#include "schema/op_record.h"

namespace tern {
namespace {

void check_dim(const Draft& d, const Node& n) {
  if (d.concrete.value(n.dim(AttrKey::dim)) == 0)
    fail(ErrorCode::runtime, "the program's check failed: " + n.text(AttrKey::text));
}

}  // namespace

void resolve_sizes(Draft& d) {
  // Nodes of a form are checked once: at known sizes they are as much the same as before.
  std::vector<bool> checked(d.f.nodes.size());
  d.resolved.reserve(d.section.end - d.section.begin);
  for (std::uint32_t i = d.section.begin; i < d.section.end; ++i) {
    const Node& n = d.f.nodes[i];
    d.resolved.push_back(&n);
    d.for_node(i, [&] {
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
