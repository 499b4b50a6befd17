#include "tools/serve/replies.h"

#include <ctime>
#include <utility>

#include "tools/view/page.h"

namespace tern::serve {
namespace {

const char* finish_reason(TextFinish finish) {
  switch (finish) {
    case TextFinish::end_token:
    case TextFinish::stop_text: return "stop";
    case TextFinish::max_tokens:
    case TextFinish::context_end: return "length";
    case TextFinish::cancelled:
    case TextFinish::failed: break;
  }
  return "error";
}

}  // namespace

std::string error_json(const std::string& message, const char* type, const char* code) {
  const Json json = {{"error",
                      {{"message", message},
                       {"type", type},
                       {"param", nullptr},
                       {"code", code == nullptr ? Json(nullptr) : Json(code)}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Usage::add(const TextEnd& end, bool counts_prompt) {
  if (counts_prompt) {
    prompt_tokens += end.prompt_tokens;
    shared_tokens += end.shared_tokens;
  }
  answer_tokens += end.answer_tokens;
}

Json Usage::json() const {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", answer_tokens},
          {"total_tokens", prompt_tokens + answer_tokens},
          {"prompt_tokens_details", {{"cached_tokens", shared_tokens}}}};
}

Replies::Replies(bool is_chat, std::string model, const Tokenizer* tokenizer, bool has_logprobs)
    : is_chat_(is_chat),
      model_(std::move(model)),
      tokenizer_(tokenizer),
      has_logprobs_(has_logprobs),
      id_((is_chat ? "chatcmpl-" : "cmpl-") + view::random_token()),
      created_(std::time(nullptr)) {}

std::string Replies::token_text(std::int64_t token) const {
  if (tokenizer_ == nullptr) return std::to_string(token);
  return tokenizer_->decode({&token, 1}, false);
}

Json Replies::frame(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
}

Json Replies::event(Json choice) const {
  Json json = frame(is_chat_ ? "chat.completion.chunk" : "text_completion");
  json["choices"] = Json::array({std::move(choice)});
  return json;
}

Json Replies::logprobs(const std::vector<TextToken>& tokens) const {
  if (!has_logprobs_) return nullptr;
  if (is_chat_) {
    const auto token_entry = [&](std::int64_t token, double logprob) {
      const std::string text = token_text(token);
      Json bytes = Json::array();
      for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
      return Json{{"token", text}, {"logprob", logprob}, {"bytes", std::move(bytes)}};
    };
    Json content = Json::array();
    for (const TextToken& t : tokens) {
      Json entry = token_entry(t.token, t.logprob);
      entry["top_logprobs"] = Json::array();
      for (const TokenLogprob& top : t.top) entry["top_logprobs"].push_back(token_entry(top.token, top.logprob));
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}};
  }
  Json texts = Json::array(), chosen = Json::array(), tops = Json::array();
  for (const TextToken& t : tokens) {
    texts.push_back(token_text(t.token));
    chosen.push_back(t.logprob);
    Json top = Json::object();
    for (const TokenLogprob& top_token : t.top) top[token_text(top_token.token)] = top_token.logprob;
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(texts)}, {"token_logprobs", std::move(chosen)}, {"top_logprobs", std::move(tops)}};
}

Json Replies::full_reply(const std::vector<Json>& choices, const Usage& usage) const {
  Json json = frame(is_chat_ ? "chat.completion" : "text_completion");
  json["choices"] = choices;
  json["usage"] = usage.json();
  return json;
}

Json Replies::full_choice(std::size_t index, const std::string& text, const std::vector<TextToken>& tokens,
                          const TextEnd& end) const {
  Json choice = {{"index", index}};
  if (is_chat_) {
    choice["message"] = {{"role", "assistant"}, {"content", text}};
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = logprobs(tokens);
  choice["finish_reason"] = finish_reason(end.finish);
  return choice;
}

Json Replies::first_event(std::size_t index) const {
  return event({{"index", index},
                {"delta", {{"role", "assistant"}, {"content", ""}}},
                {"logprobs", nullptr},
                {"finish_reason", nullptr}});
}

Json Replies::part_event(std::size_t index, const TextPiece& piece) const {
  Json choice = {{"index", index}};
  if (is_chat_) {
    choice["delta"] = {{"content", piece.text}};
  } else {
    choice["text"] = piece.text;
  }
  choice["logprobs"] = piece.tokens.empty() ? Json(nullptr) : logprobs(piece.tokens);
  choice["finish_reason"] = nullptr;
  return event(std::move(choice));
}

Json Replies::end_event(std::size_t index, const TextEnd& end) const {
  Json choice = {{"index", index}};
  if (is_chat_) {
    choice["delta"] = Json::object();
  } else {
    choice["text"] = "";
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = finish_reason(end.finish);
  return event(std::move(choice));
}

Json Replies::usage_event(const Usage& usage) const {
  Json json = frame(is_chat_ ? "chat.completion.chunk" : "text_completion");
  json["choices"] = Json::array();
  json["usage"] = usage.json();
  return json;
}

}  // namespace tern::serve
