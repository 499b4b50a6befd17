#include "tools/serve/site.h"

#include <fmt/format.h>
#include <tern/cancel.h>
#include <tern/error.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include "tools/serve/embedding_call.h"
#include "tools/serve/metrics.h"

namespace tern::serve {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollClient(100);

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

http::Response json_response(int status, std::string json) {
  http::Response response;
  response.status = status;
  response.type = "application/json";
  response.body = std::move(json);
  response.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
  return response;
}

http::Response refusal(int status, const std::string& message, const char* code = nullptr) {
  const char* const type = status == 401   ? "authentication_error"
                           : status == 429 ? "rate_limit_error"
                           : status >= 500 ? "server_error"
                                           : "invalid_request_error";
  http::Response response = json_response(status, error_json(message, type, code));
  if (status == 429) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

bool is_json(std::string_view type) {
  constexpr std::string_view kJson = "application/json";
  return type.starts_with(kJson) &&
         (type.size() == kJson.size() || type[kJson.size()] == ';' || type[kJson.size()] == ' ');
}

}  // namespace

/// The answers of a call under way.
class ModelSite::Running {
 public:
  Running(Call received_call, Replies call_replies, std::function<bool()> client_is_gone, Clock::time_point end)
      : call(std::move(received_call)),
        replies(std::move(call_replies)),
        client_is_gone_(std::move(client_is_gone)),
        deadline_(end) {}

  const Call call;
  const Replies replies;
  std::vector<TextAnswer> answers;

  enum class State : std::uint8_t { goes_on, client_gone, too_late };
  State state() const {
    if (client_is_gone_()) return State::client_gone;
    return Clock::now() >= deadline_ ? State::too_late : State::goes_on;
  }

  /// Gives every part of every answer to `on_piece(index, piece)` and its end to `finish(index, end)`, in turns. Stops
  /// early at the time limit, without the client, or if `on_piece` returns false.
  template <class Take, class Finish>
  State run(const Take& on_piece, const Finish& finish) {
    std::vector<bool> is_ended(answers.size(), false);
    std::size_t open = answers.size();
    while (open > 0) {
      if (const State current_state = state(); current_state != State::goes_on) return current_state;
      for (std::size_t i = 0; i < answers.size(); ++i) {
        if (is_ended[i]) continue;
        TextPiece piece;
        // Waits for one answer; parts of the others wait no longer than a moment.
        const auto wait = open == 1 ? kPollClient : std::chrono::milliseconds(5);
        const TextAnswer::Next next = answers[i].next(piece, wait);
        if (next == TextAnswer::Next::piece && !on_piece(i, piece)) return State::client_gone;
        if (next != TextAnswer::Next::end) continue;
        is_ended[i] = true;
        --open;
        if (!finish(i, answers[i].end())) return State::client_gone;
      }
    }
    return State::goes_on;
  }

