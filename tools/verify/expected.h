// A user's expected results (for example PyTorch's) from a file.
#pragma once

#include <tern/tensor.h>

#include <map>
#include <string>
#include <utility>

#include "schema/program.h"
#include "tools/files/host_tensor.h"

namespace tern {

struct Expected {
  std::string title;  ///< the file
  /// Tensors by call and key: "out0", "mut1". They borrow the memory of `file`.
  std::map<std::pair<std::size_t, std::string>, Tensor> tensors;
  NamedTensors file;
};

/// Reads tensors named outK or after an output, and mutK for input K after the call, with the prefix "callC." for
/// several calls. Skips inputs of a conformance case. Fails (invalid_argument) for other names, for calls not made, and
/// if no tensor remains to compare.
Expected read_expected(const std::string& path, const Function& function, std::size_t calls);

}  // namespace tern
