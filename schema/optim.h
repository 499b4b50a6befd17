// The op optim: its lists of tensors, the positions of their operands and results, and the meaning of `hyper` per
// optimizer. docs/optimizer_steps.md repeats this for readers of archives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schema/kinds.h"
#include "schema/program.h"

namespace tern {

/// Lists of operands, in this order. n is the number of parameters.
enum class OptimList : std::uint8_t {
  param,       ///< n: the parameters
  grad,        ///< n: their gradients
  m,           ///< 0 or n: momentum or first moment
  v,           ///< 0 or n: second moment or similar
  third,       ///< 0 or n: adam, adamw: the largest second moment; rmsprop: the mean gradient (centered)
  step,        ///< 0, 1 (shared) or n: one number each
  lr,          ///< 0 or 1: replaces hyper[0]
  grad_scale,  ///< 0 or 1: divisor of the gradients
  found_inf,   ///< 0 or 1: nonzero skips the step
  master,      ///< 0 or n: higher-precision copies of 16-bit parameters: `param` is not read, and receives the rounded
               ///< values
  product,     ///< length of step: nadam: the product of all momenta so far
  m_scale,     ///< 0 or n: m holds 8-bit codes (dtypes/state_codes.h); one scale per 256 codes
  v_scale,     ///< likewise for v
  third_scale,
};
inline constexpr std::size_t kOptimLists = 14;
/// Nodes without scales count only the earlier lists, like archives older than the scales.
inline constexpr std::size_t kOptimPlainLists = 11;
/// States that may have 8 bits.
inline constexpr OptimList kOptimCoded[] = {OptimList::m, OptimList::v, OptimList::third};
constexpr OptimList scales_of(OptimList state) {
  return static_cast<OptimList>(static_cast<int>(state) + static_cast<int>(OptimList::m_scale) -
                                static_cast<int>(OptimList::m));
}
constexpr bool is_scales(OptimList list) {
  return list >= OptimList::m_scale;
}
/// True for lists of tensors as large as the parameter.
constexpr bool is_large(OptimList list) {
  return list <= OptimList::third || list == OptimList::master;
}

/// Bits of the attribute `mode`.
enum OptimMode : std::int64_t {
  kOptimNesterov = 1,   ///< sgd
  kOptimFirst = 2,      ///< sgd: first step, initializes m with the gradient
  kOptimAdvance = 4,    ///< `step` counts the earlier steps, and is returned incremented
  kOptimDecoupled = 8,  ///< sgd, nadam, radam: decays the parameter instead of the gradient
};
inline constexpr std::int64_t kOptimModes = 15;

/// Properties of an optimizer kind.
struct OptimRecord {
  OptimKind kind;
  /// lr, three or four own numbers (empty: unused), weight_decay, eps. The sixth number is c.
  std::array<std::string_view, 6> hyper;
  std::int8_t m, v, third, step, product;  ///< 1: required, 0: optional, -1: not used by this kind
  std::int64_t modes;                      ///< besides kOptimAdvance
  std::string_view codes;                  ///< 8-bit encoding of m, v and third: s signed, u unsigned, - not

  /// Length of a node's `hyper`.
  std::size_t hyper_count() const { return hyper[5].empty() ? 5 : 6; }
  /// 's', 'u' or '-' of a state in kOptimCoded.
  char code(OptimList state) const {
    return codes[static_cast<std::size_t>(state) - static_cast<std::size_t>(OptimList::m)];
  }
};
const OptimRecord& optim_record(OptimKind kind);

/// Positions of a node's lists.
class OptimLayout {
 public:
  /// Requires a node accepted by the shape rule. Without `counts` each list has one operand, kNoValue if absent.
  explicit OptimLayout(const Node& node);

  OptimKind kind;
  std::size_t count(OptimList list) const { return counts_[index_of(list)]; }
  bool has(OptimList list) const { return count(list) > 0; }
  /// True if the states have 8 bits.
  bool coded() const { return has(OptimList::m_scale) || has(OptimList::v_scale) || has(OptimList::third_scale); }
  std::size_t params() const { return count(OptimList::param); }
  /// Operand of parameter `i` in a present list. One-element lists apply to all parameters.
  std::size_t operand(OptimList list, std::size_t i) const {
    return starts_[index_of(list)] + (count(list) > 1 ? i : 0);
  }
  /// True if the list's tensors are results.
  bool is_result(OptimList list) const { return is_result_[index_of(list)]; }
  std::size_t result(OptimList list, std::size_t i) const {
    return results_[index_of(list)] + (count(list) > 1 ? i : 0);
  }
  std::size_t result_count() const { return result_count_; }
  /// Returns the list of an operand.
  OptimList list_of(std::size_t operand) const;
  /// Operand whose new content is result `k`, or -1.
  int updated(std::size_t k) const;

 private:
  static std::size_t index_of(OptimList list) { return static_cast<std::size_t>(list); }
  std::array<std::size_t, kOptimLists> counts_{}, starts_{}, results_{};
  std::array<bool, kOptimLists> is_result_{};
  std::size_t result_count_ = 0;
};

/// Order of the lists among results.
inline constexpr OptimList kOptimResults[] = {OptimList::param,   OptimList::grad,       OptimList::m,
                                              OptimList::v,       OptimList::third,      OptimList::step,
                                              OptimList::master,  OptimList::product,    OptimList::m_scale,
                                              OptimList::v_scale, OptimList::third_scale};

}  // namespace tern
