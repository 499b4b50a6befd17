#include "runtime/plan/step_weights.h"

#include "runtime/plan/shared_weights.h"
#include "runtime/weight_cache/weight_cache.h"

namespace tern {

/// Only weights covering their whole storage can be identified by the storage.
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
  const StorageSource& source = *prepared_.program->source;
  const auto found = prepared_.packings.find({*storage, key});
  if (found != prepared_.packings.end()) return prepared_.program->source->bytes(found->second);
  if (prepared_.cache == nullptr) return {};
  return prepared_.cache->find(source.identity(*storage), key);
}

void StepWeights::fetch(std::size_t input) {
  if (!plan_.constant[step_.args + input]) return;
  const State& state = prepared_.program->states[plan_.locations[step_.args + input].index];
  prepared_.program->source->bytes(state.storage);
}

std::shared_ptr<const void> StepWeights::share(std::size_t input, const std::string& key,
                                               const std::function<std::shared_ptr<const void>()>& pack) {
  return prepared_.weights->share(plan_.args[step_.args + input], key, pack);
}

void StepWeights::offer(std::size_t input, const std::string& key, std::function<std::vector<std::byte>()> pack) {
  const auto storage = whole_storage(input);
  if (!storage) return;
  StorageSource* source = prepared_.program->source.get();
  // Packing reads the weight, so the hash is checked first.
  auto checked = [source, storage = *storage, pack = std::move(pack)] {
    source->bytes(storage);
    return pack();
  };
  if (PackRecorder* recorder = prepared_.listeners.recorder) {
    recorder->packed[{*storage, key}] = checked();
  } else if (prepared_.cache != nullptr) {
    prepared_.cache->offer(source->identity(*storage), key, std::move(checked));
  }
}

}  // namespace tern
