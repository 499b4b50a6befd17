#include "conversation.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace {

const std::string* find(const tern::Model& model, std::string_view key) {
  for (const auto& [name, value] : model.metadata()) {
    if (name == key) return &value;
  }
  return nullptr;
}

/// The numbers, 0 or more, of "2, 7"; none where the archive lacks the key.
std::vector<std::int64_t> integers(const tern::Model& model, std::string_view key) {
  std::vector<std::int64_t> found;
  const std::string* text = find(model, key);
  if (text == nullptr) return found;
  const char *at = text->data(), *end = at + text->size();
  while (true) {
    std::int64_t n = -1;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 0) break;
    found.push_back(n);
    if (next == end) return found;
    if (!std::string_view(next, end).starts_with(", ")) break;
    at = next + 2;
  }
  throw tern::Error(tern::ErrorCode::bad_file,
                    "the archive's metadata " + std::string(key) + " is no list of numbers such as 2, 7");
}

std::int64_t integer(const tern::Model& model, std::string_view key) {
  const std::vector<std::int64_t> found = integers(model, key);
  if (found.size() != 1)
    throw tern::Error(tern::ErrorCode::bad_file, "the archive's metadata lacks " + std::string(key));
  return found[0];
}

}  // namespace

bool ModelFacts::is_end_token(std::int64_t token) const {
  return std::ranges::find(eos, token) != eos.end();
}

ModelFacts facts_of(const tern::Model& model) {
  const std::string* version = find(model, "llm");
  if (version == nullptr)
    throw tern::Error(tern::ErrorCode::invalid_argument,
                      "the archive does not generate tokens; make it by 'tern export --llm' or tern.export_llm()");
  if (*version != "1" && *version != "2")
    throw tern::Error(tern::ErrorCode::unsupported,
                      "the archive follows version " + *version + " of the rules for generating tokens, not 1 or 2");
  ModelFacts facts{integer(model, "llm.context"), integer(model, "llm.vocabulary"), {}, integers(model, "llm.eos")};
  if (*version == "2") facts.batch = integer(model, "llm.batch");
  if (facts.batch < 0 || facts.batch > 65536 || (*version == "2" && facts.batch == 0))
    throw tern::Error(tern::ErrorCode::bad_file, "the archive's metadata llm.batch is no number of slots");
  const std::vector<std::int64_t> bos = integers(model, "llm.bos");
  if (!bos.empty()) facts.bos = bos[0];
  return facts;
}

Conversation::Conversation(const tern::PreparedModel& prepared, const ModelFacts& facts, const Sampling& sampling)
    : session_(prepared), facts_(facts), sampling_(sampling) {
  session_.set_seed(sampling.seed);
}

std::int64_t Conversation::read(std::span<const std::int64_t> tokens) {
  using tern::DType;
  using tern::Tensor;
  const auto count = static_cast<std::int64_t>(tokens.size());
  const Tensor inputs[] = {
      Tensor::borrow(tokens.data(), DType::i64, {1, count}),  Tensor::borrow(&position_, DType::i64, {1}),
      Tensor::borrow(&sampling_.temperature, DType::f32, {}), Tensor::borrow(&sampling_.top_k, DType::i64, {}),
      Tensor::borrow(&sampling_.top_p, DType::f32, {}),
  };
  const std::vector<Tensor>& results = session_.run(count == 1 ? "decode" : "prefill", inputs);
  // Whatever the metadata says: an archive can hold functions of another kind.
  if (results.empty() || results[0].numel() != 1)
    throw tern::Error(tern::ErrorCode::bad_file, "the archive's functions do not give one token");
  const std::int64_t token = results[0].span<const std::int64_t>()[0];
  if (token < 0 || token >= facts_.vocabulary)
    throw tern::Error(tern::ErrorCode::bad_file, "the archive's functions give a token outside of its vocabulary");
  position_ += count;
  return token;
}
