// Metaspace: a visible character in the place of spaces.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tern::text {

struct Metaspace {
  enum class Prepend { always, first, never };
  std::string replacement;
  Prepend prepend = Prepend::always;
  bool splits = true;
  explicit Metaspace(const nlohmann::json& j);
};

}  // namespace tern::text
