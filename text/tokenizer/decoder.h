// Decoders: changes of the texts of tokens before they are joined.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tern::text {

/// Immutable; threads may share it.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

/// Decoder of the JSON object; null without one.
std::unique_ptr<Decoder> make_decoder(const nlohmann::json& j, int depth = 0);

}  // namespace tern::text
