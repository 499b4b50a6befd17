// Stands in for text/tokenizer/sentencepiece.cpp in builds without SentencePiece.
#include <tern/error.h>

#include "text/tokenizer_impl.h"

namespace tern::text {

std::shared_ptr<TokenizerImpl> read_sentencepiece(std::string_view, std::optional<bool>, std::optional<bool>) {
  fail(ErrorCode::unsupported,
       "not a tokenizer.json; SentencePiece models need a build with libsentencepiece-dev installed");
}

}  // namespace tern::text
