// A guard between sizes: the parser rejects the string, or makes an expression with a value or none for any sizes.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/import/sym_expr.h"
#include "exporter/pt2/guard.h"
#include "schema/work.h"

namespace {

using namespace tern;

constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 7, 64, 1 << 20, -5};

void attempt(std::string_view text) {
  const WorkBudget budget(1 << 24);
  const pt2::Guard guard = pt2::parse_guard(
      text, [](const std::vector<std::string>& path) { return path.empty() ? std::string() : path.back(); });
  for (const pt2::SymNode& n : guard.expr.nodes) {
    if (n.op == pt2::SymOp::symbol && static_cast<std::size_t>(n.value) >= guard.sources.size()) std::abort();
  }
  ExprPool pool;
  Dims sources;
  for (std::size_t i = 0; i < guard.sources.size(); ++i)
    sources.push_back(pool.symbol("s" + std::to_string(i), -kNoBound, kNoBound));
  Dim condition;
  std::string why;
  const auto source = [&](const pt2::SymNode& n) { return sources[static_cast<std::size_t>(n.value)]; };
  if (!importing::to_dim(pool, guard.expr, source, &condition, &why, importing::Quotients::doubles)) return;
  pool.text(condition);
  std::vector<std::int64_t> values(pool.nodes().size());
  for (const std::int64_t size : kSizes) {
    evaluate(pool.nodes(), std::vector<std::int64_t>(sources.size(), size), values);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    attempt({reinterpret_cast<const char*>(data), size});
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) std::abort();
  }
  return 0;
}
