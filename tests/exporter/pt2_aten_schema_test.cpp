#include <gtest/gtest.h>

#include <set>

#include "exporter/pt2/aten_schema.h"
#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

using Base = SchemaType::Base;
using ArgumentKind = Argument::Kind;

// Commas outside parentheses, brackets and quotes.
std::size_t top_level_commas(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (quoted)
      continue;
    else if (text[i] == '(' || text[i] == '[')
      ++depth;
    else if (text[i] == ')' || text[i] == ']')
      --depth;
    else if (text[i] == ',' && depth == 0)
      ++count;
  }
  return count;
}

TEST(Pt2AtenSchema, ReadsEveryLine) {
  EXPECT_GT(schema_lines().size(), 4000u);
  for (const auto line : schema_lines()) {
    const Schema schema = parse_schema(line);
    EXPECT_EQ(schema.text, line);
    const auto arrow = line.rfind(") -> ");
    const auto inside = line.substr(schema.name.size() + 1, arrow - schema.name.size() - 1);
    std::size_t parts = inside.empty() ? 0 : top_level_commas(inside) + 1;
    if (inside.find("*, ") == 0 || inside.find(", *, ") != std::string_view::npos) --parts;
    EXPECT_EQ(schema.arguments.size() + (schema.is_vararg ? 1 : 0), parts) << line;
    std::set<std::string_view> names;
    for (const auto& argument : schema.arguments) EXPECT_TRUE(names.insert(argument.name).second) << line;
  }
}

