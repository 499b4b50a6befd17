// What `tern export --quantize` did to each weight, and what example inputs show of it: for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/quantize/calibrate.h"

namespace tern {

/// A table of the weights, those that stayed with the reason, and the bytes of all.
std::string weights_text(const QuantizeReport& report);
/// Tables of the layers and of the results, and the target.
std::string calibration_text(const Calibration& calibration);

/// `calibration` may be null.
nlohmann::ordered_json quantize_json(const QuantizeReport& report, const Calibration* calibration);

/// Why no choice meets the target, how close one comes, and what to do.
std::string missed_target(const Calibration& calibration, bool narrowed);

}  // namespace tern
