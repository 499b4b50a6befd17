#include "tools/names.h"

#include <gtest/gtest.h>

#include "tests/tools/support.h"
#include "tools/exit_codes.h"
#include "tools/name_sizes.h"
#include "tools/option_text.h"
#include "tools/relations.h"
#include "tools/sizes.h"

namespace tern {
namespace {

using test::error_of;

Program sized_program() {
  Program p;
  const Dim s77 = p.pool.symbol("s77", 2, 512), u0 = p.pool.symbol("u0", 0);
  Function& f = p.functions.emplace_back();
  f.name = "forward";
  f.entry = true;
  f.values.push_back({{DType::f32, {p.pool.add(p.pool.mul(s77, 2), 1), 3}}, "x"});
  f.values.push_back({{DType::f32, {u0}}, "y"});
  f.inputs = {{FunctionInput::Kind::user, 0, 0, "x", {}}};
  return p;
}

TEST(Names, Distance) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);  // the textbook's
  EXPECT_EQ(edit_distance("exprot", "export"), 1u);   // neighbours swapped
  EXPECT_EQ(edit_distance(std::string(100000, 'a'), std::string(100000, 'a') + "b"), 0u);
}

TEST(Names, NearestFirst) {
  EXPECT_EQ(unknown_name("input", "imges", {"mask", "images"}),
            "there is no input 'imges'; did you mean 'images'? The inputs are: images, mask");
  EXPECT_EQ(unknown_name("input", "x", {"tokens"}), "there is no input 'x'. The inputs are: tokens");
  EXPECT_EQ(unknown_name("size", "x", {}), "there is no size 'x'; there are no sizes");
  EXPECT_EQ(near_miss("vali", {"validate", "version"}), "validate");
  EXPECT_EQ(near_miss("zzz", {"run", "ops"}), "");
  EXPECT_NE(unknown_name("size", "x", std::vector<std::string>(30, "abc")).find("and 10 more"), std::string::npos);
}

TEST(Names, SizesOfInputs) {
  const Program p = sized_program();
  EXPECT_EQ(size_names(p), (std::vector<std::string>{"s77", "u0"}));
  const auto of_inputs = size_names(p, p.functions[0]);
  EXPECT_EQ(of_inputs, std::vector<std::string>{"s77"});
  EXPECT_EQ(parse_sizes({"s77=4", "s77=5"}, p, of_inputs).at("s77"), (std::vector<std::int64_t>{4, 5}));
  for (const auto& [text, part] :
       std::vector<std::pair<std::string, std::string>>{{"s7=4", "did you mean 's77'?"},
                                                        {"u0=4", "sizes are: s77"},
                                                        {"s77", "NAME=NUMBER"},
                                                        {"s77=", "whole number"},
                                                        {"s77=-1", "whole number"},
                                                        {"s77=99999999999999999999", "whole"},
                                                        {"s77=1", "s77 from 2 to 512"},
                                                        {"s77=513", "s77 from 2 to 512"}}) {
    const std::string error = error_of([&] { parse_sizes({text}, p, of_inputs); }, ErrorCode::invalid_argument);
    EXPECT_NE(error.find(part), std::string::npos) << text << ": " << error;
  }
  const std::vector<std::int64_t> values = evaluate_sizes(p, {{"s77", 4}});
  EXPECT_EQ(values[p.functions[0].values[0].type.shape[0].index()], 9);
}

TEST(Names, NameSizes) {
  Program p = sized_program();
  name_sizes(p, {"s77=u0_", "u0=s77"});  // at once
  EXPECT_EQ(size_names(p), (std::vector<std::string>{"u0_", "s77"}));
  EXPECT_EQ(p.pool.text(p.functions[0].values[0].type.shape[0]), "2*u0_ + 1");
  for (const char* text : {"s77", "s77=", "s77=1a", "s77=a-b", "s77=a b", "none=a", "s77=u0_", "=a"}) {
    Program q = sized_program();
    name_sizes(q, {"u0=u0_"});
    const std::string error = error_of([&] { name_sizes(q, {text}); }, ErrorCode::invalid_argument);
    EXPECT_NE(error.find("--name-size"), std::string::npos) << text << ": " << error;
  }
}

TEST(Names, NameSizesInRelations) {
  Program p = sized_program();
  const Dim s77 = p.pool.symbol("s77"), u0 = p.pool.symbol("u0");
  Node n;
  n.op = Op::assert_dim;
  n.set(AttrKey::dim, Dims{p.pool.lt(u0, s77)});
  n.set(AttrKey::text, std::string("x.shape[1] > y.shape[1] + xx.shape[1]*2"));
  n.set(AttrKey::sizes, Dims{s77, u0, p.pool.add(s77, 1)});
  n.set(AttrKey::name, std::string("x.shape[1]\ny.shape[1]\nxx.shape[1]"));
  p.functions[0].nodes.push_back(n);
  name_sizes(p, {"s77=width"});
  EXPECT_EQ(p.functions[0].nodes[0].text(AttrKey::text), "width > y.shape[1] + xx.shape[1]*2");
  EXPECT_EQ(p.functions[0].nodes[0].text(AttrKey::name), "width\ny.shape[1]\nxx.shape[1]");
}

TEST(Names, RelationsToLeaveOut) {
  const auto program = [] {
    Program p = sized_program();
    for (const char* text : {"k != 1", "k*x.shape[0] >= 2", "k <= x.shape[0]"}) {
      Node n;
      n.op = Op::assert_dim;
      n.set(AttrKey::dim, Dims{1});
      n.set(AttrKey::text, std::string(text));
      n.set(AttrKey::sizes, Dims{});
      p.functions[0].nodes.push_back(n);
    }
    return p;
  };
  Program p = program();
  leave_out_relations(p, {"k != 1", "k*x.shape[0] >= 2"});
  ASSERT_EQ(p.functions[0].nodes.size(), 1u);
  EXPECT_EQ(p.functions[0].nodes[0].text(AttrKey::text), "k <= x.shape[0]");
  p = program();
  leave_out_relations(p, {"k*"});
  EXPECT_TRUE(p.functions[0].nodes.empty());
  p = program();
  const std::string error = error_of([&] { leave_out_relations(p, {"k != 2"}); }, ErrorCode::invalid_argument);
  EXPECT_NE(error.find("there is no relation 'k != 2'; did you mean 'k != 1'?"), std::string::npos) << error;
}

TEST(Names, WorseExit) {
  EXPECT_EQ(worse_exit(0, 5), 5);
  EXPECT_EQ(worse_exit(5, 1), 1);  // broken is worse than not supported
  EXPECT_EQ(worse_exit(3, 1), 3);  // not checked is worse than broken
  EXPECT_EQ(worse_exit(8, 3), 8);
}

TEST(Names, Wrapped) {
  EXPECT_EQ(wrapped("one two three", 2, 9), "one two\n  three");
  EXPECT_EQ(wrapped("a\n  kept   as it is\nb", 0, 5), "a\n  kept   as it is\nb");
}

}  // namespace
}  // namespace tern
