// Operators of a program, found by the origins of its nodes.
#include "tools/conform/operators.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "exporter/builder.h"
#include "exporter/operator_names.h"

namespace tern {
namespace {

using Texts = std::set<std::string>;

TEST(Operators, TypesAreThoseThatCrossFromOneOperatorToAnother) {
  Program p;
  p.origins = {{"aten.linear.default", {}, {}}, {"aten.gt.Scalar", {}, {}}, {"aten.sym_size.int", {}, {}}};
  p.functions.resize(1);
  Builder b(p, 0);
  const ValueId x = b.add_value({DType::f16, {4, 8}}, "x"), w = b.add_value({DType::f16, {8, 3}}, "w");
  b.set_origin(0, {});
  const ValueId y = b.cast(b.matmul(b.cast(x, DType::f32), b.cast(w, DType::f32)), DType::f16);  // float32 stays inside
  b.set_origin(1, {});
  const ValueId truth = b.expr("y > 0", {{"y", y}}, DType::f32, DType::boolean);
  b.function().outputs = {{FunctionOutput::Kind::tensor, truth, {}}};
  const std::vector<OperatorUse> uses = operators_of(p);
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(uses[0].name, "aten.gt.Scalar");
  EXPECT_EQ(uses[0].ops, Texts{"pointwise"});
  EXPECT_EQ(uses[0].dtypes, (Texts{std::string(name_of(DType::boolean)), "float16"}));
  EXPECT_EQ(uses[1].name, "aten.linear.default");
  EXPECT_EQ(uses[1].ops, (Texts{"matmul", "pointwise"}));
  EXPECT_EQ(uses[1].dtypes, Texts{"float16"});
  EXPECT_EQ(uses[2].name, "aten.sym_size.int");
  EXPECT_TRUE(uses[2].ops.empty());
}

TEST(Operators, EveryWayOfImportIsListed) {
  const std::vector<OperatorName> names = operator_names();
  EXPECT_TRUE(std::ranges::is_sorted(names, {}, &OperatorName::name));
  const auto find = [&](std::string_view name) {
    const auto at = std::ranges::find(names, name, &OperatorName::name);
    return at == names.end() ? std::string("not listed")
                             : std::string(operator_kind_name(at->kind)) + (at->twin.empty() ? "" : ", " + at->twin);
  };
  EXPECT_EQ(find("aten.softmax.int"), "lowered");
  EXPECT_EQ(find("aten.add_.Tensor"), "written, aten.add.Tensor");
  EXPECT_EQ(find("aten.atan2.out"), "written, aten.atan2.default");
  EXPECT_EQ(find("aten.copy_.default"), "memory");
  EXPECT_EQ(find("aten.as_strided.default"), "memory");
  EXPECT_EQ(find("aten.sym_size.int"), "host");
  EXPECT_EQ(find("aten.record_stream.default"), "no effect");
  EXPECT_EQ(find("higher_order.cond"), "control");
  EXPECT_EQ(find("aten.set_.source_Storage"), "not listed");
}

}  // namespace
}  // namespace tern
