// Results that a user has, as PyTorch's, from a file.
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
  /// By call and key: "out0", "mut1". They borrow the memory of `file`.
  std::map<std::pair<std::size_t, std::string>, Tensor> tensors;
  NamedTensors file;
};

/// Tensors named outK or as an output, and mutK for input K after the call, with "callC." before where there are
/// several calls. Inputs that a conformance case holds beside them are passed over. Fails (invalid_argument) on other
/// names, on a call that is not made, and where nothing is left to compare.
Expected read_expected(const std::string& path, const Function& function, std::size_t calls);

}  // namespace tern
