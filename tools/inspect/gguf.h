// The content of a GGUF file, and the command that makes an archive of it.
#pragma once

#include <string>

namespace tern {

/// Throws Error for a file that is broken, or has tensors that this version cannot read.
std::string gguf_text(const std::string& path);
std::string gguf_json(const std::string& path);

}  // namespace tern
