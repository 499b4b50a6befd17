// Operators that write their arguments, imported as their functional twins.
#include <gtest/gtest.h>

#include "exporter/import/twins.h"
#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

std::string twin_of(const char* name) {
  return importing::functional_twin(*pt2::find_schema(name));
}

TEST(ImportTwins, AreFoundByNameAndOverload) {
  EXPECT_EQ(twin_of("aten::add_.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(twin_of("aten::add.out"), "aten.add.Tensor");
  EXPECT_EQ(twin_of("aten::__iand__.Tensor"), "aten.__and__.Tensor");
}

TEST(ImportTwins, AreNotTheOperatorsOnNumbers) {
  EXPECT_EQ(twin_of("aten::ldexp_"), "aten.ldexp.Tensor");
}

TEST(ImportTwins, MayNameTheirArgumentsOtherwise) {
  for (const char* op : {"dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_"}) {
    TracedModel m;
    m.user("x", meta({4}));
    m.node("torch.ops.aten.clone.default", {{"self", tensor("x")}}, {{"clone", meta({4})}});
    m.node(std::string("torch.ops.aten.") + op + ".default",
           {{"self", tensor("clone")}, {"p", number(0.5)}, {"train", boolean(false)}}, {{"dropped", meta({4})}});
    m.node("torch.ops.aten.add.Tensor", {{"self", tensor("dropped")}, {"other", tensor("clone")}},
           {{"add", meta({4})}});
    m.result("add");
    const Program p = m.load();
    const Function& f = p.functions[0];
    const Node& add = f.nodes.back();
    ASSERT_EQ(add.inputs.size(), 2u) << op;
    EXPECT_EQ(add.inputs[0], add.inputs[1]) << op;
  }
}

}  // namespace
}  // namespace tern::testing
