#include "kernels/portable/text_file.h"

#include <tern/error.h>
#include <zstd.h>

#include <algorithm>
#include <span>
#include <string>

namespace tern::portable {
namespace {

std::string read_embedded() {
  std::string text(kEmbeddedSize, '\0');
  const std::size_t size = ZSTD_decompress(text.data(), text.size(), kCompressedTexts, kCompressedSize);
  if (size != kEmbeddedSize) fail(ErrorCode::internal, "the kernels' texts cannot be decompressed");
  return text;
}

}  // namespace

std::string_view text_file(std::string_view name) {
  static const std::string all = read_embedded();
  const std::span files(kEmbeddedTexts, kEmbeddedTextCount);
  const auto file = std::ranges::find(files, name, &EmbeddedText::name);
  if (file == files.end()) fail(ErrorCode::internal, "no kernel text '" + std::string(name) + "'");
  return std::string_view(all).substr(file->offset, file->size);
}

}  // namespace tern::portable
