// The symbolic sizes of a .pt2 file: its symbols with their ranges, and expressions of them as sizes of the program.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "exporter/import/sym_expr.h"
#include "exporter/pt2/model.h"
#include "schema/program.h"

namespace tern::importing {

class Symbols {
 public:
  /// Declares every symbol that has a range before any expression is built. The prefix keeps apart the symbols of the
  /// models of one file.
  Symbols(ExprPool& pool, const std::vector<pt2::RangeConstraint>& ranges, std::string prefix = {});

  ExprPool& pool() { return pool_; }
  /// Throws unsupported, naming the expression, when it needs more than integers.
  Dim dim(const pt2::SymInt& size);
  /// False when the text is no expression of integers.
  bool try_dim(const std::string& srepr, Dim* out);
  /// A symbol that stands for this number from now on.
  void pin(const std::string& name, std::int64_t value) { pinned_.emplace(name, value); }
  /// Sizes that cannot be expressed are errors.
  TensorType type(const pt2::TensorMeta& meta);
  /// As type, but a size that cannot be expressed becomes a fresh symbol: what was recorded of a result is a hint only.
  TensorType hint(const pt2::TensorMeta& meta);
  /// Throws unsupported when an expression that was made since the last call is nested deeper than archives may have
  /// it.
  void require_shallow();

 private:
  Dim symbol(const pt2::SymNode& node);
  bool convert(const std::string& srepr, Dim* out, std::string* why);

  ExprPool& pool_;
  std::string prefix_;
  std::unordered_map<std::string, std::int64_t> pinned_;
  std::unordered_map<std::string, Dim> cache_;  ///< by srepr: the same few sizes recur on every node
  std::vector<std::uint32_t> depths_;           ///< by node of the pool
};

}  // namespace tern::importing
