// Text of a tensor's element and its position.
#pragma once

#include <cstdint>
#include <string>

#include "tools/files/host_tensor.h"

namespace tern {

/// The shortest decimal parsing to the same element: "0.1", "-0.0", "nan", "1.5-2.0j", "true", "18446744073709551615".
/// `index` counts elements in row-major order and must be inside.
std::string element_text(const HostTensor& tensor, std::int64_t index);

/// "[1, 0, 2]": the row-major index in every dimension.
std::string index_text(const HostTensor& tensor, std::int64_t index);

}  // namespace tern
