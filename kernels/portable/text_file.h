// The files of kernels/portable/text/, stored compressed in the library (kernels/generate/embed.cpp).
#pragma once

#include <cstddef>
#include <string_view>

namespace tern::portable {

/// A file within the compressed text.
struct EmbeddedText {
  const char* name;
  std::size_t offset, size;
};
extern const EmbeddedText kEmbeddedTexts[];
extern const std::size_t kEmbeddedTextCount, kEmbeddedSize, kCompressedSize;
extern const unsigned char kCompressedTexts[];

/// The file `name`.inc, as long as the library is loaded. From any thread.
std::string_view text_file(std::string_view name);

}  // namespace tern::portable
