#include "tools/option_headings.h"

#include <algorithm>
#include <string_view>

namespace tern {
namespace {

constexpr std::size_t kMaxFlatOptions = 12;

struct Heading {
  std::string_view command;  ///< empty: every command; a command's own rows come first
  const char* text;
  std::vector<std::string_view> options;
};

/// All headings, in the order of the pages.
const std::vector<Heading>& headings() {
  static const std::vector<Heading> headings = {
      {"export",
       "Archive",
       {"--output", "--compress", "--name-size", "--annotate", "--custom-ops", "--ignore-guard", "--unchecked-guards",
        "--no-fold", "--no-origins", "--verify", "--json"}},
      {"export", "Kernels and devices", {"--target", "--size", "--tune", "--tune-seconds", "--groups"}},
      {"export",
       "Narrower numbers",
       {"--precision", "--quantize", "--group", "--rule", "--awq", "--scales", "--mx-scales", "--activations",
        "--keep"}},
      {"export", "Formats chosen by data", {"--calibrate", "--target-sqnr", "--bits", "--function", "--report"}},
      {"export",
       "Training: loss and gradients",
       {"--train", "--loss", "--class-axis", "--label-smoothing", "--class-weights", "--step", "--accumulate",
        "--activation-memory", "--data-parallel", "--bucket", "--loss-scale"}},
      {"export",
       "Training: optimizer",
       {"--optimizer", "--lr", "--weight-decay", "--momentum", "--dampening", "--betas", "--eps", "--nesterov",
        "--amsgrad", "--clip-norm", "--clip-value", "--gradient-norm", "--ema"}},
      {"export", "Training: which weights", {"--freeze", "--params", "--lora", "--lora-seed"}},
      {"export",
       "Language models",
       {"--llm", "--context", "--batch", "--token-ids", "--bos", "--eos", "--tokenizer", "--embeddings",
        "--matryoshka"}},
      {"train",
       "Data",
       {"--data", "--array", "--held-out", "--metric", "--batch", "--cast", "--seed", "--no-shuffle", "--drop-last"}},
      {"train",
       "Steps",
       {"--epochs", "--steps", "--accumulate", "--lr", "--schedule", "--warmup", "--patience", "--method"}},
      {"train", "Results", {"--output", "--forward", "--adapters", "--plot", "--tensorboard", "--json"}},
      {"train", "Checkpoints", {"--checkpoint", "--every", "--resume"}},
      {"verify", "Reference", {"--against", "--reference", "--expected"}},
      {"verify",
       "Report and limits",
       {"--nodes", "--worst", "--min-cosine", "--min-sqnr", "--min-agreement", "--gains", "--json"}},
      {"bench",
       "Measurement",
       {"--seconds", "--runs", "--nodes", "--lost", "--choices", "--turns", "--sessions", "--cores", "--bandwidth",
        "--gains", "--json"}},
      {"conform", "Cases", {"--every", "--gradients", "--direct", "--jobs", "--no-texts", "--target"}},
      {"conform", "Report", {"--json", "--no-table", "--failures", "--same-bits", "--save-bits", "--check-bits"}},
      {"generate", "Prompt", {"--chat", "--system", "--chat-template", "--tokenizer", "--ids"}},
      {"generate",
       "Answer",
       {"--max-tokens", "--stop", "--json-schema", "--grammar", "--ignore-end", "--logprobs", "--json", "--time"}},
      {"chat",
       "Conversation",
       {"--system", "--chat-template", "--tokenizer", "--max-tokens", "--stop", "--json-schema", "--grammar"}},
      {"serve", "Address and clients", {"--port", "--host", "--api-key-file", "--name"}},
      {"serve", "Model", {"--tokenizer", "--chat-template", "--embedder"}},
      {"serve", "Limits of requests", {"--queue", "--max-tokens", "--body-bytes", "--time-limit", "--finish-seconds"}},
      {"", "Speculative decoding", {"--speculate", "--draft"}},
      {"",
       "Choice of tokens",
       {"--temperature", "--top-k", "--top-p", "--min-p", "--typical-p", "--repetition-penalty", "--presence-penalty",
        "--frequency-penalty", "--logit-bias"}},
      {"", "Inputs", {"--input", "--cast", "--random", "--size", "--seed", "--sequence", "--function"}},
      {"", "Results", {"--output", "--format", "--json", "--verbose"}},
      {"",
       "Device and precision",
       {"--device", "--precision", "--keep", "--reproducible", "--native-code", "--threads", "--graph", "--units",
        "--queues", "--copy-weights"}},
      {"", "Limits", {"--repeat", "--max-seconds", "--max-iterations", "--max-memory"}},
      {"", "Groups of processes", {"--group", "--group-timeout", "--groups"}},
      {"", "Traces", {"--trace", "--trace-memory"}},
  };
  return headings;
}

const Heading* heading_of(const std::string& command, const OptionText& option) {
  for (const bool own : {true, false}) {
    for (const Heading& h : headings()) {
      if (h.command != (own ? std::string_view(command) : std::string_view())) continue;
      const bool listed = std::ranges::any_of(h.options, [&](std::string_view name) {
        return std::ranges::find(option.names, name) != option.names.end();
      });
      if (listed) return &h;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<OptionGroup> option_groups(const CLI::App& app) {
  std::vector<OptionText> options = options_of(app);
  std::erase_if(options, [](const OptionText& o) { return o.positional; });
  std::vector<OptionGroup> groups;
  if (options.size() > kMaxFlatOptions) {
    for (const Heading& h : headings()) {
      OptionGroup group{h.text, {}};
      for (const OptionText& o : options) {
        if (heading_of(app.get_name(), o) == &h) group.options.push_back(o);
      }
      if (!group.options.empty()) groups.push_back(std::move(group));
    }
    std::erase_if(options, [&](const OptionText& o) { return heading_of(app.get_name(), o) != nullptr; });
  }
  if (!options.empty()) groups.push_back({"Options", std::move(options)});
  return groups;
}

}  // namespace tern
