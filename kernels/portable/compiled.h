// Portable kernels on the CPU without a compiler: their texts were compiled as C++ when Tern was built.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"

namespace tern::portable {

/// The hash of a text's key (Source::key).
using TextHash = std::array<std::uint64_t, 2>;
TextHash hash_of(std::string_view key);

/// Runs some of a text's items; `arguments` are addresses of addresses and of the parameters.
using CompiledFunction = void (*)(const void* const* arguments, long begin, long end);
struct CompiledText {
  TextHash key;
  CompiledFunction run;
};
/// All of them for this processor, ordered by key. Generated (kernels/generate/texts.cpp).
std::span<const CompiledText> compiled_texts();

/// The texts that are compiled: with views of any rank, so that there are few.
inline constexpr Target kCompiledTarget{.dialect = Dialect::cpp, .has_double = true, .any_strides = true};

/// Runs all items, on the threads of kernels if they take long.
void run_items(CompiledFunction run, std::span<const Argument> arguments, std::int64_t items);

/// Runs them on the threads of kernels. Shared: a failure belongs to the thread that launched.
Launcher& compiled_launcher();

/// Runs the portable kernel of the op on the host. Its texts support few element types: operands are converted to those
/// first (definitions.h), and results back afterwards.
Kernel compiled_kernel(Op op);
/// The table's kernel for the call's node and operands; the definition's where that one does not serve.
const Kernel& kernel_for(const KernelTable& table, const KernelCall& call);
/// Puts the definition of each op whose texts were compiled into a table of the CPU: where the table has no kernel, or
/// with `replace` for all of them.
void add_definitions(KernelTable& table, bool replace);

}  // namespace tern::portable
