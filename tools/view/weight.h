// The figures of a weight: statistics, a histogram, and quantization errors.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "exporter/passes/quantize/uses.h"
#include "schema/program.h"

namespace tern::view {

/// Elements of the state; limited to kMaxElements.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 28;

/// The uses of weights in a program: quantize::weights_of.
using WeightReads = std::map<std::uint32_t, quantize::Weight>;

/// {"count", "not_finite", "zeros", "min", "max", "mean", "deviation", "low", "high", "bins": [...]} of a state's
/// initial value; for quantized values, of the dequantized numbers. Bins divide [low, high] evenly. For floats
/// quantizable by `tern export --quantize`, "formats": [{"format", "bytes", "sqnr_db", "cosine"}] of the resulting
/// matrix. Decibels may be "exact" or, with infinite or NaN values, null. Or {"problem": reason}.
nlohmann::json weight_json(const Program& program, std::uint32_t state);
nlohmann::json weight_json(const Program& program, std::uint32_t state, const WeightReads& reads);

/// {"sqnr_db", "cosine", "largest_error", "equal": by bytes, for equal types} of the second against the first, or
/// {"problem": reason}.
nlohmann::json compared_json(const Program& a, std::uint32_t state, const Program& b, std::uint32_t other);

}  // namespace tern::view
