// Portable kernels on the CPU without a compiler at run time: their texts are compiled as C++ with Tern.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"

namespace tern::portable {

/// The hash of a text's key (KernelSource::key).
using TextHash = std::array<std::uint64_t, 2>;
TextHash hash_of(std::string_view key);

/// Runs some of a text's items; `arguments` are addresses of addresses and of the parameters.
using CompiledFunction = void (*)(const void* const* arguments, long long begin, long long end);
struct CompiledText {
  TextHash key;
  CompiledFunction run;
};
/// All compiled texts for this processor, ordered by key. Generated (kernels/generate/texts.cpp).
std::span<const CompiledText> compiled_texts();

/// Target of the compiled texts: views of any rank reduce the number of texts.
inline constexpr Target kCompiledTarget{.dialect = Dialect::cpp, .has_double = true, .any_strides = true};

/// Runs all items; long launches use the kernel threads.
void run_items(CompiledFunction run, std::span<const LaunchArgument> arguments, std::int64_t items);

/// Launcher running items on the kernel threads. Shared: a failure belongs to the launching thread.
Launcher& compiled_launcher();

/// Runs the portable kernel of the op on the host. Its texts support few element types: operands are first converted to
/// these types (definitions.h), and results are converted back.
Kernel compiled_kernel(Op op);
/// The table's kernel for the call's node and operands; the definition's if the table's kernel does not support the
/// call.
const Kernel& kernel_for(const KernelTable& table, const KernelCall& call);
/// Adds the definition of each op with compiled texts to a CPU table: for ops without a kernel, or with `replace` for
/// all ops.
void add_definitions(KernelTable& table, bool replace);

}  // namespace tern::portable
