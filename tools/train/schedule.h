// Learning-rate schedules: the rate of each step.
#pragma once

#include <cstdint>
#include <string>

namespace tern::train {

/// The rate of step k (from 0) of `steps`, after a linear warm-up of w steps, (k + 1) / (w + 1) of the rate; n = steps
/// - w, i = k - w:
///
/// | text | factor of the rate |
/// |---|---|
/// | constant | 1 |
/// | linear, linear:END | 1 - (1 - END) i / n; END is 0 unless given (torch: LinearLR) |
/// | cosine, cosine:END | END + (1 - END) (1 + cos(pi i / n)) / 2 (torch: CosineAnnealingLR with T_max = n) |
/// | step:EVERY, step:EVERY:FACTOR | FACTOR^(i / EVERY, rounded down); FACTOR is 0.1 unless given (torch: StepLR) |
class LearningRateSchedule {
 public:
  LearningRateSchedule() = default;
  /// Fails (invalid_argument) for other text.
  LearningRateSchedule(const std::string& text, double rate, std::uint64_t steps, std::uint64_t warmup);

  double rate(std::uint64_t step) const;

 private:
  enum class Kind : std::uint8_t { constant, linear, cosine, step };
  Kind kind_ = Kind::constant;
  double rate_ = 0;
  std::uint64_t steps_ = 0, warmup_ = 0;
  double end_ = 0;
  std::uint64_t every_ = 1;
};

}  // namespace tern::train
