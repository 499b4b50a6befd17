// Masks of attention that are known at export: those that hide nothing go, those that hide later keys become `causal`.

#include <algorithm>
#include <map>

#include "dtypes/convert.h"
#include "exporter/builder.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/fold/fold.h"

namespace tern {
namespace {

enum class Hides { hides_nothing, later_keys, other };

/// Largest number that hides a key when it is added to a score: the key's weight is zero then. Models write -infinity,
/// the least number of a type, or -10^9.
constexpr double kHidden = -1e9, kHiddenHalf = -32768;

/// The keys that a mask [..., queries, keys] hides in all of its planes.
Hides hidden_by(const Tensor& mask) {
  const auto sizes = mask.sizes();
  if (sizes.size() < 2 || mask.numel() == 0) return Hides::other;
  const DType t = mask.dtype();
  if (t != DType::boolean && (!is_floating(t) || elements_per_byte(t) != 1)) return Hides::other;
  const std::int64_t queries = sizes[sizes.size() - 2], keys = sizes[sizes.size() - 1];
  const double upper = t == DType::f16 ? kHiddenHalf : kHidden;
  std::vector<double> row(static_cast<std::size_t>(keys));
  bool hides_nothing = true, hides_later = queries > 1 && queries == keys;
  for (std::int64_t r = 0; r < mask.numel() / keys && (hides_nothing || hides_later); ++r) {
    const auto* mask_row = static_cast<const std::byte*>(mask.data()) + r * keys * element_size(t);
    convert(mask_row, t, row.data(), DType::f64, keys);
    for (std::int64_t k = 0; k < keys; ++k) {
      const double m = row[static_cast<std::size_t>(k)];
      const bool is_seen = t == DType::boolean ? m != 0 : m == 0, is_hidden = t == DType::boolean ? m == 0 : m <= upper;
      hides_nothing = hides_nothing && is_seen;
      hides_later = hides_later && (k <= r % queries ? is_seen : is_hidden);
    }
  }
  return hides_nothing ? Hides::hides_nothing : hides_later ? Hides::later_keys : Hides::other;
}

class Masks {
 public:
  Masks(const Program& program, const Function& function, bool (*is_supported)(const Node&), std::uint64_t most_work,
        std::uint64_t& budget)
      : constants_(program, function, is_supported), most_work_(most_work), budget_(budget) {}

  Hides hides(ValueId mask, std::vector<bool>& folded_states) {
    const auto [it, added] = answers_.try_emplace(mask, Hides::other);
    Hides& answer = it->second;
    if (!added || !constants_.constant(mask)) return answer;
    const ConstantSlice slice = constants_.slice(mask);
    const std::uint64_t slice_cost = constants_.cost(slice);
    if (slice_cost > most_work_ || slice_cost > budget_) return answer;
    budget_ -= slice_cost;
    if (!constants_.evaluate(mask, slice, [&](const Tensor& value) { answer = hidden_by(value); })) return answer;
    for (std::uint32_t s : slice.states) folded_states[s] = folded_states[s] || answer != Hides::other;
    return answer;
  }

 private:
  ConstantPart constants_;
  std::uint64_t most_work_;
  std::uint64_t& budget_;  ///< work left for all masks of the program
  std::map<ValueId, Hides> answers_;
};

}  // namespace

void fold_attention_masks(Program& program, bool (*is_supported)(const Node&), std::uint64_t most_work,
                          std::uint64_t& budget, std::vector<bool>& folded_states) {
  for (Function& f : program.functions) {
    const bool has_attention = std::ranges::any_of(f.nodes, [](const Node& n) { return n.op == Op::attention; });
    if (!has_attention) continue;
    const Function as_it_was = f;
    Masks masks(program, as_it_was, is_supported, most_work, budget);
    for (Node& n : f.nodes) {
      constexpr std::size_t kMask = 3;
      if (n.op != Op::attention || n.inputs.size() <= kMask || n.inputs[kMask] == kNoValue) continue;
      const Hides hides = masks.hides(n.inputs[kMask], folded_states);
      if (hides == Hides::other) continue;
      n.inputs[kMask] = kNoValue;
      if (hides == Hides::hides_nothing) continue;
      std::erase_if(n.attrs, [](const Attr& a) { return a.key == AttrKey::causal; });
      n.attrs.push_back(attr(AttrKey::causal, Dim(1)));
    }
  }
}

}  // namespace tern
