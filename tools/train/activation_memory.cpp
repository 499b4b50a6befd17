#include "tools/train/activation_memory.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "exporter/training/methods.h"
#include "exporter/training/step_rules.h"
#include "tools/inspect/cost.h"
#include "tools/json_text.h"
#include "tools/text.h"

namespace tern {

namespace {

struct ByteUnit {
  std::string_view name;
  double bytes;
};
constexpr ByteUnit kUnits[] = {{"", 1},     {"B", 1},     {"kB", 1e3},        {"KB", 1e3},        {"MB", 1e6},
                               {"GB", 1e9}, {"TB", 1e12}, {"KiB", 1LL << 10}, {"MiB", 1LL << 20}, {"GiB", 1LL << 30}};

}  // namespace

std::uint64_t parse_bytes(const std::string& text, std::string_view option, std::string_view other_values) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  for (const ByteUnit& unit : kUnits) {
    if (error == std::errc() && std::string_view(stop, end) == unit.name && number > 0 && number * unit.bytes < 1e18)
      return static_cast<std::uint64_t>(number * unit.bytes);
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("{} takes bytes such as 512MB or 1.5GB{}, not '{}'", option, other_values, escape_name(text)));
}

std::optional<std::uint64_t> parse_activation_memory(const std::string& text) {
  if (text == "least") return {};
  return parse_bytes(text, "--activation-memory", ", or least");
}

std::vector<LimitedMethod> limit_activation_memory(Program& program, std::optional<std::uint64_t> bytes,
                                                   const std::map<std::string, std::int64_t>& sizes) {
  MemoryLimit limit{bytes, typical_sizes(program, sizes), {}};
  limit.measure = [&](const Program& p, std::uint32_t function) { return arena_of(p, function, limit.sizes); };
  std::vector<LimitedMethod> methods;
  std::vector<std::string> names = step_names(program);
  names.emplace_back(training::kTrainStep);
  const std::size_t step_count = names.size();
  for (std::size_t i = 0; i < step_count; ++i)
    names.push_back(training::method_of_step(training::kAccumulate, names[i]));
  for (const std::string& name : names) {
    const int function = program.find_entry(name);
    if (function < 0) continue;
    methods.push_back({name, limit_memory(program, static_cast<std::uint32_t>(function), limit)});
  }
  return methods;
}

std::string activation_memory_text(const std::vector<LimitedMethod>& methods) {
  std::string text;
  for (const auto& [name, r] : methods) {
    text +=
        r.nodes == 0 && r.bytes_before == r.bytes_after
            ? fmt::format("{}: {} of intermediate values\n", name, human_bytes(r.bytes_after))
            : fmt::format("{}: {} of intermediate values instead of {}; {} nodes run again, about {:.0f} % more work\n",
                          name, human_bytes(r.bytes_after), human_bytes(r.bytes_before), r.nodes, (r.cost - 1) * 100);
  }
  return text;
}

nlohmann::ordered_json activation_memory_json(const std::vector<LimitedMethod>& methods) {
  nlohmann::ordered_json j;
  for (const auto& [name, r] : methods) {
    j[name] = {{"bytes", r.bytes_after},
               {"bytes_before", r.bytes_before},
               {"repeated_nodes", r.nodes},
               {"work", json_rounded(r.cost, 4)}};
  }
  return j;
}

}  // namespace tern
