#include "runtime/collective/watch.h"

#include <fmt/format.h>

#include "runtime/collective/call.h"

namespace tern {

CallState state_of(const Collective& c, std::uint64_t number, std::uint64_t nth) {
  return {number, c.kind, c.reduce, c.dtype, c.count, c.root, fingerprint(c), c.location, c.tag, nth};
}

std::string describe(const CallState& s) {
  Collective c;
  c.kind = s.kind;
  c.reduce = s.reduce;
  c.dtype = s.dtype;
  c.count = s.count;
  c.root = s.root;
  std::string text = fmt::format("{}, {} {}", describe(c), is_point_to_point(s.kind) ? "message" : "call", s.number);
  if (!s.where.empty()) text += fmt::format(", at {}", s.where);
  return text;
}

std::string conflict(int rank_a, const CallState& a, int rank_b, const CallState& b) {
  const bool p2p = is_point_to_point(a.kind);
  if (p2p != is_point_to_point(b.kind)) return {};
  if (p2p) {
    // The other rank may be in a later call already, or may have begun with another message of a batch.
    const bool pair =
        a.kind != b.kind && a.root == rank_b && b.root == rank_a && a.tag == b.tag && a.nth == b.nth && a.nth != 0;
    if (!pair || (a.count == b.count && a.dtype == b.dtype)) return {};
  } else if (a.number != b.number || a.fingerprint == b.fingerprint) {
    return {};
  }
  return fmt::format(
      "the ranks do not make the same call: rank {} {}; rank {} {}; they run the same program with the same sizes, in "
      "the same order",
      rank_a, describe(a), rank_b, describe(b));
}

}  // namespace tern
