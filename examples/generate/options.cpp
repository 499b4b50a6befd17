#include "options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <system_error>

namespace {

constexpr const char* kHelp =
    "usage: generate_text ARCHIVE [OPTION...] PROMPT...\n\n"
    "Continues each prompt by a model of 'tern export --llm'. Several prompts run at once, as many as\n"
    "the machine has cores, in a session each. A model of --batch N answers N prompts together in one\n"
    "session; the others wait until one is answered.\n\n"
    "  --tokenizer FILE     a SentencePiece model (tokenizer.model); or bytes, where token ids are bytes; or ids\n"
    "                       (default), where a prompt is token ids: 1,15,27\n"
    "  --max-tokens N       of each answer (100)\n"
    "  --temperature T      0 takes the most likely token (0)\n"
    "  --top-k K            draws from the K most likely tokens; 0 from all (0)\n"
    "  --top-p P            draws from the fewest tokens whose probabilities reach P (1)\n"
    "  --seed N             of the first prompt; the next has N + 1 (0)\n"
    "  --device NAME        of those that 'tern devices' lists (cpu)\n"
    "  --threads N          of each run (the cores, divided by the sessions)\n"
    "  --no-bos             the prompt does not begin with the model's first token\n"
    "  --time               shows tokens a second\n"
    "  --repeat N           makes each answer N times, and shows it once: for --time (1)\n\n"
    "Example:\n"
    "  generate_text seabirds.tern --tokenizer tokenizer.model --temperature 0.8 --seed 7 'The young puffin' 'A "
    "gull'\n";

[[noreturn]] void leave(const std::string& problem) {
  std::fprintf(stderr, "generate_text: %s; --help lists the options\n", problem.c_str());
  std::exit(2);
}

template <class T>
T number(std::string_view option, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    leave(std::string(option) + " takes a number, not '" + std::string(text) + "'");
  return value;
}

struct Option {
  std::string_view name;
  bool takes_value;
  std::function<void(std::string_view)> set;
};

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  const Option options[] = {
      {"--tokenizer", true, [&](std::string_view v) { o.tokenizer = v; }},
      {"--max-tokens", true, [&](std::string_view v) { o.max_tokens = number<std::int64_t>("--max-tokens", v); }},
      {"--temperature", true, [&](std::string_view v) { o.sampling.temperature = number<float>("--temperature", v); }},
      {"--top-k", true, [&](std::string_view v) { o.sampling.top_k = number<std::int64_t>("--top-k", v); }},
      {"--top-p", true, [&](std::string_view v) { o.sampling.top_p = number<float>("--top-p", v); }},
      {"--seed", true, [&](std::string_view v) { o.sampling.seed = number<std::uint64_t>("--seed", v); }},
      {"--device", true, [&](std::string_view v) { o.device = v; }},
      {"--threads", true, [&](std::string_view v) { o.threads = number<int>("--threads", v); }},
      {"--repeat", true, [&](std::string_view v) { o.repeat = number<std::int64_t>("--repeat", v); }},
      {"--no-bos", false, [&](std::string_view) { o.bos = false; }},
      {"--time", false, [&](std::string_view) { o.show_time = true; }},
  };
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    const Option* found = nullptr;
    for (const Option& option : options) found = option.name == word ? &option : found;
    if (found == nullptr && word.starts_with("--")) leave("there is no option " + std::string(word));
    if (found == nullptr) {
      words.emplace_back(word);
    } else if (found->takes_value && i + 1 == argc) {
      leave(std::string(word) + " lacks its value");
    } else {
      found->set(found->takes_value ? argv[++i] : "");
    }
  }
  if (words.size() < 2) leave(words.empty() ? "name an archive and a prompt" : "give a prompt");
  if (o.max_tokens < 1) leave("--max-tokens counts from 1");
  if (o.repeat < 1) leave("--repeat counts from 1");
  if (o.threads < 0 || o.threads > 1024) leave("--threads takes a number from 0 to 1024; 0 shares out the cores");
  o.archive = words[0];
  o.prompts.assign(words.begin() + 1, words.end());
  return o;
}
