#include "generation/draft_model.h"

#include <tern/error.h>

#include <algorithm>
#include <chrono>

namespace tern {
namespace {

constexpr std::size_t kDraftPart = 512;  ///< tokens of a prompt read at once

}  // namespace

DraftModel::DraftModel(const Model& model, const PrepareOptions& options)
    : facts_(llm::read_facts(model)), runner_(model, model.prepare(options), facts_) {
  if (!runner_.keeps_positions())
    fail(ErrorCode::unsupported, "the draft model's caches keep a window of positions, so it cannot propose tokens");
}

std::vector<std::int64_t> DraftModel::propose(std::span<const std::int64_t> tokens, std::size_t count) {
  const auto context = static_cast<std::size_t>(facts_.context);
  if (tokens.empty() || tokens.size() >= context) return {};
  // Logits come with a run, so the last token is read again.
  const auto common = std::min(static_cast<std::size_t>(std::ranges::mismatch(tokens_, tokens).in1 - tokens_.begin()),
                               tokens.size() - 1);
  tokens_.resize(common);
  for (std::span<const std::int64_t> remaining = tokens.subspan(common); !remaining.empty();) {
    const std::span<const std::int64_t> chunk = remaining.first(std::min(remaining.size(), kDraftPart));
    read_tokens(chunk);
    remaining = remaining.subspan(chunk.size());
  }
  std::vector<std::int64_t> proposed = {runner_.token(0)};
  const auto begin = std::chrono::steady_clock::now();
  while (proposed.size() < count && tokens_.size() < context) {
    read_tokens(std::span(proposed).last(1));
    proposed.push_back(runner_.token(0));
  }
  if (proposed.size() > 1) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    token_seconds_ = seconds / static_cast<double>(proposed.size() - 1);
  }
  return proposed;
}

void DraftModel::read_tokens(std::span<const std::int64_t> tokens) {
  const auto position = static_cast<std::int64_t>(tokens_.size());
  // A failed run leaves the cache unknown behind the position.
  runner_.read({0, position}, tokens, false);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

}  // namespace tern
