#include "tools/llm_options.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/text.h"

namespace tern {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxSlots = 4096;
constexpr std::size_t kMaxConfigurationBytes = 16 << 20;  ///< largest configuration file (a few kilobytes are usual)

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  fail(ErrorCode::invalid_argument, fmt::format("--token-ids {}: {}", escape_name(path), reason));
}

json read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorCode::io, fmt::format("cannot open {}", escape_name(path)));
  std::string text(kMaxConfigurationBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxConfigurationBytes)
    refuse(path, "the file is larger than 16 MB; give generation_config.json or config.json");
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) refuse(path, "the file is not a JSON object; give generation_config.json or config.json");
  return parsed;
}

/// A number, a list of numbers, or null.
std::vector<std::int64_t> ids(const json& file, const char* key, const std::string& path) {
  std::vector<std::int64_t> found;
  const auto at = file.find(key);
  if (at == file.end() || at->is_null()) return found;
  const json list = at->is_array() ? *at : json::array({*at});
  for (const json& id : list) {
    if (!id.is_number_integer()) refuse(path, fmt::format("{} is not a token id", key));
    found.push_back(id.get<std::int64_t>());
  }
  return found;
}

}  // namespace

void add_llm_options(Command command, LlmArguments& a) {
  command.add_flag("--llm", a.llm,
                   "Make the functions prefill and decode, with sampling, of a decoder whose static key/value cache is "
                   "in its buffers (docs/generate.md)");
  command
      .add_option(
          "--context", a.context,
          "With --llm: the number of positions of the cache, if the program's buffers do not determine it. With "
          "--embeddings: the limit of a text's tokens, if it is below the program's")
      .type_name("N");
  command
      .add_option(
          "--batch", a.batch,
          "With --llm: slots for this many texts, which one run of decode advances together, each with its own cache")
      .type_name("N");
  command
      .add_option("--token-ids", a.configuration,
                  "With --llm: a file with bos_token_id and eos_token_id: generation_config.json or config.json of "
                  "transformers")
      .type_name("FILE");
  command.add_option("--bos", a.bos, "With --llm: the id of the token that begins a text").type_name("ID");
  command.add_option("--eos", a.eos, "With --llm: the ids of tokens that end a text, separated by commas")
      .delimiter(',')
      .type_name("ID,...");
  command.add_flag(
      "--embeddings", a.embeddings,
      "Make the function embed, which turns texts into vectors, of an encoder with tokens and lengths as "
      "inputs. The Python package takes folders of transformers, too, with --pooling (docs/embeddings.md)");
  command.add_flag(
      "--matryoshka", a.matryoshka,
      "With --embeddings: the first numbers of a vector are an embedding, too, so clients may ask for fewer");
}

std::optional<GenerationOptions> parse_llm(const LlmArguments& a) {
  if (!a.llm) {
    if ((a.context && !a.embeddings) || a.bos || a.batch || !a.eos.empty() || !a.configuration.empty())
      fail(ErrorCode::invalid_argument, "--context, --batch, --token-ids, --bos and --eos need --llm");
    return {};
  }
  GenerationOptions o;
  if (a.context && *a.context < 2) fail(ErrorCode::invalid_argument, "--context takes a number of at least 2");
  o.context = a.context.value_or(0);
  if (a.batch && (*a.batch < 2 || *a.batch > kMaxSlots))
    fail(ErrorCode::invalid_argument, fmt::format("--batch takes a number of texts from 2 to {}", kMaxSlots));
  o.batch = a.batch.value_or(0);
  if (!a.configuration.empty()) {
    const json file = read_json(a.configuration);
    const std::vector<std::int64_t> bos = ids(file, "bos_token_id", a.configuration);
    if (!bos.empty()) o.bos = bos.front();
    o.eos = ids(file, "eos_token_id", a.configuration);
  }
  if (a.bos) o.bos = a.bos;
  if (!a.eos.empty()) o.eos = a.eos;
  return o;
}

std::optional<EmbeddingOptions> parse_embeddings(const LlmArguments& a) {
  if (a.matryoshka && !a.embeddings) fail(ErrorCode::invalid_argument, "--matryoshka needs --embeddings");
  if (!a.embeddings) return {};
  if (a.llm) fail(ErrorCode::invalid_argument, "--embeddings cannot be combined with --llm");
  if (a.context && *a.context < 1) fail(ErrorCode::invalid_argument, "--context takes a number of at least 1");
  return EmbeddingOptions{a.context.value_or(0), a.matryoshka};
}

std::string embedding_text(const EmbeddingReport& report) {
  return fmt::format("embeds texts of at most {} tokens as vectors of {} numbers\n", report.context, report.dimensions);
}

std::string generation_text(const GenerationOptions& options, const GenerationReport& report) {
  const std::string texts = options.batch > 0 ? fmt::format(" of {} texts at once", options.batch) : "";
  const char* const verify =
      report.verify == 0 ? "; without verify (--speculate), because the program gives logits of the last token alone"
                         : "";
  return fmt::format("generates tokens of {} by prefill and decode{}; the cache has {} positions{}{}\n",
                     report.vocabulary, texts, report.context, verify,
                     options.eos.empty() ? "; no token ends a text: name one with --eos or --token-ids" : "");
}

}  // namespace tern
