#include "exporter/import/symbols.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "loader/format.h"

namespace tern::importing {

Symbols::Symbols(ExprPool& pool, const std::vector<pt2::RangeConstraint>& ranges, std::string prefix)
    : pool_(pool), prefix_(std::move(prefix)) {
  for (const pt2::RangeConstraint& r : ranges) {
    const auto name = pt2::plain_symbol(r.key);
    if (!name) continue;  // the range of an expression ("s77 + 1") follows from its symbol's range
    // Sizes s* are traced as 2 or more: a range from 2 on adds no information (Dim.AUTO and Dim.DYNAMIC write it).
    // PyTorch checks no lower bound up to 2 at run time, so 0 and 1 are valid.
    const bool is_size = name->starts_with('s');
    std::int64_t min = r.min.value_or(is_size ? 0 : -kNoBound);
    if (is_size) min = min == 2 ? 0 : std::max<std::int64_t>(min, 0);
    const std::int64_t max = r.max.value_or(kNoBound);
    if (min > max) fail(ErrorCode::bad_file, fmt::format("the range of symbol {} is empty: {} to {}", *name, min, max));
    pool_.symbol(prefix_ + std::string(*name), min, max);
  }
}

Dim Symbols::symbol(const pt2::SymNode& node) {
  if (const auto pinned = pinned_.find(node.name); pinned != pinned_.end()) return pinned->second;
  const std::int64_t min = node.positive ? 1 : node.nonnegative ? 0 : -kNoBound;
  return pool_.symbol(prefix_ + node.name, min, kNoBound);  // finds symbols with a declared range
}

bool Symbols::convert(const std::string& srepr, Dim* result, std::string* reason) {
  const auto found = cache_.find(srepr);
  if (found != cache_.end()) {
    *result = found->second;
    return true;
  }
  const pt2::SymExpr expr = pt2::parse_sympy(srepr);
  if (!to_dim(
          pool_, expr, [this](const pt2::SymNode& n) { return symbol(n); }, result, reason)) {
    constexpr std::size_t kMaxShownLength = 200;
    std::string text = pt2::to_text(expr);
    if (text.size() > kMaxShownLength) text.replace(kMaxShownLength, std::string::npos, "...");
    *reason = fmt::format("the size {} needs {}, which size expressions do not support", text, *reason);
    return false;
  }
  require_shallow();
  cache_.emplace(srepr, *result);
  return true;
}

void Symbols::require_shallow() {
  const std::vector<ExprNode>& nodes = pool_.nodes();
  while (depths_.size() < nodes.size()) {
    const ExprNode& n = nodes[depths_.size()];
    const std::uint32_t operands[] = {n.a, n.b, n.c};
    std::uint32_t depth = 1;
    for (int k = 0; k < operand_count(n.op); ++k) depth = std::max(depth, depths_[operands[k]] + 1);
    depths_.push_back(depth);
    if (depth <= kMaxExpressionDepth) continue;
    fail(ErrorCode::unsupported, fmt::format("a size expression is nested more than {} levels deep; compute it in "
                                             "fewer steps, or export with a fixed size",
                                             kMaxExpressionDepth));
  }
}

Dim Symbols::dim(const pt2::SymInt& size) {
  if (size.is_literal()) return size.value;
  Dim result;
  std::string reason;
  if (!convert(size.expr, &result, &reason)) fail(ErrorCode::unsupported, reason);
  return result;
}

bool Symbols::try_dim(const std::string& srepr, Dim* result) {
  std::string reason;
  return !srepr.empty() && convert(srepr, result, &reason);
}

TensorType Symbols::type(const pt2::TensorMeta& meta) {
  TensorType type{meta.dtype, {}};
  if (meta.dtype == DType::invalid) {
    fail(ErrorCode::unsupported, fmt::format("unknown scalar type {}", meta.scalar_type));
  }
  if (meta.sizes.size() > kMaxRank) {
    fail(ErrorCode::unsupported,
         fmt::format("a tensor has rank {}; at most {} is supported", meta.sizes.size(), kMaxRank));
  }
  for (const pt2::SymInt& s : meta.sizes) {
    type.shape.push_back(dim(s));
    if (pool_.bounds(type.shape.back()).max < 0) fail(ErrorCode::bad_file, "a size is negative");
  }
  return type;
}

TensorType Symbols::hint(const pt2::TensorMeta& meta) {
  TensorType type{meta.dtype, {}};
  for (const pt2::SymInt& s : meta.sizes) {
    Dim size = s.value;
    if (!s.is_literal() && !try_dim(s.expr, &size)) size = pool_.new_symbol("size", 0, kNoBound);
    type.shape.push_back(size);
  }
  return type;
}

}  // namespace tern::importing
