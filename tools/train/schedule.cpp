#include "tools/train/schedule.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include "tools/text.h"

namespace tern::train {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  fail(ErrorCode::invalid_argument,
       fmt::format("--schedule takes constant, linear[:END], cosine[:END] or step:EVERY[:FACTOR], with END and FACTOR "
                   "from 0 to 1 and EVERY a number of steps, not '{}'",
                   escape_name(text)));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t colon; (colon = text.find(':')) != std::string_view::npos; text.remove_prefix(colon + 1))
    parts.push_back(text.substr(0, colon));
  parts.push_back(text);
  return parts;
}

template <class T>
T number(std::string_view part, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc() || end != part.data() + part.size()) refuse(text);
  return value;
}

}  // namespace

LearningRateSchedule::LearningRateSchedule(const std::string& text, double rate, std::uint64_t steps,
                                           std::uint64_t warmup)
    : rate_(rate), steps_(steps), warmup_(warmup) {
  const std::vector<std::string_view> parts = split(text);
  std::size_t used = 1;
  if (parts[0] == "linear" || parts[0] == "cosine") {
    kind_ = parts[0] == "linear" ? Kind::linear : Kind::cosine;
  } else if (parts[0] == "step") {
    kind_ = Kind::step;
    if (parts.size() < 2) refuse(text);
    every_ = number<std::uint64_t>(parts[used++], text);
    end_ = 0.1;
  } else if (parts[0] != "constant") {
    refuse(text);
  }
  if (kind_ != Kind::constant && used < parts.size()) end_ = number<double>(parts[used++], text);
  if (used != parts.size() || every_ == 0 || !(end_ >= 0 && end_ <= 1)) refuse(text);
}

double LearningRateSchedule::rate(std::uint64_t step) const {
  if (step < warmup_) return rate_ * static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
  const std::uint64_t n = steps_ > warmup_ ? steps_ - warmup_ : 1, i = step - warmup_;
  const double share = static_cast<double>(std::min(i, n)) / static_cast<double>(n);
  switch (kind_) {
    case Kind::constant: return rate_;
    case Kind::linear: return rate_ * (1 - (1 - end_) * share);
    case Kind::cosine: return rate_ * (end_ + (1 - end_) * (1 + std::cos(std::numbers::pi * share)) / 2);
    case Kind::step: return rate_ * std::pow(end_, static_cast<double>(i / every_));
  }
  return rate_;
}

}  // namespace tern::train
