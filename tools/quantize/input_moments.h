// Moments of the numbers that quantizable weights multiply, from example inputs.
#pragma once

#include "exporter/passes/quantize/sample_data.h"
#include "tools/quantize/float_program.h"
#include "tools/quantize/layers.h"
#include "tools/verify/results.h"

namespace tern {

/// Mean square of the numbers that each column of a weight multiplies, by part. Parts whose readers stand in other
/// functions or in bodies, and parts of embeddings alone, have none. One run of each sample.
std::map<WeightPart, std::vector<float>> measure_importance(const FloatProgram& program, const Calls& calls);

/// Quantizes the parts of `choices` whose rule is ScaleRule::gptq with error feedback. Second moments of at most
/// kMaxMomentBytes are in memory at once: larger programs run the samples several times, each time up to the last
/// node that is needed.
inline constexpr std::uint64_t kMaxMomentBytes = std::uint64_t{1} << 30;
std::map<WeightPart, EncodedPart> encode_with_feedback(const FloatProgram& program, const QuantizeChoices& choices,
                                                       const Calls& calls, const OnStep& on_step,
                                                       std::uint64_t max_bytes = kMaxMomentBytes);

}  // namespace tern
