#include "tools/annotate.h"

#include <gtest/gtest.h>
#include <tern/error.h>

namespace tern {
namespace {

TEST(Annotate, TypesOfValues) {
  using Value = std::variant<std::int64_t, double, bool, std::string>;
  const std::pair<const char*, Value> cases[] = {{"k=1", std::int64_t{1}},
                                                 {"k=-7", std::int64_t{-7}},
                                                 {"k=0.5", 0.5},
                                                 {"k=1e3", 1000.0},
                                                 {"k=true", true},
                                                 {"k=false", false},
                                                 {"k=high", std::string("high")},
                                                 {"k=\"12\"", std::string("12")},
                                                 {"k=", std::string()},
                                                 {"k=a=b", std::string("a=b")},
                                                 {"k=1x", std::string("1x")},
                                                 {"k=99999999999999999999", 99999999999999999999.0}};
  for (const auto& [text, value] : cases) {
    const Annotation a = parse_annotation(text);
    EXPECT_EQ(a.key, "k");
    EXPECT_EQ(a.value, value) << text;
  }
  EXPECT_THROW(parse_annotation("novalue"), Error);
  EXPECT_THROW(parse_annotation("=1"), Error);
}

Program program() {
  Program p;
  p.origins = {{"aten.linear.default", "encoder.layers.0.fc1", "m.py:1"}, {"aten.relu.default", "decoder", "m.py:2"}};
  p.functions.resize(1);
  p.functions[0].nodes.resize(3);
  p.functions[0].nodes[0].op = Op::matmul;
  p.functions[0].nodes[0].origin = 0;
  p.functions[0].nodes[1].op = Op::pointwise;
  p.functions[0].nodes[1].origin = 1;
  p.functions[0].nodes[2].op = Op::matmul;
  return p;
}

TEST(Annotate, Patterns) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"encoder.*", 1}, {"*fc1", 1}, {"encoder", 0},           {"matmul", 2},      {"aten.*", 2},
      {"decoder", 1},   {"*", 3},    {"aten.re?u.default", 1}, {"[de]*coder*", 2}, {"", 0}};
  for (const auto& [pattern, count] : cases) {
    Program p = program();
    EXPECT_EQ(annotate(p, pattern, parse_annotation("k=1")), count) << pattern;
  }
}

TEST(Annotate, ReplacesTheSameKey) {
  Program p = program();
  annotate(p, "*", parse_annotation("k=1"));
  annotate(p, "decoder", parse_annotation("k=two"));
  annotate(p, "decoder", parse_annotation("other=3"));
  const auto& notes = p.functions[0].nodes[1].annotations;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(std::get<std::string>(notes[0].value), "two");
  EXPECT_EQ(std::get<std::int64_t>(p.functions[0].nodes[0].annotations[0].value), 1);
}

}  // namespace
}  // namespace tern
