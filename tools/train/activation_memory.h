// --activation-memory of `tern export --train`.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/recompute/limit_memory.h"
#include "schema/program.h"

namespace tern {

/// A changed method for computing gradients.
struct LimitedMethod {
  std::string name;
  RecomputeReport report;
};

/// Bytes of "64MB", "1.5GB" or "65536". Fails (invalid_argument) for other text; the message names the `option` and its
/// `other_values`: "--activation-memory", ", or least".
std::uint64_t parse_bytes(const std::string& text, std::string_view option, std::string_view other_values = "");
/// The same; empty for "least".
std::optional<std::uint64_t> parse_activation_memory(const std::string& text);

/// Limits `train_step` or the named steps, and `accumulate` if present, at these sizes; symbols without a size have a
/// typical size.
std::vector<LimitedMethod> limit_activation_memory(Program& program, std::optional<std::uint64_t> bytes,
                                                   const std::map<std::string, std::int64_t>& sizes);

/// A line for each method, for people; and an object with a member for each method.
std::string activation_memory_text(const std::vector<LimitedMethod>& methods);
nlohmann::ordered_json activation_memory_json(const std::vector<LimitedMethod>& methods);

}  // namespace tern
