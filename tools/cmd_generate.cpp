// tern generate: continues a text by a language model.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text_engine.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "platform/signals.h"
#include "tools/command.h"
#include "tools/generation/options.h"
#include "tools/generation/shown_text.h"
#include "tools/json_text.h"
#include "tools/output.h"
#include "tools/terminal.h"
#include "tools/text.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxPromptBytes = std::size_t{64} << 20;
constexpr std::chrono::milliseconds kPoll(50);  // for Ctrl-C

struct GenerateArguments {
  EngineArguments engine;
  SamplingArguments sampling;
  std::string prompt, system;
  bool has_prompt = false, ids = false, chat = false, ignore_end = false, json = false, time = false;
  int logprobs = -1;
};

/// Token ids separated by commas or white space.
std::vector<std::int64_t> parse_ids(std::string_view text) {
  std::vector<std::int64_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", \t\r\n"), text.size()));
    if (text.empty()) return ids;
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--ids: '{}' is no list of token ids such as 1,15,27", escape_name(text, 40)));
    }
    ids.push_back(id);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

std::string prompt_text(const GenerateArguments& a) {
  if (a.has_prompt && a.prompt != "-") return a.prompt;
  if (!a.has_prompt && is_terminal(0)) {
    fail(ErrorCode::invalid_argument,
         "no prompt: give one behind the model, or text on standard input; 'tern chat' holds conversations");
  }
  std::string text = read_standard_input(kMaxPromptBytes);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<std::int64_t> prompt_ids(const GenerateArguments& a, const Model& model, const TextEngine& engine) {
  const std::string text = prompt_text(a);
  if (a.ids) return parse_ids(text);
  if (!a.chat) return engine.encode(text);
  const std::optional<ChatTemplate> chat = find_chat_template(model, a.engine);
  if (!chat)
    fail(ErrorCode::invalid_argument, "--chat: the archive has no chat template; give one with --chat-template");
  Json messages = Json::array();
  if (!a.system.empty()) messages.push_back({{"role", "system"}, {"content", a.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return encode_chat(engine, chat->render(messages.dump()));
}

Json token_json(const TextToken& token, bool has_logprobs) {
  Json json = {{"id", token.token}};
  if (!has_logprobs) return json;
  json["logprob"] = token.logprob;
  for (const TokenLogprob& t : token.top) json["top"].push_back({{"id", t.token}, {"logprob", t.logprob}});
  return json;
}

Json end_json(const TextEnd& end) {
  const double seconds = end.answer_seconds;
  return {{"finish", name_of(end.finish)},
          {"prompt_tokens", end.prompt_tokens},
          {"answer_tokens", end.answer_tokens},
          {"proposed_tokens", end.proposed_tokens},
          {"accepted_tokens", end.accepted_tokens},
          {"first_token_seconds", json_rounded(end.first_seconds, 6)},
          {"tokens_per_second",
           seconds > 0 ? json_rounded(static_cast<double>(end.answer_tokens - 1) / seconds, 2) : Json(nullptr)}};
}

std::string ids_text(const TextPiece& piece) {
  std::string text;
  for (const TextToken& token : piece.tokens) text += std::to_string(token.token) + " ";
  return text;
}

void show_time(const TextEnd& end) {
  const double seconds = end.answer_seconds;
  print_problem(fmt::format("{} tokens of prompt, first token after {:.1f} ms; {} tokens of answer, {:.1f} a second\n",
                            end.prompt_tokens, end.first_seconds * 1e3, end.answer_tokens,
                            seconds > 0 ? static_cast<double>(end.answer_tokens - 1) / seconds : 0.0));
  if (end.proposed_tokens > 0)
    print_problem(fmt::format("{} of {} proposed tokens accepted\n", end.accepted_tokens, end.proposed_tokens));
}

int run_generate(const GenerateArguments& a) {
  const Model model = Model::open(a.engine.model);
  const std::unique_ptr<TextEngine> engine = make_engine(model, a.engine);
  TextRequest request = make_request(*engine, a.sampling);
  request.prompt = prompt_ids(a, model, *engine);
  request.ignore_end = a.ignore_end;
  request.logprobs = a.logprobs;
  const bool shows_ids = a.ids || engine->tokenizer() == nullptr;

  const platform::InterruptCount interrupts;
  TextAnswer answer = engine->submit(std::move(request));
  std::string text;
  Json tokens = Json::array();
  TextPiece piece;
  while (true) {
    const TextAnswer::Next next = answer.next(piece, kPoll);
    if (interrupts.count() > 0) answer.cancel();
    if (next == TextAnswer::Next::end) break;
    if (next == TextAnswer::Next::timeout) continue;
    if (!a.json) {
      show_answer(shows_ids ? ids_text(piece) : piece.text);
      continue;
    }
    text += piece.text;
    for (const TextToken& token : piece.tokens) tokens.push_back(token_json(token, a.logprobs >= 0));
  }
  const TextEnd& end = answer.end();
  if (a.json) {
    Json result = {{"text", text}};
    result.update(end_json(end));
    result["tokens"] = std::move(tokens);
    print_output(json_text(result) + "\n");
  } else {
    print_output("\n");
  }
  if (end.finish == TextFinish::failed) fail(ErrorCode::runtime, end.problem);
  if (a.time) show_time(end);
  if (end.finish == TextFinish::context_end && !a.json) {
    print_problem(
        fmt::format("tern: the answer ends at the model's context of {} tokens; 'tern export --context' sets "
                    "it\n",
                    engine->context()));
  }
  return end.finish == TextFinish::cancelled ? kExitInterrupted : 0;
}

}  // namespace

void add_generate_command(Command app, CommandLine& line) {
  auto a = std::make_shared<GenerateArguments>();
  const Command c = app.add_subcommand("generate", "Continue a text by a language model");
  add_engine_options(c, a->engine);
  const Option prompt = c.add_option("prompt", a->prompt, "Text to continue; '-' or none: standard input");
  c.add_flag("--chat", a->chat, "Send the prompt as the message of a user, by the chat template");
  c.add_option("--system", a->system, "With --chat: the system's message").type_name("TEXT");
  add_chat_options(c, a->engine);
  add_sampling_options(c, a->sampling);
  c.add_flag("--ignore-end", a->ignore_end, "Continue after the model's end token");
  c.add_flag("--ids", a->ids, "The prompt is token ids (1,15,27), and so is the answer");
  require_range(
      c.add_option("--logprobs", a->logprobs,
                   "With --json: the logarithm of each token's probability, and this number of likely tokens"),
      bounds::kLogprobs);
  c.add_flag("--json", a->json, "Print text, tokens, counts and times as JSON, at the end");
  c.add_flag("--time", a->time, "Print times and tokens a second on standard error");
  c.footer(
      "Examples:\n  tern generate llm.tern \"Once upon a time\" --max-tokens 100\n"
      "  tern generate llm.tern --chat --temperature 0.7 < question.txt\n"
      "  tern generate llm.tern \"1, 2, 3,\" --stop . --json\n"
      "  tern generate llm.tern --chat \"Describe a tern.\" --json-schema bird.json\n"
      "  tern generate llm.tern --speculate --time < file_to_rewrite.txt\n\n"
      "The answer appears on standard output as the model writes it. Ctrl-C ends it with status 130. "
      "docs/serve.md describes archives, chat templates and the options.");
  c.callback([a, &line, prompt] {
    a->has_prompt = prompt.count() > 0;
    line.status = run_generate(*a);
  });
}

}  // namespace tern
