// Options and report of `tern export --quantize`.
#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "exporter/passes/quantize/format.h"

namespace tern {

/// A format for the weights of nodes that a pattern (schema/node_pattern.h) matches; of all nodes where it is empty.
struct QuantizeRule {
  quantize::Recipe recipe;
  std::string pattern;
};

/// Format of one weight, which overrides the rules. A weight without a format stays as it is, for this reason.
struct QuantizeChoice {
  quantize::Recipe recipe;
  std::string reason;
};
/// Choices by the name of the weight's first state.
using QuantizeChoices = std::map<std::string, QuantizeChoice>;

struct SampleData;  // exporter/passes/quantize/sample_data.h

/// A node of the program before it was quantized.
struct WeightReader {
  std::uint32_t function = 0, node = 0;
};

struct QuantizedWeight {
  std::string name, module;  ///< name of the state, and module of the first node that reads it
  std::string source;        ///< the state of floats: as in QuantizeChoices. Its parts are several weights
  std::vector<WeightReader> readers;
  quantize::Recipe recipe;
  std::string format;
  std::int64_t rows = 0, columns = 0;
  double sqnr = 0;                                  ///< decibels
  double cosine = 0;                                ///< between the weight and its quantized value
  std::uint64_t bytes_before = 0, bytes_after = 0;  ///< bytes
};

/// A weight of floats that was left as it is.
struct UnquantizedWeight {
  std::string name;
  std::string reason;
  std::uint64_t bytes = 0;
};

struct QuantizeReport {
  std::vector<QuantizedWeight> weights;
  std::vector<UnquantizedWeight> unquantized;

  /// Sum over the quantized weights.
  std::uint64_t bytes_before() const {
    return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const QuantizedWeight& w) { return sum + w.bytes_before; });
  }
  std::uint64_t bytes_after() const {
    return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const QuantizedWeight& w) { return sum + w.bytes_after; });
  }
};

}  // namespace tern