 private:
  std::function<bool()> client_is_gone_;
  Clock::time_point deadline_;
};

ModelSite::ModelSite(TextEngine* engine, TextEmbedder* embedder, std::optional<ChatTemplate> chat, SiteOptions options)
    : engine_(engine),
      embedder_(embedder),
      chat_(std::move(chat)),
      options_(std::move(options)),
      started_(std::time(nullptr)) {}

CallRules ModelSite::rules() const {
  CallRules rules;
  rules.sampling = engine_->sampling();
  rules.vocabulary = engine_->vocabulary();
  rules.max_tokens = options_.max_tokens;
  return rules;
}

void ModelSite::count_status(int status) {
  const std::lock_guard lock(mutex_);
  ++statuses_[status];
}

http::Response ModelSite::answer(const http::Request& request) {
  http::Response response;
  try {
    response = route(request);
  } catch (const QueueFull& e) {
    response = refusal(429, e.what());
  } catch (const Error& e) {
    response = refusal(e.code() == ErrorCode::invalid_argument ? 400 : 500, e.what());
  } catch (const std::bad_alloc&) {
    response = refusal(500, "out of memory");
  } catch (const std::exception& e) {
    response = refusal(500, e.what());
  }
  count_status(response.status);
  return response;
}

http::Response ModelSite::route(const http::Request& request) {
  // A page of another site may call 127.0.0.1 under a name of its own: its Host differs.
  if (!options_.hosts.empty() && std::ranges::find(options_.hosts, request.header("Host")) == options_.hosts.end())
    return refusal(403, "unknown host name");
  const bool is_read_request = request.method == "GET" || request.method == "HEAD";
  if (request.path == "/health") return is_read_request ? health() : refusal(405, "use GET");
  if (!options_.api_key.empty() &&
      !http::is_equal_secret(request.header("Authorization"), "Bearer " + options_.api_key))
    return refusal(401, "the header 'Authorization: Bearer KEY' lacks this server's key", "invalid_api_key");
  const std::vector<std::string> names = models();
  const auto names_model = [&](const std::string& name) { return request.path == "/v1/models/" + name; };
  if (request.path == "/metrics" || request.path == "/v1/models" || std::ranges::any_of(names, names_model)) {
    if (!is_read_request) return refusal(405, "use GET");
    if (request.path != "/metrics") return models_or_one(request.path);
    http::Response response;
    response.type = "text/plain; version=0.0.4";
    response.body = metrics();
    return response;
  }
  const bool is_chat = request.path == "/v1/chat/completions";
  if (!is_chat && request.path != "/v1/completions" && request.path != "/v1/embeddings")
    return refusal(404, "there is nothing at this path; docs/serve.md lists the paths");
  if (request.method != "POST") return refusal(405, "use POST");
  // Pages of other sites can send forms and plain text without asking this server, but no JSON.
  if (!is_json(request.header("Content-Type"))) return refusal(415, "send 'Content-Type: application/json'");
  return request.path == "/v1/embeddings" ? embed(request) : complete(request, is_chat);
}

http::Response ModelSite::embed(const http::Request& request) {
  if (embedder_ == nullptr) {
    return refusal(400,
                   "the archive has no function for embeddings: start 'tern serve' with an archive of 'tern export "
                   "--embeddings', as its model or as --embedder",
                   "unsupported");
  }
  const EmbeddingCall call = read_embedding_call(request.body, *embedder_);
  if (!call.model.empty() && call.model != options_.embedder) {
    return refusal(404, fmt::format("this server embeds by the model '{}', not '{}'", options_.embedder, call.model),
                   "model_not_found");
  }
  const Clock::time_point end = Clock::now() + options_.time_limit;
  try {
    const auto goes_on = [&] { return Clock::now() < end && !request.client_is_gone(); };
    return json_response(200, embedding_reply(call, options_.embedder, embedder_->embed(call.texts, goes_on)));
  } catch (const Cancelled&) {
    if (Clock::now() < end) return refusal(499, "the client left");
    return refusal(504, "the vectors took longer than this server's --time-limit");
  }
}

std::vector<std::vector<std::int64_t>> ModelSite::prompts_of(const Call& call, bool is_chat) const {
  std::vector<std::vector<std::int64_t>> prompts;
  if (is_chat) {
    ChatOptions options;
    options.variables = call.template_variables;
    const std::string text = chat_->render(call.messages, options);
    prompts.push_back(engine_->tokenizer()->encode(text, {.add_special = false}));
  }
  for (const Prompt& prompt : call.prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    prompts.push_back(text != nullptr ? engine_->encode(*text) : std::get<std::vector<std::int64_t>>(prompt));
  }
  return prompts;
}

http::Response ModelSite::complete(const http::Request& request, bool is_chat) {
  if (engine_ == nullptr)
    return refusal(400, "this server's model embeds texts, and generates none: call /v1/embeddings", "unsupported");
  if (is_chat && (!chat_ || engine_->tokenizer() == nullptr)) {
    return refusal(400,
                   "the archive has no chat template or tokenizer: start 'tern serve' with --chat-template and "
                   "--tokenizer, or call /v1/completions",
                   "unsupported");
  }
  Call call = is_chat ? read_chat_call(request.body, rules()) : read_completion_call(request.body, rules());
  if (!call.model.empty() && call.model != options_.model) {
    return refusal(404, fmt::format("this server has the model '{}', not '{}'", options_.model, call.model),
                   "model_not_found");
  }
  const std::vector<std::vector<std::int64_t>> prompts = prompts_of(call, is_chat);
  const TextRequest common = call.request;
  const std::size_t choices = call.choices;
  const bool streams = call.streams;
  auto running = std::make_shared<Running>(std::move(call),
                                           Replies(is_chat, options_.model, engine_->tokenizer(), common.logprobs >= 0),
                                           request.client_is_gone, Clock::now() + options_.time_limit);
  for (const std::vector<std::int64_t>& prompt : prompts) {
    for (std::size_t n = 0; n < choices; ++n) {
      TextRequest text_request = common;
      text_request.prompt = prompt;
      if (text_request.sampling.seed) *text_request.sampling.seed += n;
      running->answers.push_back(engine_->submit(std::move(text_request)));
    }
  }
  return streams ? stream_reply(std::move(running)) : whole_reply(*running);
}

http::Response ModelSite::whole_reply(Running& running) const {
  std::vector<std::string> texts(running.answers.size());
  std::vector<std::vector<TextToken>> tokens(texts.size());
  const auto on_piece = [&](std::size_t i, TextPiece& piece) {
    texts[i] += piece.text;
    std::ranges::move(piece.tokens, std::back_inserter(tokens[i]));
    return true;
  };
  const Running::State state = running.run(on_piece, [](std::size_t, const TextEnd&) { return true; });
  if (state == Running::State::too_late) return refusal(504, "the answer took longer than this server's --time-limit");
  if (state == Running::State::client_gone) return refusal(499, "the client left");
  std::vector<Json> choices;
  Usage usage;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const TextEnd& end = running.answers[i].end();
    if (end.finish == TextFinish::failed) return refusal(500, end.problem);
    if (end.finish == TextFinish::cancelled) return refusal(503, "the server ends");
    usage.add(end, i % running.call.choices == 0);
    choices.push_back(running.replies.full_choice(i, texts[i], tokens[i], end));
  }
  return json_response(200, dump(running.replies.full_reply(choices, usage)));
}

