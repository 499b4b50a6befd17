// What `tern export --quantize` did to each weight, for people and as JSON.
#pragma once

#include <string>

#include "exporter/quantize/options.h"

namespace tern {

/// A table of the weights, those that stayed with the reason, and the bytes of all.
std::string quantize_text(const QuantizeReport& report);
/// `, "quantized": {...}`, to go into an object.
std::string quantize_json(const QuantizeReport& report);

}  // namespace tern
