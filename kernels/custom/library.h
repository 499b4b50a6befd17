// The libraries of operators that this process has loaded (tern/custom_op.h).
#pragma once

#include <tern/custom_op.h>

#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace tern {

/// The operator of this name, or null. Loads the libraries of TERN_OP_PATH when it is asked first, and throws where one
/// of them cannot be loaded. Valid for the life of the process; from any thread.
const tern_op* find_custom_op(std::string_view name);

/// An operator's name as libraries give it: "mylib.scale.default" of an exported program is "mylib::scale".
std::string custom_op_name(std::string_view target);

/// The kernel of Op::custom, which calls them.
void register_custom(KernelTable& t);

}  // namespace tern
