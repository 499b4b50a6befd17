// The operator libraries loaded by this process (tern/custom_op.h).
#pragma once

#include <tern/custom_op.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace tern {

/// The operator of this name, or null. The first call loads the libraries of TERN_OP_PATH, and throws if a library
/// cannot be loaded. Valid for the life of the process; from any thread.
const tern_op* find_custom_op(std::string_view name);

/// The operator's kernel for devices, or null if its library has none. The name must be known to find_custom_op.
const tern_op_kernel* find_custom_kernel(std::string_view name);

/// Calls code of a library. Converts exceptions to an Error beginning with `what`; an Error passes unchanged.
int call_library(const std::string& what, const std::function<int()>& call);

/// Number of custom nodes run by this thread on the host for another device.
std::uint64_t& custom_nodes_on_host();

/// An operator's name in libraries: "mylib.scale.default" of an exported program is "mylib::scale".
std::string custom_op_name(std::string_view target);

/// The kernels of Op::custom, calling library operators.
void register_custom(KernelTable& t);
void register_custom_on_devices(KernelTable& t);

}  // namespace tern
