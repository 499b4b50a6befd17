// Collects the operators and guards that cannot be imported, so that one message names them all.
#pragma once

#include <string>
#include <vector>

#include "exporter/importer.h"

namespace tern::importing {

class Missing {
 public:
  void add(const pt2::Node& node, const std::string& reason = {});
  /// A relation between sizes that the program assumes, as the file has it.
  void add_guard(const std::string& text, const std::string& reason) { guards_.push_back({text, reason}); }
  bool any() const { return !ops_.empty(); }
  const std::vector<MissingOp>& ops() const { return ops_; }
  /// Throws unsupported, naming every one, when there are any.
  void check() const;
  /// Throws unsupported, naming every guard; guards become warnings instead if `accept`.
  void check_guards(bool accept, std::vector<std::string>* warnings) const;

 private:
  struct Guard {
    std::string text, reason;
  };
  std::vector<MissingOp> ops_;
  std::vector<Guard> guards_;
};

}  // namespace tern::importing
