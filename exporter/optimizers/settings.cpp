#include "exporter/optimizers/settings.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace tern::optimizers {
namespace {

constexpr Optimizer kMomentumReaders[] = {Optimizer::sgd, Optimizer::rmsprop, Optimizer::muon};
constexpr Optimizer kDampeningReaders[] = {Optimizer::sgd};
constexpr Optimizer kNesterovReaders[] = {Optimizer::sgd, Optimizer::muon};
constexpr Optimizer kAmsgradReaders[] = {Optimizer::adam, Optimizer::adamw};
constexpr Optimizer kBetasReaders[] = {Optimizer::adam,  Optimizer::adamw, Optimizer::adamax,
                                       Optimizer::nadam, Optimizer::radam, Optimizer::lion};
constexpr Optimizer kEpsReaders[] = {Optimizer::adam,      Optimizer::adamw,  Optimizer::adagrad, Optimizer::rmsprop,
                                     Optimizer::adadelta,  Optimizer::adamax, Optimizer::nadam,   Optimizer::radam,
                                     Optimizer::adafactor, Optimizer::muon};
constexpr Optimizer kDecayReaders[] = {
    Optimizer::sgd,       Optimizer::adam,   Optimizer::adamw, Optimizer::adagrad, Optimizer::rmsprop,
    Optimizer::adadelta,  Optimizer::adamax, Optimizer::nadam, Optimizer::radam,   Optimizer::asgd,
    Optimizer::adafactor, Optimizer::lion,   Optimizer::muon};

/// Setting, its readers, and its member by type.
struct SettingRecord {
  std::string_view name;
  std::span<const Optimizer> readers;
  double OptimizerOptions::*number = nullptr;
  bool OptimizerOptions::*flag = nullptr;
};
constexpr SettingRecord kSettings[] = {
    {"weight-decay", kDecayReaders, &OptimizerOptions::weight_decay},
    {"momentum", kMomentumReaders, &OptimizerOptions::momentum},
    {"dampening", kDampeningReaders, &OptimizerOptions::dampening},
    {"eps", kEpsReaders, &OptimizerOptions::eps},
    {"betas", kBetasReaders},
    {"nesterov", kNesterovReaders, nullptr, &OptimizerOptions::nesterov},
    {"amsgrad", kAmsgradReaders, nullptr, &OptimizerOptions::amsgrad},
};

const SettingRecord* find_setting(std::string_view name) {
  const auto found = std::ranges::find(kSettings, name, &SettingRecord::name);
  return found == std::end(kSettings) ? nullptr : &*found;
}

double number_of_setting(std::string_view setting, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) return value;
  fail(ErrorCode::invalid_argument, fmt::format("{} takes a finite number, not '{}'", setting, text));
}

std::string coded_names() {
  std::string names;
  for (int i = 0; i < kOptimizers; ++i) {
    const auto o = static_cast<Optimizer>(i);
    if (can_be_coded(o)) names += fmt::format("{}{}{}", names.empty() ? "" : ", ", optimizer_name(o), kCodedSuffix);
  }
  return names;
}

}  // namespace

std::string optimizer_names() {
  std::string names;
  for (int i = 0; i < kOptimizers; ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", optimizer_name(static_cast<Optimizer>(i)));
  return names;
}

std::string setting_names() {
  std::string names;
  for (const SettingRecord& s : kSettings) names += fmt::format("{}{}", names.empty() ? "" : ", ", s.name);
  return names;
}

OptimizerOptions options_of_name(std::string_view name, std::string_view option) {
  const bool coded = name.ends_with(kCodedSuffix);
  const int number = optimizer_from_name(name.substr(0, name.size() - (coded ? kCodedSuffix.size() : 0)));
  if (number < 0) {
    fail(ErrorCode::invalid_argument, fmt::format("{} takes {}; with states of 8 bits {}; not '{}'", option,
                                                  optimizer_names(), coded_names(), name));
  }
  OptimizerOptions o = options_for(static_cast<Optimizer>(number));
  o.coded = coded;
  if (coded && !can_be_coded(o.optimizer)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: {} has no states of 8 bits; the optimizers with such states are {}", option,
                     optimizer_name(o.optimizer), coded_names()));
  }
  return o;
}

void require_read(Optimizer o, std::string_view setting, std::string_view option, std::string_view optimizer) {
  const SettingRecord* record = find_setting(setting);
  if (record == nullptr || std::ranges::find(record->readers, o) != record->readers.end()) return;
  std::string names;
  for (const Optimizer reader : record->readers)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", optimizer_name(reader));
  fail(ErrorCode::invalid_argument, fmt::format("{} has no effect with {}; use it with {}", option, optimizer, names));
}

bool change_setting(OptimizerOptions& o, std::string_view setting, std::string_view value) {
  const SettingRecord* record = find_setting(setting);
  if (record == nullptr) return false;
  if (record->number != nullptr) {
    o.*record->number = number_of_setting(setting, value);
  } else if (record->flag != nullptr) {
    if (!value.empty() && value != "yes" && value != "no")
      fail(ErrorCode::invalid_argument, fmt::format("{} takes yes or no, not '{}'", setting, value));
    o.*record->flag = value != "no";
  } else {
    const std::size_t slash = value.find('/');
    if (slash == std::string_view::npos)
      fail(ErrorCode::invalid_argument, fmt::format("{} takes two numbers such as 0.9/0.95, not '{}'", setting, value));
    o.betas = {number_of_setting(setting, value.substr(0, slash)), number_of_setting(setting, value.substr(slash + 1))};
  }
  return true;
}

std::string describe(const OptimizerOptions& o) {
  const OptimizerOptions defaults = options_for(o.optimizer);
  std::string text = fmt::format("{} lr={}", full_name(o), o.lr);
  for (const SettingRecord& s : kSettings) {
    if (s.number != nullptr) {
      if (o.*s.number != defaults.*s.number) text += fmt::format(" {}={}", s.name, o.*s.number);
    } else if (s.flag != nullptr) {
      if (o.*s.flag != defaults.*s.flag) text += fmt::format(" {}={}", s.name, o.*s.flag ? "yes" : "no");
    } else if (o.betas != defaults.betas) {
      text += fmt::format(" {}={}/{}", s.name, o.betas[0], o.betas[1]);
    }
  }
  return text;
}

}  // namespace tern::optimizers
