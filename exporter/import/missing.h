// Collects unsupported operators and guards, to name all of them in one message.
#pragma once

#include <string>
#include <vector>

#include "exporter/importer.h"

namespace tern::importing {

class Missing {
 public:
  void add(const pt2::Node& node, const std::string& reason = {});
  /// Size relation assumed by the program, in the file's text.
  void add_guard(const std::string& text, const std::string& reason) { guards_.push_back({text, reason}); }
  bool has_ops() const { return !ops_.empty(); }
  const std::vector<MissingOp>& ops() const { return ops_; }
  /// Throws unsupported, naming every collected operator and guard, unless the list is empty.
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
