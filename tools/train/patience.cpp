#include "tools/train/patience.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cmath>

namespace tern::train {
namespace {

constexpr std::string_view kBestPrefix = "best.";

}  // namespace

std::optional<std::size_t> Patience::best_epoch(const History& history) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < history.epochs.size(); ++i) {
    const std::optional<double>& loss = history.epochs[i].held_out_loss;
    if (!loss || !std::isfinite(*loss)) continue;
    if (!best || *loss < *history.epochs[*best].held_out_loss) best = i;
  }
  return best;
}

void Patience::see(const Model& model, const Session& session, const History& history) {
  if (!waits() || best_epoch(history) != std::optional(history.epochs.size() - 1)) return;
  best_states_.clear();
  for (const StateInfo& s : model.states()) {
    if (!s.is_mutable) continue;
    const Tensor t = session.read_state(s.name);
    const auto* bytes = static_cast<const std::byte*>(t.data());
    best_states_.emplace_back(s.name, HostTensor{s.dtype, s.sizes, {bytes, bytes + t.byte_size()}});
  }
}

bool Patience::is_over(const History& history) const {
  if (!waits()) return false;
  const std::optional<std::size_t> best = best_epoch(history);
  return history.epochs.size() - (best ? *best + 1 : 0) >= epochs_;
}

void Patience::go_back(Session& session) const {
  for (const auto& [name, t] : best_states_)
    session.write_state(name, Tensor::borrow(static_cast<const void*>(t.data.data()), t.dtype, t.sizes));
}

void Patience::add_to(NamedTensors& checkpoint) const {
  for (const auto& [name, t] : best_states_) checkpoint.tensors.emplace_back(std::string(kBestPrefix) + name, t);
}

void Patience::restore(const NamedTensors& checkpoint, const Model& model, const History& history) {
  best_states_.clear();
  if (!waits() || !best_epoch(history)) return;
  for (const StateInfo& s : model.states()) {
    if (!s.is_mutable) continue;
    const HostTensor* t = checkpoint.find(std::string(kBestPrefix) + s.name);
    if (t == nullptr || t->dtype != s.dtype || t->sizes != s.sizes)
      fail(ErrorCode::bad_file, fmt::format("the checkpoint lacks the state '{}' of the best epoch", s.name));
    best_states_.emplace_back(s.name, *t);
  }
}

}  // namespace tern::train
