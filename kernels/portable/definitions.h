// What each op computes: the launches of its portable kernel, and how the CPU runs their texts, which were compiled
// with Tern, where nothing faster has been written.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "kernels/kernel.h"

namespace tern::portable {

/// How an op sees its floating operands.
enum class Sight : std::uint8_t {
  computed,  ///< 16 bits and less as float, the rest as it is
  wide,      ///< float and double as double: the op computes in double and rounds once
  own,       ///< 16 bits as they are, too: the operand is large and little of it is read, or each step is rounded
};
/// The type that a tensor of type `t` has in the texts; `t` itself where it is not a floating or complex one.
DType seen(DType t, Sight sight);

/// Which texts are compiled with Tern for the CPU. Operands are converted to the texts' types first and results back
/// afterwards, so that there are few texts; that changes no bit of a result.
struct CompiledTexts {
  /// A node for each text, as kernels/generate/sample_text.h reads it. Empty: the CPU has no texts of the op.
  std::span<const std::string_view> samples;
  Sight sight = Sight::computed;
  /// The type of operand or result `k` where `sight` does not say it. May be null.
  DType (*input)(const KernelCall&, std::size_t k) = nullptr;
  DType (*output)(const KernelCall&, std::size_t k) = nullptr;
  /// Whether the CPU's own kernel makes the same bits for this node, since nothing is rounded: integers, places. May be
  /// null: never.
  bool (*exact)(const KernelCall&) = nullptr;
};

struct Definitions {
  KernelTable kernels;
  KernelTable any_order;  ///< those ops alone that have another kernel where the order of rounding need not be theirs
  std::array<CompiledTexts, kMaxOp + 1> compiled;

  void set_any_order(Op op, const Kernel& kernel) { any_order.set(op, kernel); }
  void set(Op op, const Kernel& kernel, const CompiledTexts& texts = {}) {
    kernels.set(op, kernel);
    compiled[static_cast<std::size_t>(op)] = texts;
  }
};
const Definitions& definitions();

/// Whether the CPU can run the op's definition.
inline bool is_compiled(Op op) {
  return !definitions().compiled[static_cast<std::size_t>(op)].samples.empty();
}

}  // namespace tern::portable

namespace tern {
/// The kernels of every device but the CPU: the definitions.
inline const KernelTable& portable_kernels() {
  return portable::definitions().kernels;
}
/// The same without PrepareOptions::reproducible: a few may round in another order.
const KernelTable& portable_kernels_in_any_order();
}  // namespace tern
