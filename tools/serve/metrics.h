// Metrics of a server in Prometheus' text format.
#pragma once

#include <tern/text_embedder.h>
#include <tern/text_engine.h>

#include <cstdint>
#include <map>
#include <string>

namespace tern::serve {

std::string metrics_text(const TextEngineStats& stats, std::int64_t slots);
std::string metrics_text(const TextEmbedderStats& stats);
/// `statuses`: number of HTTP replies by status.
std::string metrics_text(const std::map<int, std::uint64_t>& statuses);

}  // namespace tern::serve
