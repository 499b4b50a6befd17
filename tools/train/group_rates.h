// Learning rates of parameter groups (`tern export --params`) that a run changes.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/train/schedule.h"

namespace tern::train {

/// Rate and schedule of a group as given to `tern train`; empty text: as exported.
struct GroupRate {
  std::string rate;      ///< "1e-4", or "0.1x": a factor of the archive's rate
  std::string schedule;  ///< text of a LearningRateSchedule
};
using GroupRateOptions = std::map<std::string, GroupRate>;  ///< by selector

/// Splits "SELECTOR: VALUE"; an empty selector if the text has none.
std::pair<std::string, std::string> split_selector(const std::string& text);
/// "cosine; lm_head: linear": the value of all groups, then those of single groups. For comparing runs.
std::string rates_text(const std::string& value, const GroupRateOptions& groups, std::string GroupRate::*member);

/// Writes the factors of the groups' rates into a session's states, step by step.
class GroupRates {
 public:
  GroupRates() = default;
  /// `text`, `rate`, `steps` and `warmup`: those of the archive's rate. Fails (invalid_argument) for groups that the
  /// archive does not have, wrong values, and a schedule whose rates are 0, because groups are factors of the rate.
  GroupRates(const Session& session, const Model& model, const GroupRateOptions& options, const std::string& text,
             double rate, std::uint64_t steps, std::uint64_t warmup);

  /// Sets the factors of a step; `rate` is the archive's in this step.
  void set(Session& session, std::uint64_t step, double rate);
  /// Sets the archive's factors again: the trained archive keeps its groups.
  void reset(Session& session) const;

 private:
  struct Entry {
    std::string state;
    double archived_factor = 1;  ///< factor in the archive
    double factor = 1;           ///< scales the rate before schedules
    bool has_schedule = false;
    LearningRateSchedule schedule;
    double written = -1;
  };
  std::vector<Entry> entries_;
};

}  // namespace tern::train
