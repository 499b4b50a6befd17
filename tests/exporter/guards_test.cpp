// Guards: values as in Python, rejected expressions, and the nodes made from guards.
#include <gtest/gtest.h>
#include <tern/tern.h>

#include <string>
#include <vector>

#include "exporter/import/sym_expr.h"
#include "exporter/pt2/guard.h"
#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

std::string dotted(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& key : path) text += (text.empty() ? "" : ".") + key;
  return text;
}
pt2::Guard parsed(std::string_view text) {
  return pt2::parse_guard(text, dotted);
}
std::string guard_error(std::string_view text) {
  return error_of([&] { parsed(text); });
}

/// The guard's value for these numbers as sources, in order; kUndefined if Python raises.
std::int64_t value_of(std::string_view text, const std::vector<std::int64_t>& numbers) {
  ExprPool pool;
  const pt2::Guard guard = parsed(text);
  Dims sources;
  for (std::size_t i = 0; i < guard.sources.size(); ++i)
    sources.push_back(pool.symbol("s" + std::to_string(i), -kNoBound, kNoBound));
  Dim d;
  std::string why;
  const auto source = [&](const pt2::SymNode& n) { return sources[static_cast<std::size_t>(n.value)]; };
  if (!importing::to_dim(pool, guard.expr, source, &d, &why, importing::Quotients::doubles)) {
    ADD_FAILURE() << text << ": " << why;
    return -1;
  }
  if (d.is_const()) return d.value();
  std::vector<std::int64_t> values(pool.nodes().size());
  evaluate(pool.nodes(), numbers, values);
  return values[d.index()];
}

TEST(Guards, ReadsSourcesAndWritesThemForPeople) {
  const pt2::Guard g = parsed("L['d']['a'][0].size()[1] > 2*L['x'].stride()[0] + L['d']['a'][0].size()[1]");
  ASSERT_EQ(g.sources.size(), 2u);
  EXPECT_EQ(g.sources[0].path, (std::vector<std::string>{"d", "a", "0"}));
  EXPECT_EQ(g.sources[0].property, pt2::GuardSource::Property::size);
  EXPECT_EQ(g.sources[0].axis, 1);
  EXPECT_EQ(g.sources[1].property, pt2::GuardSource::Property::stride);
  EXPECT_EQ(g.text, "d.a.0.shape[1] > 2*x.stride(0) + d.a.0.shape[1]");
  EXPECT_EQ(parsed("L['p'].left.size()[0] == L[\"q\"].storage_offset()").text, "p.left.shape[0] == q.storage_offset()");
  EXPECT_EQ(parsed("L['n'] != 1 and 2 <= L['n']").text, "n != 1 and 2 <= n");
  EXPECT_EQ(parsed("torch.sym_max(3, L['n']) > math.trunc(0.5*torch.sym_float(L['n']))").text,
            "max(3, n) > int(0.5*float(n))");
}

struct Truth {
  const char* text;
  std::vector<std::int64_t> numbers;
  std::int64_t value;  ///< computed by CPython 3.11
};

TEST(Guards, ComputesWhatPythonComputes) {
  const Truth cases[] = {
      {"L['a'] > L['b']", {7, 3}, 1},
      {"L['a'] - 2*L['b'] <= -L['a'] + 1", {3, 2}, 0},
      {"1 < L['a'] < 5 != L['b']", {3, 4}, 1},
      {"1 < L['a'] < 5 != L['b']", {3, 5}, 0},
      {"not (L['a'] == 3 or L['b'] == 4) and True", {2, 5}, 1},
      {"((-20) + L['a']) % L['b']", {7, 3}, 2},
      {"(L['a'] - 20) // L['b']", {7, 3}, -5},
      {"-2**2 + 2**-L['a']*0 == -4", {3}, 1},
      {"2 ** 3 ** 2 == 512", {}, 1},
      {"L['a'] & (-1) + L['a']", {12}, 8},
      {"L['a'] | L['b'] ^ 3 & 6 << 1", {8, 5}, 13},
      {"abs(L['a'] - L['b'])", {3, 9}, 6},
      {"0.7*torch.sym_float(L['a']) == 7.0", {10}, 1},
      {"math.floor(0.7*torch.sym_float(L['a']))", {10}, 7},
      {"0.1*torch.sym_float(L['a']) == 0.3", {3}, 0},
      {"math.trunc(L['a'] / L['b'])", {-7, 2}, -3},
      {"math.floor(L['a'] / L['b'])", {-7, 2}, -4},
      {"math.ceil(L['a'] / L['b'])", {-7, 2}, -3},
      {"round(L['a'] / 2)", {5}, 2},
      {"round(L['a'] / 2)", {7}, 4},
      {"round(((torch.sym_float(L['a'])) / 3.0), 1) == 2.3", {7}, 1},
      {"round(2.675 * torch.sym_float(L['a']), 2) == 2.67", {1}, 1},
      {"torch.sym_float(L['a']) ** 0.5 > 2.9", {9}, 1},
      {"torch._sym_sqrt(torch.sym_float(L['a'])) == 3.0", {9}, 1},
      {"math.log2(L['a']) == 3.0", {8}, 1},
      {"torch.sym_float(L['a']) < math.inf", {8}, 1},
      {"torch.sym_max(L['a'], torch.sym_min(L['b'], 4))", {2, 9}, 4},
      {"torch.sym_max(L['a'], 2.5) == 2.5", {2}, 1},
      {"(L['a'] if L['a'] > L['b'] else 2*L['b'])", {3, 5}, 10},
      {"Ne(L['a'], 3)", {3}, 0},
      {"Max(L['a'], 3) == 3 and PythonMod(-L['a'], 4) == 2", {2}, 1},
      {"Eq(Mod(L['a'], 4), 2) or Ge(FloorDiv(L['a'], 2), 9)", {18}, 1},
      {"L['a'] == 0 or L['b'] % L['a'] == 0", {0, 4}, 1},
      {"L['a'] != 0 and L['b'] % L['a'] == 0", {0, 4}, 0},
      {"L['b'] % L['a'] == 0", {4, 0}, kUndefined},
      {"1.0 / torch.sym_float(L['a']) > 0.0", {0}, kUndefined},
      {"L['a']*L['a']*L['a'] > 0", {3000000000}, kUndefined},
  };
  for (const Truth& c : cases) EXPECT_EQ(value_of(c.text, c.numbers), c.value) << c.text;
}