http::Response ModelSite::stream_reply(std::shared_ptr<Running> running) const {
  http::Response response;
  response.type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
  response.stream = [running, is_chat = !running->call.messages.empty()](const http::WriteBody& write) {
    const auto send = [&](const std::string& json) { return write("data: " + json + "\n\n"); };
    const Replies& replies = running->replies;
    Usage usage;
    for (std::size_t i = 0; is_chat && i < running->answers.size(); ++i) {
      if (!send(dump(replies.first_event(i)))) return;
    }
    std::string problem;
    const auto on_piece = [&](std::size_t i, TextPiece& piece) {
      if (piece.text.empty() && running->call.request.logprobs < 0) return true;
      return send(dump(replies.part_event(i, piece)));
    };
    const auto finish = [&](std::size_t i, const TextEnd& end) {
      if (end.finish == TextFinish::failed) problem = end.problem;
      if (end.finish == TextFinish::cancelled) problem = "the server ends";
      usage.add(end, i % running->call.choices == 0);
      return send(dump(replies.end_event(i, end)));
    };
    const Running::State state = running->run(on_piece, finish);
    if (state == Running::State::too_late) problem = "the answer took longer than this server's --time-limit";
    running->answers.clear();  // cancels answers under way
    if (state == Running::State::client_gone) return;
    if (!problem.empty()) {
      send(error_json(problem, "server_error"));
      return;
    }
    if (running->call.includes_usage && !send(dump(replies.usage_event(usage)))) return;
    write("data: [DONE]\n\n");
  };
  return response;
}

std::vector<std::string> ModelSite::models() const {
  std::vector<std::string> names;
  for (const std::string& name : {options_.model, options_.embedder}) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

http::Response ModelSite::models_or_one(const std::string& path) const {
  Json list = {{"object", "list"}};
  list["data"] = Json::array();
  for (const std::string& name : models()) {
    const Json model_json = {{"id", name}, {"object", "model"}, {"created", started_}, {"owned_by", "tern"}};
    if (path == "/v1/models/" + name) return json_response(200, dump(model_json));
    list["data"].push_back(model_json);
  }
  return json_response(200, dump(list));
}

http::Response ModelSite::health() const {
  return json_response(200, R"({"status": "ok"})");
}

std::string ModelSite::metrics() const {
  std::map<int, std::uint64_t> statuses;
  {
    const std::lock_guard lock(mutex_);
    statuses = statuses_;
  }
  std::string text;
  if (engine_ != nullptr) text += metrics_text(engine_->stats(), engine_->slots());
  if (embedder_ != nullptr) text += metrics_text(embedder_->stats());
  return text + metrics_text(statuses);
}

}  // namespace tern::serve