TEST(Pt2AtenSchema, KnowsDefaults) {
  const Schema* conv = find_schema("aten::conv2d");
  ASSERT_NE(conv, nullptr);
  ASSERT_EQ(conv->arguments.size(), 7u);
  const SchemaArgument& bias = conv->arguments[2];
  EXPECT_EQ(bias.name, "bias");
  EXPECT_TRUE(bias.type.optional);
  EXPECT_TRUE(bias.has_default);
  EXPECT_TRUE(bias.default_value.is_none());
  const SchemaArgument* stride = conv->find("stride");
  EXPECT_EQ(stride->type.base, Base::sym_int);
  EXPECT_EQ(stride->type.list_size, 2);
  EXPECT_EQ(stride->default_value.ints, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(conv->find("groups")->default_value.integer, 1);
  EXPECT_FALSE(conv->find("weight")->has_default);
  EXPECT_EQ(conv->find("nothing"), nullptr);

  const SchemaArgument* alpha = find_schema("aten::add.Tensor")->find("alpha");
  EXPECT_TRUE(alpha->kwarg_only);
  EXPECT_EQ(alpha->type.base, Base::number);
  EXPECT_EQ(alpha->default_value.kind, ArgumentKind::integer);
  EXPECT_EQ(alpha->default_value.integer, 1);
  const SchemaArgument* eps = find_schema("aten::layer_norm")->find("eps");
  EXPECT_EQ(eps->default_value.kind, ArgumentKind::real);
  EXPECT_EQ(eps->default_value.real, 1e-5);
  EXPECT_EQ(find_schema("aten::gelu")->find("approximate")->default_value.text, "none");
  EXPECT_EQ(find_schema("aten::sum.dim_IntList")->find("keepdim")->default_value.kind, ArgumentKind::boolean);
  EXPECT_FALSE(find_schema("aten::sum.dim_IntList")->find("keepdim")->default_value.boolean);
  EXPECT_TRUE(find_schema("aten::var")->find("unbiased")->default_value.boolean);
  // A float parameter with an integer default.
  EXPECT_EQ(find_schema("aten::pairwise_distance")->find("p")->default_value.kind, ArgumentKind::real);
}

// c10 numbers dtypes from 0 (uint8); the file's enum from 1.
TEST(Pt2AtenSchema, TranslatesNumbersOfDtypes) {
  const Argument& dtype = find_schema("aten::randint")->find("dtype")->default_value;
  EXPECT_EQ(dtype.kind, ArgumentKind::scalar_type);
  EXPECT_EQ(dtype.dtype(), DType::i64);
}

TEST(Pt2AtenSchema, KnowsAliases) {
  const Schema* add_ = find_schema("aten::add_.Tensor");
  EXPECT_TRUE(add_->mutates());
  EXPECT_TRUE(add_->arguments[0].is_mutated);
  EXPECT_FALSE(add_->arguments[1].is_mutated);
  EXPECT_EQ(add_->returns[0].alias, "a!");
  const Schema* view = find_schema("aten::view");
  EXPECT_FALSE(view->mutates());
  EXPECT_EQ(view->arguments[0].alias, "a");
  EXPECT_EQ(view->returns[0].alias, "a");
  const Schema* chunk = find_schema("aten::chunk");
  EXPECT_EQ(chunk->arguments[0].alias, "a -> *");
  EXPECT_TRUE(chunk->returns[0].type.is_list);
  EXPECT_EQ(chunk->returns[0].type.text, "Tensor[]");
  EXPECT_EQ(chunk->returns[0].alias, "a");
}

TEST(Pt2AtenSchema, KnowsOptionalLists) {
  const SchemaType& indices = find_schema("aten::index.Tensor")->find("indices")->type;
  EXPECT_TRUE(indices.is_list);
  EXPECT_TRUE(indices.element_optional);
  EXPECT_FALSE(indices.optional);
  const SchemaType& dim = find_schema("aten::sum.dim_IntList")->find("dim")->type;
  EXPECT_TRUE(dim.is_list);
  EXPECT_TRUE(dim.optional);
  EXPECT_EQ(dim.list_size, 1);
  EXPECT_EQ(find_schema("aten::max.dim")->returns[1].name, "indices");
  EXPECT_TRUE(find_schema("aten::_assert_scalar")->returns.empty());
}

TEST(Pt2AtenSchema, FindsTheSchemaOfATarget) {
  EXPECT_EQ(schema_name("torch.ops.aten.add.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(schema_name("torch.ops.aten.relu.default"), "aten::relu");
  EXPECT_EQ(schema_name("torch.ops.aten.__and__.Scalar"), "aten::__and__.Scalar");
  EXPECT_EQ(schema_name("torch.ops.mylib.foo.default"), "mylib::foo");
  for (const char* none :
       {"torch.ops.higher_order.cond", "_operator.add", "torch.sym_max", "torch.ops.", "torch.ops.a", "", "#ns:op"})
    EXPECT_EQ(schema_name(none), "") << none;
  EXPECT_EQ(find_schema("aten::no_such_op"), nullptr);
  EXPECT_EQ(find_schema(""), nullptr);
  EXPECT_NE(find_schema("torchvision::nms"), nullptr);
}

TEST(Pt2AtenSchema, ChoosesTheVersionThatTheNodeNames) {
  Node node;
  node.target = "torch.ops.aten._cdist_backward.default";
  for (const char* name : {"grad", "grad_output"}) {
    node.inputs = {{name, {}, {}}};
    ASSERT_NE(find_schema(node), nullptr);
    EXPECT_EQ(find_schema(node)->arguments[0].name, name);
  }
}

TEST(Pt2AtenSchema, RefusesBadLines) {
  for (const char* line :
       {"", "add", "aten::add", "aten::add(", "aten::add(Tensor", "aten::add(Tensor self", "aten::add(Tensor self)",
        "aten::add(Tensor self) -> ", "aten::add(Tensor self) -> Tensor x y", "aten::add(Tensor(a self) -> Tensor",
        "aten::add(int x=1.5) -> Tensor", "aten::add(int x=y) -> Tensor", "aten::add(str x=\"a) -> Tensor",
        "aten::add(int[2 x) -> Tensor", "aten::add(Tensor x=3) -> Tensor", "aten::add(Tensor a,Tensor b) -> Tensor"})
    EXPECT_NE(error_of([&] { parse_schema(line); }).find("operator schema"), std::string::npos) << line;
}

}  // namespace
}  // namespace tern::pt2::test
