// The numbers of a weight: statistics, a histogram, and what quantization does to them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "exporter/passes/quantize/uses.h"
#include "schema/program.h"

namespace tern::view {

/// Elements of the state. At most kMostElements are looked at.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

/// How a program reads its weights: quantize::weights_of.
using WeightReads = std::map<std::uint32_t, quantize::Weight>;

/// {"count", "not_finite", "zeros", "min", "max", "mean", "deviation", "low", "high", "bins": [...]} of a state's
/// initial value; of quantized ones, of the numbers that they stand for. Bins divide [low, high] evenly. For floats
/// that products can have in a format of `tern export --quantize`, "formats": [{"format", "bytes", "sqnr_db",
/// "cosine"}] of the matrix that it would make. Decibels may be "exact" or, with numbers that are not finite, null. Or
/// {"problem": why not}.
nlohmann::json weight_json(const Program& program, std::uint32_t state);
nlohmann::json weight_json(const Program& program, std::uint32_t state, const WeightReads& reads);

/// {"sqnr_db", "cosine", "largest_error", "equal": by bytes, where the types are the same} of the second against the
/// first, or {"problem": why not}.
nlohmann::json compared_json(const Program& a, std::uint32_t state, const Program& b, std::uint32_t other);

}  // namespace tern::view
