// The libraries of operators that this process has loaded (tern/custom_op.h).
#pragma once

#include <tern/custom_op.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace tern {

/// The operator of this name, or null. Loads the libraries of TERN_OP_PATH when it is asked first, and throws where one
/// of them cannot be loaded. Valid for the life of the process; from any thread.
const tern_op* find_custom_op(std::string_view name);

/// How devices run it, or null where its library does not say. Of a name that find_custom_op has found.
const tern_op_kernel* find_custom_kernel(std::string_view name);

/// Calls code of a library. What it throws becomes an error that begins with `what`, unless it is an Error already.
int guard_library(const std::string& what, const std::function<int()>& call);

/// How many custom nodes this thread has run on the host for another device.
std::uint64_t& custom_nodes_on_host();

/// An operator's name as libraries give it: "mylib.scale.default" of an exported program is "mylib::scale".
std::string custom_op_name(std::string_view target);

/// The kernels of Op::custom, which call them.
void register_custom(KernelTable& t);
void register_custom_on_devices(KernelTable& t);

}  // namespace tern
