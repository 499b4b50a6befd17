#include "tools/serve/calls.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/serve/call_json.h"

namespace tern::serve {
namespace {

constexpr std::int64_t kDefaultCompletionTokens = 16;  // OpenAI's
constexpr int kMaxTop = 20;
constexpr std::size_t kMaxBiases = 1024;

std::vector<std::string> stop_texts(const Members& members) {
  const ParsedJson* stop = members.find("stop");
  if (stop == nullptr) return {};
  if (stop->is_string()) return {stop->get<std::string>()};
  std::vector<std::string> texts;
  if (!stop->is_array()) refuse("'stop' must be a string or an array of strings");
  for (const ParsedJson& text : *stop) {
    if (!text.is_string()) refuse("'stop' must be a string or an array of strings");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

void read_biases(const Members& members, TextSampling& sampling) {
  const ParsedJson* biases = members.find("logit_bias");
  if (biases == nullptr) return;
  if (!biases->is_object() || biases->size() > kMaxBiases)
    refuse(fmt::format("'logit_bias' must be an object of at most {} token ids and numbers", kMaxBiases));
  for (const auto& [key, value] : biases->items()) {
    std::int64_t token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc() || end != key.data() + key.size() || !value.is_number())
      refuse("'logit_bias' must be an object of token ids and numbers, such as {\"15043\": -2.5}");
    sampling.logit_bias.emplace_back(token, value.get<double>());
  }
}

TextSampling read_sampling(const Members& members, const CallRules& rules) {
  TextSampling s = rules.sampling;
  s.temperature = members.number("temperature", s.temperature);
  s.top_k = members.integer("top_k", s.top_k, -1, std::numeric_limits<std::int64_t>::max());
  s.top_k = std::max<std::int64_t>(s.top_k, 0);  // vLLM's -1: no limit
  s.top_p = members.number("top_p", s.top_p);
  s.min_p = members.number("min_p", s.min_p);
  s.typical_p = members.number("typical_p", s.typical_p);
  s.repetition_penalty = members.number("repetition_penalty", s.repetition_penalty);
  s.presence_penalty = members.number("presence_penalty", s.presence_penalty);
  s.frequency_penalty = members.number("frequency_penalty", s.frequency_penalty);
  if (members.find("seed") != nullptr) {
    s.seed = static_cast<std::uint64_t>(
        members.integer("seed", 0, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  }
  read_biases(members, s);
  s.check(rules.vocabulary);
  return s;
}

/// Members that would change the answer, and that Tern does not follow.
void refuse_unsupported(const Members& members) {
  for (const char* name : {"tools", "functions", "tool_choice", "function_call", "suffix", "audio", "modalities",
                           "prediction", "web_search_options"}) {
    const ParsedJson* value = members.find(name);
    const bool is_default = value == nullptr || (value->is_array() && value->empty()) || *value == "none" ||
                            *value == "auto" || *value == ParsedJson::array({"text"});
    if (!is_default) refuse(fmt::format("'{}' is not supported", name));
  }
  if (members.flag("echo", false)) refuse("'echo' is not supported");
}

/// Schema of 'response_format' in `text`, whose members keep their order; empty for plain text.
std::string response_schema(const Members& members, std::string_view text) {
  const ParsedJson* format = members.find("response_format");
  if (format == nullptr) return {};
  if (!format->is_object()) refuse("'response_format' must be an object");
  const std::string type = Members(*format).text("type");
  if (type == "text") return {};
  if (type == "json_object") return R"({"type": "object"})";
  if (type != "json_schema") refuse("'response_format' must have the type text, json_object or json_schema");
  const auto holder = format->find("json_schema");
  if (holder == format->end() || !holder->is_object() || !holder->contains("schema") ||
      !(*holder)["schema"].is_object())
    refuse("'response_format' must hold {\"json_schema\": {\"name\": ..., \"schema\": {...}}}");
  return nlohmann::ordered_json::parse(text)["response_format"]["json_schema"]["schema"].dump();
}

/// The members that both kinds of calls have.
Call read_common(const Members& members, std::string_view text, const CallRules& rules, std::int64_t default_tokens) {
  constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max();
  refuse_unsupported(members);
  Call call;
  call.model = members.text("model");
  call.choices = static_cast<std::size_t>(members.integer("n", 1, 1, static_cast<std::int64_t>(rules.choices)));
  if (members.integer("best_of", static_cast<std::int64_t>(call.choices), 0, kMaxTokens) !=
      static_cast<std::int64_t>(call.choices))
    refuse("'best_of' must equal 'n': Tern ranks no answers");
  call.streams = members.flag("stream", false);
  if (const ParsedJson* options = members.find("stream_options")) {
    if (!options->is_object()) refuse("'stream_options' must be an object");
    call.includes_usage = Members(*options).flag("include_usage", false);
  }
  TextRequest& request = call.request;
  request.max_tokens = members.integer("max_tokens", default_tokens, 0, kMaxTokens);
  request.max_tokens = members.integer("max_completion_tokens", request.max_tokens, 0, kMaxTokens);
  if (rules.max_tokens > 0)
    request.max_tokens = request.max_tokens == 0 ? rules.max_tokens : std::min(request.max_tokens, rules.max_tokens);
  request.sampling = read_sampling(members, rules);
  request.stop = stop_texts(members);
  if (const ParsedJson* ids = members.find("stop_token_ids")) {
    if (!ids->is_array()) refuse("'stop_token_ids' must be an array");
    request.stop_tokens = token_ids(*ids, "stop_token_ids");
  }
  request.ignore_end = members.flag("ignore_eos", false);
  request.json_schema = response_schema(members, text);
  request.grammar = members.text("grammar");  // llama.cpp's member
  return call;
}

void read_prompts(const ParsedJson* prompt, const CallRules& rules, Call& call) {
  if (prompt == nullptr) refuse("'prompt' is missing");
  if (prompt->is_string()) {
    call.prompts.emplace_back(prompt->get<std::string>());
  } else if (prompt->is_array() && !prompt->empty() && prompt->front().is_number()) {
    call.prompts.emplace_back(token_ids(*prompt, "prompt"));
  } else if (prompt->is_array() && !prompt->empty()) {
    if (prompt->size() * call.choices > rules.choices)
      refuse(fmt::format("'prompt' and 'n' make more than {} answers", rules.choices));
    for (const ParsedJson& item : *prompt) {
      if (item.is_string()) {
        call.prompts.emplace_back(item.get<std::string>());
      } else if (item.is_array()) {
        call.prompts.emplace_back(token_ids(item, "prompt"));
      } else {
        refuse("'prompt' must be a string, an array of strings, or arrays of token ids");
      }
    }
  } else {
    refuse("'prompt' must be a string, an array of strings, or arrays of token ids");
  }
}

/// A content is a string, or parts of which Tern reads the texts.
std::string content_text(const ParsedJson& content) {
  if (content.is_null()) return {};
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) refuse("a message's 'content' must be a string or an array of parts");
  std::string text;
  for (const ParsedJson& content_part : content) {
    const bool is_text = content_part.is_object() && content_part.value("type", ParsedJson("")) == "text" &&
                         content_part.contains("text") && content_part["text"].is_string();
    if (!is_text) refuse("a message's parts must be {\"type\": \"text\", \"text\": ...}: the model reads text alone");
    text += content_part["text"].get<std::string>();
  }
  return text;
}

}  // namespace

Call read_completion_call(std::string_view text, const CallRules& rules) {
  const ParsedJson json = parse_object(text);
  const Members members(json);
  Call call = read_common(members, text, rules, kDefaultCompletionTokens);
  call.request.logprobs = static_cast<int>(members.integer("logprobs", -1, 0, kMaxTop));
  read_prompts(members.find("prompt"), rules, call);
  return call;
}

Call read_chat_call(std::string_view text, const CallRules& rules) {
  const ParsedJson json = parse_object(text);
  const Members members(json);
  Call call = read_common(members, text, rules, 0);
  if (members.flag("logprobs", false))
    call.request.logprobs = static_cast<int>(members.integer("top_logprobs", 0, 0, kMaxTop));
  const ParsedJson* messages = members.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty() || messages->size() > rules.messages)
    refuse(fmt::format("'messages' must be an array of 1 to {} messages", rules.messages));
  ParsedJson text_messages = ParsedJson::array();
  for (const ParsedJson& message : *messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      refuse("a message must be an object with 'role' and 'content'");
    ParsedJson text_message = message;
    text_message["content"] = content_text(message.value("content", ParsedJson()));
    text_messages.push_back(std::move(text_message));
  }
  call.messages = text_messages.dump();
  if (const ParsedJson* variables = members.find("chat_template_kwargs")) {
    if (!variables->is_object()) refuse("'chat_template_kwargs' must be an object");
    call.template_variables = variables->dump();
  }
  return call;
}

}  // namespace tern::serve
