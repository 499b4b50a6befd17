// A tokenizer.json, then a text after the first zero byte: opening and encoding end with a result or an Error, and the
// ids of a text decode to valid UTF-8.
#include <tern/text.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\0');
  if (all.find('{') > 16) return 0;  // SentencePiece models belong to the library
  try {
    const tern::Tokenizer tokenizer = tern::Tokenizer::from_bytes(all.substr(0, end));
    const std::string_view text = end == std::string_view::npos ? "Hello, world 12" : all.substr(end + 1);
    const std::string valid = tern::text::replace_invalid(text.substr(0, 4096));
    const auto ids = tokenizer.encode(valid);
    const std::string decoded = tokenizer.decode(ids);
    if (tern::text::valid_size(decoded) != decoded.size()) std::abort();
    tern::TextStream stream(tokenizer);
    for (const std::int64_t id : ids) stream.add(id);
    stream.finish();
  } catch (const tern::Error&) {
  }
  return 0;
}
