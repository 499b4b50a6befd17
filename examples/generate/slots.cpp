#include "slots.h"

Slots::Slots(const tern::PreparedModel& prepared, const ModelFacts& facts)
    : session_(prepared), facts_(facts), texts_(static_cast<std::size_t>(facts.batch)) {}

std::int64_t Slots::begin(std::int64_t slot, std::span<const std::int64_t> tokens, const Sampling& sampling) {
  text_of(slot) = {sampling};
  return run("prefill", {&slot, 1}, tokens)[0];
}

std::vector<std::int64_t> Slots::step(std::span<const std::int64_t> slots, std::span<const std::int64_t> tokens) {
  return run("decode", slots, tokens);
}

std::vector<std::int64_t> Slots::run(const char* function, std::span<const std::int64_t> slots,
                                     std::span<const std::int64_t> tokens) {
  using tern::DType;
  using tern::Tensor;
  const auto texts = static_cast<std::int64_t>(slots.size()), count = static_cast<std::int64_t>(tokens.size()) / texts;
  std::vector<std::int64_t> position, top_k, seed, draw;
  std::vector<float> temperature, top_p;
  for (const std::int64_t slot : slots) {
    const Text& text = text_of(slot);
    position.push_back(text.position);
    temperature.push_back(text.sampling.temperature);
    top_k.push_back(text.sampling.top_k);
    top_p.push_back(text.sampling.top_p);
    seed.push_back(static_cast<std::int64_t>(text.sampling.seed));
    draw.push_back(text.drawn);
  }
  const Tensor inputs[] = {
      Tensor::borrow(tokens.data(), DType::i64, {texts, count}),
      Tensor::borrow(slots.data(), DType::i64, {texts}),
      Tensor::borrow(position.data(), DType::i64, {texts}),
      Tensor::borrow(temperature.data(), DType::f32, {texts}),
      Tensor::borrow(top_k.data(), DType::i64, {texts}),
      Tensor::borrow(top_p.data(), DType::f32, {texts}),
      Tensor::borrow(seed.data(), DType::i64, {texts}),
      Tensor::borrow(draw.data(), DType::i64, {texts}),
  };
  const std::vector<Tensor>& results = session_.run(function, inputs);
  // Whatever the metadata says: an archive can hold functions of another kind.
  if (results.empty() || results[0].numel() != texts)
    throw tern::Error(tern::ErrorCode::bad_file, "the archive's functions do not give one token for each text");
  const auto next = results[0].span<const std::int64_t>();
  for (const std::int64_t token : next) {
    if (token < 0 || token >= facts_.vocabulary)
      throw tern::Error(tern::ErrorCode::bad_file, "the archive's functions give a token outside of its vocabulary");
  }
  for (const std::int64_t slot : slots) {
    text_of(slot).position += count;
    ++text_of(slot).drawn;
  }
  return {next.begin(), next.end()};
}
