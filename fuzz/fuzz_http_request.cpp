// Arbitrary bytes as a connection to `tern serve`: the end of the request does not depend on how the bytes arrive, and
// its body is a call within the limits, or an Error.
#include <tern/error.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/http/request_reader.h"
#include "tools/serve/calls.h"

namespace {

using namespace tern;

http::RequestReader read_in_pieces(std::string_view bytes, std::size_t piece) {
  http::RequestReader reader({.head_bytes = 512, .body_bytes = 4096});
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    if (reader.add(part) != http::RequestReader::State::reading) break;
  }
  return reader;
}

void read_calls(std::string_view body) {
  serve::CallRules rules;
  rules.vocabulary = 100;
  rules.choices = 4;
  for (const auto read : {serve::read_completion_call, serve::read_chat_call}) {
    try {
      const serve::Call call = read(body, rules);
      if (call.choices < 1 || call.choices > rules.choices || call.request.max_tokens < 0) std::abort();
      if (call.prompts.size() * call.choices > rules.choices) std::abort();
      call.request.sampling.check(rules.vocabulary);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::invalid_argument) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  http::RequestReader whole = read_in_pieces(bytes, std::max<std::size_t>(size, 1));
  for (const std::size_t piece : {1, 7}) {
    const http::RequestReader parts = read_in_pieces(bytes, piece);
    if (parts.head() != whole.head() || parts.body() != whole.body() || parts.refusal() != whole.refusal())
      std::abort();
  }
  const bool is_complete = whole.add({}) == http::RequestReader::State::complete;
  if (whole.head().size() > 1024 || whole.body().size() > 4096) std::abort();
  read_calls(is_complete ? std::string_view(whole.body()) : bytes);
  return 0;
}
