// The importer lists all unsupported operators at once.
#include <gtest/gtest.h>

#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

TracedModel unknown_operators_model() {
  TracedModel m;
  const Json type = meta({2});
  m.user("x", type);
  m.node("torch.ops.mylib.twist.default", {{"x", tensor("x")}}, {{"twist", type}},
         {{"stack_trace", "File \"/home/me/model.py\", line 42, in forward\n    y = twist(x)"},
          {"nn_module_stack", "L['self'].enc,enc,torch.nn.modules.module.Module"}});
  m.node("torch.ops.mylib.twist.default", {{"x", tensor("twist")}}, {{"twist_1", type}});
  m.node("torch.ops.aten.add.Tensor", {{"self", tensor("twist_1")}, {"other", integer(1)}}, {{"add", type}});
  m.node("torch.ops.higher_order.unheard_of", {{"", tensor("add")}}, {{"other", type}});
  m.result("other");
  return m;
}

TEST(ImportMissing, AllAreReportedWithCountsAndPlaces) {
  TracedModel m = unknown_operators_model();
  ImportReport report;
  const std::string error = error_of([&] { m.load({}, &report); }, ErrorCode::unsupported);
  ASSERT_EQ(report.missing.size(), 2u);
  EXPECT_EQ(report.missing[0].target, "mylib.twist.default");
  EXPECT_EQ(report.missing[0].count, 2u);
  EXPECT_NE(report.missing[0].where.find("model.py:42"), std::string::npos) << report.missing[0].where;
  EXPECT_EQ(report.missing[0].where.find("/home"), std::string::npos);
  EXPECT_EQ(report.missing[1].target, "higher_order.unheard_of");
  EXPECT_NE(error.find("2 operators of the program cannot be imported (3 uses)"), std::string::npos) << error;
  EXPECT_NE(error.find("mylib.twist.default: 2 uses, first at enc, model.py:42, node 'twist'"), std::string::npos)
      << error;
  EXPECT_NE(error.find("run_decompositions()"), std::string::npos) << error;
  EXPECT_NE(error.find("--ops LIBRARY"), std::string::npos) << error;
}

TEST(ImportMissing, OperatorsOfOtherLibrariesMayBecomeCustomNodes) {
  TracedModel m;
  m.user("x", meta({2}));
  m.node("torch.ops.mylib.twist.default", {{"x", tensor("x")}, {"turns", integer(3)}, {"how", {{"as_string", "left"}}}},
         {{"twist", meta({2, 5}, kI64)}});
  m.result("twist");
  ImportOptions options;
  options.custom_ops = true;
  const Program p = m.load(options);
  ASSERT_EQ(p.functions[0].nodes.size(), 1u);
  const Node& n = p.functions[0].nodes[0];
  EXPECT_EQ(n.op, Op::custom);
  EXPECT_EQ(n.text(AttrKey::name), "mylib::twist");
  EXPECT_EQ(n.text(AttrKey::text), "x tensors 1\nturns integers 1\nhow text 4\n\nleft");
  EXPECT_EQ(n.dims(AttrKey::value), (Dims{3}));
  const TensorType& type = p.functions[0].values[static_cast<std::size_t>(n.outputs[0])].type;
  EXPECT_EQ(type.dtype, DType::i64);
  EXPECT_EQ(type.shape, (Dims{2, 5}));
}

TEST(ImportMissing, KnownHigherOrderOperatorsComeWithAdvice) {
  const std::pair<const char*, const char*> expected[] = {{"flex_attention", "tern.export(program, path)"},
                                                          {"associative_scan", "run_decompositions"},
                                                          {"auto_functionalized_v2", "mutates_args"},
                                                          {"triton_kernel_wrapper_mutation", "Triton"}};
  for (const auto& [name, advice] : expected) {
    TracedModel m;
    m.user("x", meta({2}));
    m.node(std::string("torch.ops.higher_order.") + name, {{"", tensor("x")}}, {{"y", meta({2})}});
    m.result("y");
    const std::string error = error_of([&] { m.load(); }, ErrorCode::unsupported);
    EXPECT_NE(error.find(advice), std::string::npos) << error;
  }
}

TEST(ImportMissing, RefusedOperatorsOfLibrariesComeWithAReplacement) {
  const std::pair<const char*, const char*> expected[] = {
      {"c10d_functional.wait_tensor.default", "run_decompositions()"},
      {"symm_mem.get_remote_tensors.default", "call a collective"},
      {"symm_mem.all_to_all_vdev_2d.default", "call all_to_all_single"},
      {"torchcomms.torchcomm_all_reduce.default", "TorchComm object"}};
  for (const auto& [name, advice] : expected) {
    TracedModel m;
    m.user("x", meta({2}));
    m.node(std::string("torch.ops.") + name, {{"self", tensor("x")}}, {{"y", meta({2})}});
    m.result("y");
    const std::string error = error_of([&] { m.load(); }, ErrorCode::unsupported);
    EXPECT_NE(error.find(name), std::string::npos) << error;
    EXPECT_NE(error.find(advice), std::string::npos) << error;
  }
}

TEST(ImportMissing, AnErrorNamesTheNode) {
  TracedModel m;
  m.user("x", meta({2, 3}));
  m.user("y", meta({4, 3}));
  m.node("torch.ops.aten.add.Tensor", {{"self", tensor("x")}, {"other", tensor("y")}}, {{"add", meta({2, 3})}});
  m.result("add");
  const std::string error = error_of([&] { m.load(); });
  EXPECT_NE(error.find("aten.add.Tensor, node 'add'"), std::string::npos) << error;
}

TEST(ImportMissing, UndefinedNamesAreRefused) {
  TracedModel m;
  m.user("x", meta({2}));
  m.node("torch.ops.aten.add.Tensor", {{"self", tensor("x")}, {"other", tensor("ghost")}}, {{"add", meta({2})}});
  m.result("add");
  const std::string error = error_of([&] { m.load(); });
  EXPECT_NE(error.find("'ghost' is used before it is defined"), std::string::npos) << error;
}

}  // namespace
}  // namespace tern::testing
