// Calls of the HTTP interface, read from the JSON of a request: OpenAI's completions and chat completions.
#pragma once

#include <tern/text_engine.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tern::serve {

/// Limits of a call, and the defaults of its members.
struct CallRules {
  TextSampling sampling;        ///< the archive's
  std::int64_t vocabulary = 0;  ///< token ids are 0 to vocabulary - 1
  std::int64_t max_tokens = 0;  ///< limit of an answer; 0: the context
  std::size_t choices = 16;     ///< limit of the answers to a call
  std::size_t messages = 4096;  ///< limit of a chat
};

/// A prompt as text or as token ids.
using Prompt = std::variant<std::string, std::vector<std::int64_t>>;

struct Call {
  std::string model;        ///< empty: any
  TextRequest request;      ///< lacks the prompt
  std::size_t choices = 1;  ///< answers to each prompt
  bool streams = false, includes_usage = false;
  // Completions:
  std::vector<Prompt> prompts;
  // Chat:
  std::string messages;            ///< JSON array, with contents as plain text
  std::string template_variables;  ///< JSON object; may be empty
};

/// Error of a call: the message names the member of the JSON. The code is ErrorCode::invalid_argument.
Call read_completion_call(std::string_view json, const CallRules& rules);
Call read_chat_call(std::string_view json, const CallRules& rules);

}  // namespace tern::serve
