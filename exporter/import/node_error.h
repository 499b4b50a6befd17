// Error at a node of the graph, with the node's origin.
#pragma once

#include <fmt/format.h>
#include <tern/error.h>

#include <string>

namespace tern::importing {

class NodeError : public Error {
 public:
  /// `where` follows origins.h.
  NodeError(ErrorCode code, std::string reason_, std::string target_, std::string position_text)
      : Error(code, fmt::format("{} ({}, {})", reason_, target_, position_text)),
        reason(std::move(reason_)),
        target(std::move(target_)),
        where(std::move(position_text)) {}

  std::string reason, target, where;
};

}  // namespace tern::importing
