// Arbitrary bytes as a checkpoint of a training run, with a valid hash: an Error that blames the file, or a position
// within the run and states that fit the session.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "tools/files/safetensors.h"
#include "tools/train/checkpoint_file.h"

namespace {

using namespace tern;

/// A program with two states, `a` of two floats and `n`, a number.
Model model_with_states() {
  auto p = std::make_shared<Program>();
  p->source = std::make_shared<ExtendableSource>(nullptr, 0);
  p->functions.emplace_back();
  p->functions[0].name = "train_step";
  p->functions[0].entry = true;
  Builder b(*p, 0);
  const float a[] = {1, 2};
  const std::int64_t n = 3;
  const ValueId values[] = {b.constant(DType::f32, {2}, a), b.constant(DType::i64, {}, &n)};
  for (std::uint32_t i = 0; i < 2; ++i) {
    p->states[i].name = i == 0 ? "a" : "n";
    p->states[i].is_mutable = true;
    p->functions[0].writebacks.push_back({WriteBack::Target::state, i, values[i]});
  }
  p->functions[0].outputs.push_back({FunctionOutput::Kind::tensor, values[0], "loss"});
  return Model(p);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Model model = model_with_states();
  static const PreparedModel prepared = model.prepare();
  const train::RunLength extent{20, 6};
  try {
    MemorySource source(std::as_bytes(std::span(data, size)), "input");
    const NamedTensors file = read_safetensors(source);
    const train::History h = train::history_of(file, extent);
    const auto states = train::states_of(file, model);
    if (h.position.step > extent.steps || h.position.batch >= extent.batches) std::abort();
    if (h.losses.size() != h.position.step || h.epochs.size() != h.position.epoch) std::abort();
    Session session(prepared);
    for (const auto& [name, value] : states) session.write_state(name, value);
    if (train::random_offsets_of(file).empty()) std::abort();
    train::History restored;
    train::restore(file, model, extent, train::Ranks(), session, restored);
    if (states.size() != 2 || session.read_state("a").numel() != 2) std::abort();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::invalid_argument || e.code() == ErrorCode::internal) std::abort();
  }
  return 0;
}
