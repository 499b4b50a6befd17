#include "generation/slot_runner.h"

#include <string>

#include "generation/names.h"

namespace tern::llm {

SlotRunner::SlotRunner(const Model& model, const PreparedModel& prepared, const Facts& facts)
    : session_(prepared), facts_(facts) {
  for (const StateInfo& state : model.states()) {
    if (!state.is_mutable) continue;
    // A slot's cache is [slots, ..., positions, numbers]; without slots, [..., positions, numbers].
    const auto rank = static_cast<std::int64_t>(state.sizes.size());
    const bool has_positions = rank >= (facts.batch > 0 ? 3 : 2) &&
                               state.sizes[static_cast<std::size_t>(rank - 2)] == facts.context &&
                               (facts.batch == 0 || state.sizes[0] == facts.batch);
    keeps_positions_ = keeps_positions_ && has_positions;
    caches_.push_back({state.name, rank - 2});
  }
}

void SlotRunner::copy(std::int64_t from, std::int64_t to, std::int64_t count) {
  for (const Cache& cache : caches_) session_.copy_in_state(cache.name, from, to, cache.positions_axis, count);
}

void SlotRunner::read(RunRow row, std::span<const std::int64_t> tokens, bool wants_logits) {
  if (tokens.size() == 1) return step({&row, 1}, tokens, wants_logits);
  std::vector<Tensor> inputs = make_inputs({&row, 1}, tokens);
  add_sampling(inputs, 1);
  run(kPrefill, inputs, {1, 1}, wants_logits);
}

void SlotRunner::step(std::span<const RunRow> rows, std::span<const std::int64_t> tokens, bool wants_logits) {
  std::vector<Tensor> inputs = make_inputs(rows, tokens);
  add_sampling(inputs, rows.size());
  run(kDecode, inputs, {static_cast<std::int64_t>(rows.size()), 1}, wants_logits);
}

void SlotRunner::verify(RunRow row, std::span<const std::int64_t> tokens, bool wants_logits) {
  run(kVerify, make_inputs({&row, 1}, tokens), {1, static_cast<std::int64_t>(tokens.size())}, wants_logits);
}

std::span<const float> SlotRunner::logits(std::size_t row) const {
  if (!has_logits_) return {};
  const auto size = static_cast<std::size_t>(facts_.vocabulary);
  return std::span(logits_).subspan(row * size, size);
}

std::vector<Tensor> SlotRunner::make_inputs(std::span<const RunRow> rows, std::span<const std::int64_t> tokens) {
  const auto texts = static_cast<std::int64_t>(rows.size());
  slots_.clear();
  positions_.clear();
  for (const RunRow& row : rows) {
    slots_.push_back(row.slot);
    positions_.push_back(row.position);
  }
  const std::int64_t count = static_cast<std::int64_t>(tokens.size()) / texts;
  std::vector<Tensor> inputs = {Tensor::borrow(tokens.data(), DType::i64, {texts, count})};
  if (facts_.batch > 0) inputs.push_back(Tensor::borrow(slots_.data(), DType::i64, {texts}));
  inputs.push_back(Tensor::borrow(positions_.data(), DType::i64, {texts}));
  return inputs;
}

/// Temperature 0: the archive takes the largest logit, and draws no random number. Other choices are the sampler's.
void SlotRunner::add_sampling(std::vector<Tensor>& inputs, std::size_t rows) {
  zeros_.assign(rows, 0);
  float_zeros_.assign(rows, 0);
  ones_.assign(rows, 1);
  const bool has_slots = facts_.batch > 0;
  const auto add = [&](const void* data, DType dtype) {
    inputs.push_back(Tensor::borrow(
        data, dtype, has_slots ? std::vector{static_cast<std::int64_t>(rows)} : std::vector<std::int64_t>{}));
  };
  add(float_zeros_.data(), DType::f32);  // temperature
  add(zeros_.data(), DType::i64);        // top_k
  add(ones_.data(), DType::f32);         // top_p
  for (int seed_and_draw = 0; has_slots && seed_and_draw < 2; ++seed_and_draw) add(zeros_.data(), DType::i64);
}

void SlotRunner::run(std::string_view function, std::span<const Tensor> inputs,
                     const std::vector<std::int64_t>& results, bool wants_logits) {
  const auto size = static_cast<std::size_t>(results[0] * results[1]);
  tokens_.assign(size, -1);
  has_logits_ = wants_logits;
  std::vector<Tensor> outputs = {Tensor::borrow(tokens_.data(), DType::i64, results), Tensor()};
  if (wants_logits) {
    logits_.resize(size * static_cast<std::size_t>(facts_.vocabulary));
    std::vector<std::int64_t> sizes = results;
    if (function != kVerify) sizes.pop_back();
    sizes.push_back(facts_.vocabulary);
    outputs[1] = Tensor::borrow(logits_.data(), DType::f32, std::move(sizes));
  }
  session_.run_into(function, inputs, outputs);
  for (const std::int64_t token : tokens_) {
    // An archive can hold functions of another kind, whatever its metadata say.
    if (token < 0 || token >= facts_.vocabulary)
      fail(ErrorCode::bad_file, "the archive's functions give a token outside of its vocabulary");
  }
}

}  // namespace tern::llm
