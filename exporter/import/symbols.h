// Symbolic sizes of a .pt2 file: its symbols with their ranges, and expressions over them as sizes of the program.
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
  /// Declares every symbol with a range before any expression is built. The prefix separates the symbols of a file's
  /// models.
  Symbols(ExprPool& pool, const std::vector<pt2::RangeConstraint>& ranges, std::string prefix = {});

  ExprPool& pool() { return pool_; }
  /// Converts a size. Throws unsupported, naming the expression, if integer arithmetic cannot express the size.
  Dim dim(const pt2::SymInt& size);
  /// Converts a sympy expression (srepr); false unless it is an expression of integers.
  bool try_dim(const std::string& srepr, Dim* result);
  /// Replaces the symbol by this number from now on.
  void pin(const std::string& name, std::int64_t value) { pinned_.emplace(name, value); }
  /// Converts dtype and sizes. Inexpressible sizes are errors.
  TensorType type(const pt2::TensorMeta& meta);
  /// Like type(), but an inexpressible size becomes a fresh symbol: a result's record is only a hint.
  TensorType hint(const pt2::TensorMeta& meta);
  /// Throws unsupported if an expression built since the last call is nested more deeply than archives allow.
  void require_shallow();

 private:
  Dim symbol(const pt2::SymNode& node);
  bool convert(const std::string& srepr, Dim* result, std::string* reason);

  ExprPool& pool_;
  std::string prefix_;
  std::unordered_map<std::string, std::int64_t> pinned_;
  std::unordered_map<std::string, Dim> cache_;  ///< keyed by srepr: the same few sizes recur on every node
  std::vector<std::uint32_t> depths_;           ///< keyed by node of the pool
};

}  // namespace tern::importing
