#include "runtime/plan/step_weights.h"

#include "runtime/plan/shared_weights.h"

namespace tern {

/// Only a weight that is the whole of its storage can be found by the storage alone.
std::optional<std::uint32_t> StepWeights::whole_storage(std::size_t input) const {
  const std::size_t arg = step_.args + input;
  if (!plan_.constant[arg]) return std::nullopt;
  const State& state = prepared_.program->states[plan_.locations[arg].index];
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(plan_.args[arg].numel()) * static_cast<std::uint64_t>(element_size(state.type.dtype));
  if (bytes != prepared_.program->storages[state.storage].size) return std::nullopt;
  return state.storage;
}

std::span<const std::byte> StepWeights::packed(std::size_t input, const std::string& key) {
  const std::optional<std::uint32_t> storage = whole_storage(input);
  if (!storage) return {};
  const auto found = prepared_.packings.find({*storage, key});
  return found == prepared_.packings.end() ? std::span<const std::byte>()
                                           : prepared_.program->source->bytes(found->second);
}

void StepWeights::fetch(std::size_t input) {
  if (!plan_.constant[step_.args + input]) return;
  const State& state = prepared_.program->states[plan_.locations[step_.args + input].index];
  prepared_.program->source->bytes(state.storage);
}

std::shared_ptr<const void> StepWeights::share(std::size_t input, const std::string& key,
                                               const std::function<std::shared_ptr<const void>()>& make) {
  return prepared_.weights->share(plan_.args[step_.args + input], key, make);
}

void StepWeights::offer(std::size_t input, const std::string& key, std::function<std::vector<std::byte>()> make) {
  PackRecorder* recorder = prepared_.listeners.recorder;
  const auto storage = whole_storage(input);
  if (recorder == nullptr || !storage) return;
  fetch(input);
  recorder->packed[{*storage, key}] = make();
}

}  // namespace tern
