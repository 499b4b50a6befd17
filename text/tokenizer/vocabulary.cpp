#include "text/tokenizer/vocabulary.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern::text {

void Vocabulary::add(std::string token, std::uint64_t id) {
  if (id > kMaxId)
    fail(ErrorCode::bad_file, fmt::format("a token of the vocabulary has id {}; at most {} is allowed", id, kMaxId));
  if (token.size() > kMaxToken)
    fail(ErrorCode::bad_file,
         fmt::format("token {} of the vocabulary has {} bytes; at most {} are allowed", id, token.size(), kMaxToken));
  const std::string& text = texts_.emplace_back(std::move(token));
  ids_.insert_or_assign(std::string_view(text), static_cast<TokenId>(id));
  if (tokens_.size() <= id) tokens_.resize(id + 1);
  tokens_[id] = &text;
}

std::vector<TokenId> byte_tokens(const Vocabulary& vocabulary) {
  std::vector<TokenId> ids(256);
  for (unsigned byte = 0; byte < 256; ++byte) ids[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
  return ids;
}

}  // namespace tern::text
