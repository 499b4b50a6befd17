// Continues texts with a model of `tern export --llm`: examples/generate/README.md.
#include <tern/tern.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "loops.h"

namespace {

std::unique_ptr<Tokenizer> tokenizer_of(const std::string& name) {
  if (name.empty() || name == "ids") return id_tokenizer();
  if (name == "bytes") return byte_tokenizer();
  return sentencepiece_tokenizer(name);
}

void show_time(const Time& t) {
  std::fprintf(stderr, "%lld tokens of prompt, first token after %.1f ms, then %.1f tokens a second\n",
               static_cast<long long>(t.prompt), t.first * 1e3,
               t.later > 0 ? static_cast<double>(t.generated - 1) / t.later : 0.0);
}

int run(const Options& o) {
  const tern::Model model = tern::Model::open(o.archive);
  const ModelFacts facts = facts_of(model);
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_of(o.tokenizer);
  const auto answer = facts.batch > 0 ? answer_in_slots : answer_in_sessions;
  const std::vector<Outcome> outcomes = answer(model, facts, *tokenizer, o);
  int status = 0;
  for (std::size_t i = 0; i < o.prompts.size(); ++i) {
    if (!outcomes[i].problem.empty()) {
      std::fprintf(stderr, "generate_text: '%s': %s\n", o.prompts[i].c_str(), outcomes[i].problem.c_str());
      status = 1;
    } else if (o.show_time) {
      for (const Time& time : outcomes[i].times) show_time(time);
    }
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate_text: %s\n", error.what());
    return 1;
  }
}