TEST(Guards, RefusesOtherTexts) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected a value"},
           {"L['x'].size()[0] >", "expected a value"},
           {"L['x'].size()[-1] > 2", "expected an axis"},
           {"L['x'].device() == 2", "only has size(), stride() and storage_offset()"},
           {"L['x", "a string is not closed"},
           {"frobnicate(L['x'])", "unknown function 'frobnicate'"},
           {"L['x'] > 2 garbage", "expected the end"},
           {"y > 2", "unknown name 'y'"},
           {"99999999999999999999 > L['n']", "does not fit in 64 bits"},
           {"torch.sym_ite(L['n'], 2) > 1", "has 2 arguments"},
           {std::string(3000, '(') + "1" + std::string(3000, ')'), "nested deeper"},
           {std::string(3000, '-') + "1", "nested deeper"},
           {"not " + std::string(12000, ' ') + "frobnicate(1)", "unknown function"},
       }) {
    EXPECT_NE(guard_error(text).find(part), std::string::npos) << text.substr(0, 60) << ": " << guard_error(text);
  }
}

/// x of [s7, s8], with these guards.
TracedModel model_of(const std::vector<std::string>& guards) {
  TracedModel m;
  m.range("s7", 2, 100);
  m.range("s8", 2, 100);
  m.user("x", meta_of({size(symbol("s7")), size(symbol("s8"))}));
  m.node("torch.ops.aten.neg.default", {{"self", tensor("x")}},
         {{"y", meta_of({size(symbol("s7")), size(symbol("s8"))})}});
  m.result("y");
  m.model()["guards_code"] = guards;
  return m;
}

std::vector<std::string> assumed_relations(const Program& p) {
  std::vector<std::string> texts;
  for (const Node& n : p.functions[0].nodes) {
    if (n.op == Op::assert_dim) texts.push_back(n.text(AttrKey::text));
  }
  return texts;
}

std::string run_error(const Program& program, std::vector<std::int64_t> sizes) {
  return error_of([&] {
    const Model model(std::make_shared<const Program>(program));
    Session session(model.prepare());
    session.run({Tensor(DType::f32, std::move(sizes))});
  });
}

TEST(Guards, ArePartOfTheProgram) {
  TracedModel m =
      model_of({"L['x'].size()[0] > L['x'].size()[1]", "L['x'].size()[0] > L['x'].size()[1]", "L['x'].size()[0] >= 0"});
  Program p = m.load();
  EXPECT_EQ(assumed_relations(p), std::vector<std::string>{"x.shape[0] > x.shape[1]"})
      << "once, and without what the ranges imply";
  EXPECT_EQ(run_error(p, {7, 3}), "");
  EXPECT_EQ(
      run_error(p, {3, 5}),
      "(code 2) x.shape[0] > x.shape[1], which the program assumes, does not hold: x.shape[0] is 3, x.shape[1] is 5");
}

TEST(Guards, WithoutAValueDoNotHold) {
  TracedModel m = model_of({"L['x'].size()[0] % (L['x'].size()[1] - 3) == 0"});
  const Program p = m.load();
  EXPECT_EQ(run_error(p, {4, 5}), "");
  EXPECT_NE(run_error(p, {4, 3}).find("does not hold: x.shape[0] is 4, x.shape[1] is 3"), std::string::npos);
}

TEST(Guards, ThatCannotBeCheckedAreRefusedOrAccepted) {
  TracedModel m = model_of({"L['z'].size()[0] > 2", "mystery(L['x'].size()[0])", "L['x'].size()[0] != 9"});
  const std::string error = error_of([&] { m.load(); });
  EXPECT_NE(error.find("2 relations that the program assumes of its inputs cannot be checked"), std::string::npos)
      << error;
  EXPECT_NE(error.find("z is not an input of the program"), std::string::npos) << error;
  EXPECT_NE(error.find("--unchecked-guards"), std::string::npos) << error;
  ImportOptions options;
  options.unchecked_guards = true;
  EXPECT_EQ(assumed_relations(m.load(options)), std::vector<std::string>{"x.shape[0] != 9"});
}

}  // namespace
}  // namespace tern::testing
