// Chooses how many tokens to propose: the number with the most tokens a second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tern {

/// Measured seconds of runs that read 1, 2, 4, 8 or 16 tokens of one sequence.
class RunTimes {
 public:
  void note(std::size_t tokens, double seconds);
  /// Measured, or estimated from the nearest measured size; 0 before the first measurement.
  double estimate_seconds(std::size_t tokens) const;

  static constexpr std::array<std::size_t, 5> kSizes = {1, 2, 4, 8, 16};

 private:
  struct Time {
    double seconds = 0;
    int run_count = 0;
  };
  std::array<Time, kSizes.size()> times_{};
};

/// Share of proposed tokens that the model confirms.
class Acceptance {
 public:
  explicit Acceptance(double expected) : expected_(expected), share_(expected) {}
  void note(bool is_accepted) { share_ += 0.1 * ((is_accepted ? 1.0 : 0.0) - share_); }
  /// Forgets a part of the experience, so that a later part of a text gets another chance.
  void note_unused() { share_ += 0.01 * (expected_ - share_); }
  double share() const { return share_; }

 private:
  double expected_, share_;
};

/// Number of proposed tokens, at most `available`, for the most tokens a second: 0, 1, 3, 7 or 15, since the run also
/// reads the token before. `token_seconds`: time to propose a token.
std::size_t choose_proposal_size(const RunTimes& times, double share, std::size_t available, double token_seconds = 0);

}  // namespace tern
