// Checks calls between functions: no cycles, and bounded size after unfolding.
#include <fmt/format.h>

#include "loader/rules.h"

namespace tern {
namespace {

constexpr std::uint64_t kMaxUnfolded = std::uint64_t{1} << 24;   ///< nodes after inlining all bodies
constexpr std::uint64_t kMaxBodyParts = std::uint64_t{1} << 26;  ///< nodes and values of bodies, per call
constexpr int kMaxCallDepth = 64;                                ///< recursion limit of running and checking

struct BodyCursor {
  std::size_t node = 0, body = 0;
};
struct FunctionVisit {
  enum { unvisited, open, finished } mark = unvisited;
  std::uint64_t unfolded = 0;
  int depth = 1;
};

}  // namespace

void check_calls(const Checked& c) {
  const std::vector<Function>& functions = c.program.functions;
  std::vector<FunctionVisit> visits(functions.size());
  std::vector<std::pair<std::uint32_t, BodyCursor>> stack;  // depth-first, without recursion
  std::uint64_t body_parts = 0;
  for (std::uint32_t start = 0; start < functions.size(); ++start) {
    if (visits[start].mark != FunctionVisit::unvisited) continue;
    stack.emplace_back(start, BodyCursor{});
    visits[start].mark = FunctionVisit::open;
    while (!stack.empty()) {
      auto& [number, at] = stack.back();
      const Function& f = functions[number];
      FunctionVisit& mine = visits[number];
      while (at.node < f.nodes.size() && at.body >= f.nodes[at.node].functions.size()) {
        ++mine.unfolded;
        at = {at.node + 1, 0};
      }
      if (at.node == f.nodes.size()) {
        mine.mark = FunctionVisit::finished;
        if (mine.unfolded > kMaxUnfolded) {
          return c.function(
              "functions.unfolded", number,
              fmt::format("it has more than {} nodes, including the functions that it runs", kMaxUnfolded));
        }
        if (mine.depth > kMaxCallDepth) {
          return c.function("functions.depth", number,
                            fmt::format("calls of functions are nested more than {} deep", kMaxCallDepth));
        }
        stack.pop_back();
        continue;
      }
      const std::uint32_t body = f.nodes[at.node].functions[at.body];
      FunctionVisit& callee = visits[body];
      if (callee.mark == FunctionVisit::open) {
        return c.node("functions.cycle", number, at.node,
                      fmt::format("function '{}' would run itself", functions[body].name));
      }
      if (callee.mark == FunctionVisit::unvisited) {
        callee.mark = FunctionVisit::open;
        stack.emplace_back(body, BodyCursor{});
        continue;
      }
      mine.unfolded = std::min(mine.unfolded + callee.unfolded, kMaxUnfolded + 1);
      mine.depth = std::max(mine.depth, callee.depth + 1);
      const Function& b = functions[body];
      body_parts += b.nodes.size() + b.values.size() + b.inputs.size() + b.outputs.size();
      if (body_parts > kMaxBodyParts) {
        return c.node("functions.unfolded", number, at.node,
                      fmt::format("the bodies of all nodes have more than {} parts in total", kMaxBodyParts));
      }
      ++at.body;
    }
  }
}

}  // namespace tern
