#include "tools/generation/options.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kMaxConstraintBytes = std::size_t{1} << 20;

/// Text of a schema or grammar.
std::string read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxConstraintBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (text.empty() && !file)) fail(ErrorCode::io, fmt::format("cannot read {}", escape_name(path)));
  if (text.size() > kMaxConstraintBytes)
    fail(ErrorCode::invalid_argument, fmt::format("{} is larger than 1 MiB", escape_name(path)));
  return text;
}

std::pair<std::int64_t, double> parse_bias(const std::string& text) {
  std::int64_t token = 0;
  double bias = 0;
  const char* const last = text.data() + text.size();
  const auto [equals, error] = std::from_chars(text.data(), last, token);
  if (error == std::errc() && equals != last && *equals == '=') {
    const auto [end, wrong] = std::from_chars(equals + 1, last, bias);
    if (wrong == std::errc() && end == last) return {token, bias};
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("--logit-bias '{}': give a token id and a number, such as 15043=-2.5", escape_name(text)));
}

}  // namespace

void add_engine_options(Command c, EngineArguments& a) {
  c.add_option("model", a.model, "A .tern archive of 'tern export --llm'").required();
  c.add_option("--tokenizer", a.tokenizer,
               "A tokenizer.json, a SentencePiece tokenizer.model, or their folder, instead of the archive's tokenizer")
      .type_name("PATH");
  add_device_options(c, a.device);
  add_copy_weights_option(c, a.device);
  add_precision_option(c, a.device);
  add_threads_option(c, a.threads);
  c.add_flag("--speculate", a.speculate,
             "Propose tokens that followed the same words before, and check several in one run: faster where text "
             "repeats, with the same answers");
  c.add_option("--draft", a.draft, "A smaller model with the same tokens, which proposes tokens, too")
      .type_name("ARCHIVE");
}

void add_chat_options(Command c, EngineArguments& a) {
  c.add_option("--chat-template", a.chat_template,
               "A .jinja file, a tokenizer_config.json, or their folder, instead of the archive's chat template")
      .type_name("PATH");
}

void add_sampling_options(Command c, SamplingArguments& a) {
  const auto number = [&](const char* name, auto& value, const char* text) {
    c.add_option(name, value, text).type_name("NUMBER");
  };
  require_range(
      c.add_option("--max-tokens", a.max_tokens, "Limit of the answer's tokens; 0: the end of the model's context")
          .capture_default_str(),
      bounds::kTokens);
  c.add_option("--stop", a.stop, "End the answer before this text. May be repeated").type_name("TEXT");
  c.add_option("--json-schema", a.json_schema,
               "Hold the answer to this JSON schema: a file, or JSON such as '{\"type\": \"object\"}'")
      .type_name("FILE|JSON");
  c.add_option("--grammar", a.grammar, "Hold the answer to the grammar in this file, in llama.cpp's notation (GBNF)")
      .type_name("FILE");
  number("--temperature", a.temperature,
         "Divide the logits by this number; 0 takes the most likely token. This and the next options: default of the "
         "archive's generation_config.json, else 0 and no limits");
  number("--top-k", a.top_k, "Choose among this number of the most likely tokens; 0: all");
  number("--top-p", a.top_p, "Choose among the fewest tokens with this sum of probabilities");
  number("--min-p", a.min_p, "Choose among the tokens with at least this share of the largest probability");
  number("--typical-p", a.typical_p, "Choose among the most typical tokens with this sum of probabilities");
  number("--repetition-penalty", a.repetition_penalty,
         "Divide the logits of tokens in prompt and answer by this number");
  number("--presence-penalty", a.presence_penalty, "Subtract this number from the logits of tokens in the answer");
  number("--frequency-penalty", a.frequency_penalty, "Subtract this number once for each occurrence in the answer");
  c.add_option("--logit-bias", a.logit_bias, "Add a number to the logit of a token. May be repeated")
      .type_name("TOKEN=NUMBER");
  c.add_option("--seed", a.seed, "Repeat the random choices of an earlier run with this number (default: random)")
      .type_name("NUMBER");
}

static void set_prepare_options(PrepareOptions& prepare, const EngineArguments& a) {
  prepare.device = a.device.name;
  prepare.threads = a.threads;
  prepare.reproducible = a.device.reproducible;
  prepare.native_code = a.device.native_code;
  prepare.copy_weights = a.device.copy_weights;
  prepare.precision = precision_of(a.device);
  prepare.float32_nodes = a.device.kept_patterns;
}

std::unique_ptr<TextEmbedder> make_embedder(const Model& model, const EngineArguments& a, bool has_tokenizer_option) {
  TextEmbedderOptions options;
  set_prepare_options(options.prepare, a);
  if (has_tokenizer_option && !a.tokenizer.empty()) options.tokenizer = Tokenizer::open(a.tokenizer);
  return std::make_unique<TextEmbedder>(model, options);
}

std::unique_ptr<TextEngine> make_engine(const Model& model, const EngineArguments& a, TextEngineOptions options) {
  set_prepare_options(options.prepare, a);
  options.speculates = a.speculate;
  if (!a.draft.empty()) options.draft = Model::open(a.draft);
  if (!a.tokenizer.empty()) options.tokenizer = Tokenizer::open(a.tokenizer);
  return std::make_unique<TextEngine>(model, options);
}

std::optional<ChatTemplate> find_chat_template(const Model& model, const EngineArguments& a) {
  if (!a.chat_template.empty()) return ChatTemplate::open(a.chat_template);
  if (has_chat_template(model)) return ChatTemplate::from_model(model);
  return {};
}

/// The archive's sampling with the changes of the options.
static TextSampling choose_sampling(const TextEngine& engine, const SamplingArguments& a) {
  TextSampling s = engine.sampling();
  const auto choose = [](auto& value, const auto& option_value) {
    if (option_value) value = *option_value;
  };
  choose(s.temperature, a.temperature);
  choose(s.top_k, a.top_k);
  choose(s.top_p, a.top_p);
  choose(s.min_p, a.min_p);
  choose(s.typical_p, a.typical_p);
  choose(s.repetition_penalty, a.repetition_penalty);
  choose(s.presence_penalty, a.presence_penalty);
  choose(s.frequency_penalty, a.frequency_penalty);
  s.seed = a.seed;
  for (const std::string& bias : a.logit_bias) s.logit_bias.push_back(parse_bias(bias));
  s.check(engine.vocabulary());
  return s;
}

TextRequest make_request(const TextEngine& engine, const SamplingArguments& a) {
  TextRequest request;
  request.sampling = choose_sampling(engine, a);
  request.max_tokens = a.max_tokens;
  request.stop = a.stop;
  // A schema is short enough for the command line, too.
  if (!a.json_schema.empty())
    request.json_schema = a.json_schema.starts_with('{') ? a.json_schema : read_text_file(a.json_schema);
  if (!a.grammar.empty()) request.grammar = read_text_file(a.grammar);
  return request;
}

std::vector<std::int64_t> encode_chat(const TextEngine& engine, const std::string& prompt) {
  if (engine.tokenizer() == nullptr)
    fail(ErrorCode::invalid_argument, "the archive has no tokenizer; give one with --tokenizer");
  return engine.tokenizer()->encode(prompt, {.add_special = false});
}

}  // namespace tern
