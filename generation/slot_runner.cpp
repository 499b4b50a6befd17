#include "generation/slot_runner.h"

#include <string>

#include "generation/names.h"

namespace tern::llm {

SlotRunner::SlotRunner(const Model& model, const Prepared& prepared, const Facts& facts)
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
  const auto count = static_cast<std::int64_t>(tokens.size());
  run(count == 1 ? kDecode.data() : kPrefill.data(), {&row, 1}, tokens, count, wants_logits);
}

void SlotRunner::step(std::span<const RunRow> rows, std::span<const std::int64_t> tokens, bool wants_logits) {
  run(kDecode.data(), rows, tokens, 1, wants_logits);
}

std::span<const float> SlotRunner::logits(std::size_t row) const {
  if (!has_logits_) return {};
  const auto size = static_cast<std::size_t>(facts_.vocabulary);
  return std::span(logits_).subspan(row * size, size);
}

void SlotRunner::run(const char* function, std::span<const RunRow> rows, std::span<const std::int64_t> tokens,
                     std::int64_t count, bool wants_logits) {
  const std::size_t size = rows.size();
  const auto texts = static_cast<std::int64_t>(size);
  std::vector<std::int64_t> slots, positions;
  for (const RunRow& row : rows) {
    slots.push_back(row.slot);
    positions.push_back(row.position);
  }
  // Temperature 0: the archive takes the largest logit, and draws no random number. Other choices are the sampler's.
  const std::vector<float> temperature(size, 0), top_p(size, 1);
  const std::vector<std::int64_t> zero(size, 0);
  std::vector<Tensor> inputs = {Tensor::borrow(tokens.data(), DType::i64, {texts, count})};
  const auto add = [&](const void* data, DType dtype, std::vector<std::int64_t> sizes) {
    inputs.push_back(Tensor::borrow(data, dtype, std::move(sizes)));
  };
  const bool has_slots = facts_.batch > 0;
  const std::vector<std::int64_t> each = has_slots ? std::vector<std::int64_t>{texts} : std::vector<std::int64_t>{};
  if (has_slots) add(slots.data(), DType::i64, each);
  add(positions.data(), DType::i64, {texts});
  add(temperature.data(), DType::f32, each);
  add(zero.data(), DType::i64, each);
  add(top_p.data(), DType::f32, each);
  if (has_slots) {
    add(zero.data(), DType::i64, each);  // seed
    add(zero.data(), DType::i64, each);  // draw
  }
  tokens_.assign(size, -1);
  has_logits_ = wants_logits;
  std::vector<Tensor> outputs = {Tensor::borrow(tokens_.data(), DType::i64, {texts, 1}), Tensor()};
  if (wants_logits) {
    logits_.resize(size * static_cast<std::size_t>(facts_.vocabulary));
    outputs[1] = Tensor::borrow(logits_.data(), DType::f32, {texts, facts_.vocabulary});
  }
  session_.run_into(function, inputs, outputs);
  for (const std::int64_t token : tokens_) {
    // An archive can hold functions of another kind, whatever its metadata say.
    if (token < 0 || token >= facts_.vocabulary)
      fail(ErrorCode::bad_file, "the archive's functions give a token outside of its vocabulary");
  }
}

}  // namespace tern::llm
