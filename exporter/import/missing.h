// Collects the operators that cannot be imported, so that one message names them all.
#pragma once

#include <string>

#include "exporter/importer.h"

namespace tern::importing {

class Missing {
 public:
  void add(const pt2::Node& node, const std::string& reason = {});
  bool any() const { return !ops_.empty(); }
  const std::vector<MissingOp>& ops() const { return ops_; }
  /// Throws unsupported, naming every one, when there are any.
  void check() const;

 private:
  std::vector<MissingOp> ops_;
};

}  // namespace tern::importing
