// Reports of `tern export --quantize` about weights and calibration, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/quantize/calibrate.h"

namespace tern {

/// A table of the quantized weights, the unquantized weights with the reason, and the total bytes.
std::string weights_text(const QuantizeReport& report);
/// Tables of the layers and of the results, and the target.
std::string calibration_text(const Calibration& calibration);

/// `calibration` may be null.
nlohmann::ordered_json quantize_json(const QuantizeReport& report, const Calibration* calibration);

/// Explains a missed target: the reason, the closest choice, and the remedy.
std::string missed_target(const Calibration& calibration, bool narrowed);

}  // namespace tern
