// The definition of each op: the launches of its portable kernel, and the texts compiled with Tern for the CPU, used
// where the CPU has no faster kernel.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "kernels/kernel.h"

namespace tern::portable {

/// Type of an op's floating operands in the texts.
enum class Sight : std::uint8_t {
  computed,  ///< 16 bits and less as float, wider types unchanged
  wide,      ///< float and double as double: the op computes in double and rounds once
  narrow,    ///< 16 bits also unchanged: the operand is large and mostly unread, or each step is rounded
};
/// The type of a tensor of type `t` in the texts; `t` itself for other than floating and complex types.
DType text_type(DType t, Sight sight);

/// Selects the texts compiled with Tern for the CPU. Operands are first converted to the texts' types and results
/// converted back, to reduce the number of texts; conversion changes no bit of a result.
struct CompiledTexts {
  /// A node for each text, in the syntax of kernels/generate/sample_text.h. Empty: the CPU has no texts of the op.
  std::span<const std::string_view> samples;
  Sight sight = Sight::computed;
  /// The type of operand or result `k` if `sight` does not determine the type. May be null.
  DType (*input)(const KernelCall&, std::size_t k) = nullptr;
  DType (*output)(const KernelCall&, std::size_t k) = nullptr;
  /// True if the CPU's own kernel produces the same bits for this node because nothing is rounded: integers, indices.
  /// Null: never.
  bool (*exact)(const KernelCall&) = nullptr;
};

struct Definitions {
  KernelTable kernels;
  /// The same for ops with faster kernels on devices; their bits differ from the definition's. Unused with
  /// `reproducible`.
  KernelTable faster;
  std::array<CompiledTexts, kMaxOp + 1> compiled;

  void set(Op op, const Kernel& kernel, const CompiledTexts& texts = {}) {
    kernels.set(op, kernel);
    compiled[static_cast<std::size_t>(op)] = texts;
  }
  /// After `set`.
  void set_faster(Op op, const Kernel& kernel) { faster.set(op, kernel); }
};
const Definitions& definitions();

/// True if the CPU can run the op's definition.
inline bool is_compiled(Op op) {
  return !definitions().compiled[static_cast<std::size_t>(op)].samples.empty();
}

}  // namespace tern::portable

namespace tern {
/// The kernels of every device except the CPU, with the bits of the definitions.
inline const KernelTable& portable_kernels() {
  return portable::definitions().kernels;
}
/// The same without `reproducible`.
inline const KernelTable& faster_portable_kernels() {
  return portable::definitions().faster;
}
}  // namespace tern
