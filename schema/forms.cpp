#include "schema/forms.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>

namespace tern {
namespace {

/// An order-dependent hash of the added items.
class Hash {
 public:
  void add(std::uint64_t v) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio, as for Fibonacci hashing
    h_ = std::rotl((h_ ^ v) * kOdd, 29);
  }
  void add(Dim d) { add(static_cast<std::uint64_t>(d.is_const() ? d.value() : ~std::int64_t{d.index()})); }
  void add(const Dims& dims) {
    add(dims.size());
    for (Dim d : dims) add(d);
  }
  void add(const std::vector<double>& numbers) {
    add(numbers.size());
    for (double v : numbers) add(std::bit_cast<std::uint64_t>(v));
  }
  void add(const std::string& text) { add(std::hash<std::string>()(text)); }
  std::size_t value() const { return h_; }

 private:
  std::uint64_t h_ = 0;
};

/// Finds the first of equal items, counted from 0. Items of a hostile file may collide: after too many collisions, an
/// item counts as new.
class Firsts {
 public:
  explicit Firsts(std::size_t count) : slots_(std::bit_ceil(2 * count + 1), kEmpty) { firsts_.reserve(count); }
  /// Adds the next item.
  template <class Equal>
  void add(std::size_t hash, const Equal& equal) {
    const auto next = static_cast<std::uint32_t>(firsts_.size());
    const std::size_t mask = slots_.size() - 1;
    firsts_.push_back(next);
    for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
      std::uint32_t& slot = slots_[(hash + probe) & mask];
      if (slot == kEmpty) slot = next;
      if (slot != next && !equal(slot, next)) continue;
      firsts_.back() = slot;
      return;
    }
  }
  std::vector<std::uint32_t> release_firsts() { return std::move(firsts_); }

 private:
  static constexpr std::uint32_t kEmpty = ~0u;
  static constexpr std::size_t kMaxProbes = 32;
  std::vector<std::uint32_t> slots_, firsts_;
};

/// First value of equal type, for each value.
std::vector<std::uint32_t> first_of_type(const Function& f) {
  Firsts firsts(f.values.size());
  for (const Value& v : f.values) {
    Hash hash;
    hash.add(static_cast<std::uint64_t>(v.type.dtype));
    hash.add(v.type.shape);
    firsts.add(hash.value(), [&](std::uint32_t a, std::uint32_t b) { return f.values[a].type == f.values[b].type; });
  }
  return firsts.release_firsts();
}

}  // namespace

std::vector<std::uint32_t> first_of_form(const Function& f) {
  const std::vector<std::uint32_t> types = first_of_type(f);
  const auto type = [&](ValueId v) { return v == kNoValue ? ~0u : types[static_cast<std::size_t>(v)]; };
  const auto same_types = [&](const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
    return std::ranges::equal(a, b, {}, type, type);
  };
  Firsts firsts(f.nodes.size());
  for (const Node& n : f.nodes) {
    Hash hash;
    hash.add(static_cast<std::uint64_t>(n.op));
    for (ValueId v : n.inputs) hash.add(std::uint64_t{type(v)});
    for (ValueId v : n.outputs) hash.add(std::uint64_t{type(v)});
    for (const Attr& a : n.attrs) std::visit([&](const auto& data) { hash.add(data); }, a.data);
    for (const Instruction& i : n.expr.code) hash.add(static_cast<std::uint64_t>(i.op));
    firsts.add(hash.value(), [&](std::uint32_t first, std::uint32_t next) {
      const Node &a = f.nodes[first], &b = f.nodes[next];
      return a.op == b.op && a.version == b.version && same_types(a.inputs, b.inputs) &&
             same_types(a.outputs, b.outputs) && a.attrs == b.attrs && a.functions == b.functions &&
             a.expr.code == b.expr.code;
    });
  }
  return firsts.release_firsts();
}

}  // namespace tern
