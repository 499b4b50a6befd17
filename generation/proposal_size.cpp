#include "generation/proposal_size.h"

#include <algorithm>
#include <cmath>

namespace tern {
namespace {

/// A token more costs this share of a run of one token, before a measurement. Low, so that each size gets a trial.
constexpr double kTokenShare = 0.05;

}  // namespace

void RunTimes::note(std::size_t tokens, double seconds) {
  const auto size = std::ranges::find(kSizes, tokens);
  if (size == kSizes.end()) return;
  Time& time = times_[static_cast<std::size_t>(size - kSizes.begin())];
  // The first run of a size makes its memory plan, and may read weights from the disk.
  if (++time.run_count == 1) return;
  if (time.run_count == 2) {
    time.seconds = seconds;
  } else {
    // Later runs may make plans, too (a longer cache), or wait for other processes.
    time.seconds += 0.2 * (std::min(seconds, 2 * time.seconds) - time.seconds);
  }
}

double RunTimes::estimate_seconds(std::size_t tokens) const {
  double nearest = 0;
  std::size_t measured = 1;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    if (times_[i].seconds == 0) continue;
    if (nearest != 0 && kSizes[i] > tokens) break;
    nearest = times_[i].seconds;
    measured = kSizes[i];
  }
  const double difference = static_cast<double>(tokens) - static_cast<double>(measured);
  return nearest * (1 + kTokenShare * std::max(0.0, difference));
}

std::size_t choose_proposal_size(const RunTimes& times, double share, std::size_t available, double token_seconds) {
  std::size_t best_size = 0;
  double best_rate = 0;
  for (const std::size_t size : RunTimes::kSizes) {
    const std::size_t proposed = size - 1;
    if (proposed > available) break;
    // Each proposed token counts if all before it are confirmed, and the run gives one token more.
    const double tokens =
        share >= 1 ? static_cast<double>(size) : (1 - std::pow(share, static_cast<double>(size))) / (1 - share);
    const double seconds = times.estimate_seconds(size) + token_seconds * static_cast<double>(proposed);
    const double rate = seconds > 0 ? tokens / seconds : 0;
    if (rate <= best_rate) continue;
    best_rate = rate;
    best_size = proposed;
  }
  return best_size;
}

}  // namespace tern
