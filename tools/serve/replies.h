// JSON of the HTTP interface: completions, chat completions and errors in OpenAI's form.
#pragma once

#include <tern/text_engine.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tern::serve {

using Json = nlohmann::ordered_json;

/// {"error": {"message": ...}}. `type`: "invalid_request_error" and the like.
std::string error_json(const std::string& message, const char* type, const char* code = nullptr);

/// Sum of the counts of a call's answers.
struct Usage {
  std::int64_t prompt_tokens = 0, shared_tokens = 0, answer_tokens = 0;
  /// `counts_prompt`: false for further answers to a prompt.
  void add(const TextEnd& end, bool counts_prompt);
  Json json() const;
};

/// Replies to one call.
class Replies {
 public:
  /// `tokenizer` may be null; `has_logprobs`: the call asks for them.
  Replies(bool is_chat, std::string model, const Tokenizer* tokenizer, bool has_logprobs);

  /// The whole answer of a call without stream.
  Json full_reply(const std::vector<Json>& choices, const Usage& usage) const;
  Json full_choice(std::size_t index, const std::string& text, const std::vector<TextToken>& tokens,
                   const TextEnd& end) const;
  /// Events of a stream.
  Json first_event(std::size_t index) const;
  Json part_event(std::size_t index, const TextPiece& piece) const;
  Json end_event(std::size_t index, const TextEnd& end) const;
  Json usage_event(const Usage& usage) const;

 private:
  Json frame(const char* object) const;
  Json event(Json choice) const;
  Json logprobs(const std::vector<TextToken>& tokens) const;
  std::string token_text(std::int64_t token) const;

  bool is_chat_;
  std::string model_;
  const Tokenizer* tokenizer_;
  bool has_logprobs_;
  std::string id_;
  std::int64_t created_;
};

}  // namespace tern::serve
