// Runs traced programs with views and in-place operators; the expected contents of Python's tensors are derived by
// hand.
#include <gtest/gtest.h>
#include <tern/tern.h>

#include <complex>

#include "tests/exporter/traced_model.h"
#include "tests/runtime/support.h"

namespace tern::testing {
namespace {

using Values = std::vector<float>;

const std::string kAten = "torch.ops.aten.";

struct Outcome {
  std::vector<Values> outputs;
  Values x;  ///< the input after the run
};

/// Runs a program with a single input x of these sizes, filled with 0, 1, 2 ...
Outcome run(TracedModel& m, std::vector<std::int64_t> sizes) {
  Tensor x(DType::f32, std::move(sizes));
  float next = 0;
  for (float& v : x.span<float>()) v = next++;
  const Model model(std::make_shared<const Program>(m.load()));
  Session session(model.prepare());
  Outcome r;
  for (const Tensor& t : session.run({x})) r.outputs.push_back(values_of(t));
  r.x = values_of(x);
  return r;
}

void add_one(TracedModel& m, const std::string& to, const Json& type) {
  m.node(kAten + "add_.Tensor", {{"self", tensor(to)}, {"other", integer(1)}}, {{to + "_added", type}});
}

TEST(ImportAliasing, WriteThroughASlice) {
  TracedModel m;  // x[1:3].add_(1)
  m.user("x", meta({4}));
  m.node(kAten + "slice.Tensor",
         {{"self", tensor("x")}, {"dim", integer(0)}, {"start", integer(1)}, {"end", integer(3)}}, {{"s", meta({2})}});
  add_one(m, "s", meta({2}));
  m.result("x");
  const Outcome r = run(m, {4});
  EXPECT_EQ(r.x, (Values{0, 2, 3, 3}));
  EXPECT_EQ(r.outputs[0], r.x);
}

TEST(ImportAliasing, AViewSeesWhatIsWrittenToItsBaseLater) {
  TracedModel m;  // t = x.t(); x.add_(1); return t
  m.user("x", meta({2, 3}));
  m.node(kAten + "t.default", {{"self", tensor("x")}}, {{"t", tensor_meta({3, 2}, {1, 3})}});
  add_one(m, "x", meta({2, 3}));
  m.result("t");
  EXPECT_EQ(run(m, {2, 3}).outputs[0], (Values{1, 4, 2, 5, 3, 6}));
}

TEST(ImportAliasing, AViewSeesWhatIsWrittenToAnother) {
  TracedModel m;  // t = x.t(); r = t[1]; x.view(6)[4:].zero_(); return r
  m.user("x", meta({2, 3}));
  m.node(kAten + "t.default", {{"self", tensor("x")}}, {{"t", tensor_meta({3, 2}, {1, 3})}});
  m.node(kAten + "select.int", {{"self", tensor("t")}, {"dim", integer(0)}, {"index", integer(1)}},
         {{"r", tensor_meta({2}, {3}, 1)}});
  m.node(kAten + "view.default", {{"self", tensor("x")}, {"size", integers({6})}}, {{"v", meta({6})}});
  m.node(kAten + "slice.Tensor",
         {{"self", tensor("v")}, {"dim", integer(0)}, {"start", integer(4)}, {"end", integer(6)}}, {{"s", meta({2})}});
  m.node(kAten + "zero_.default", {{"self", tensor("s")}}, {{"zero_", meta({2})}});
  m.result("r");
  const Outcome r = run(m, {2, 3});
  EXPECT_EQ(r.outputs[0], (Values{1, 0}));
  EXPECT_EQ(r.x, (Values{0, 1, 2, 3, 0, 0}));
}

TEST(ImportAliasing, WriteThroughAPartOfASplit) {
  TracedModel m;  // a, b = x.split(2, dim=1); b.mul_(10)
  m.user("x", meta({2, 4}));
  m.list_node(kAten + "split.Tensor", {{"self", tensor("x")}, {"split_size", integer(2)}, {"dim", integer(1)}},
              {{"a", tensor_meta({2, 2}, {4, 1})}, {"b", tensor_meta({2, 2}, {4, 1}, 2)}});
  m.node(kAten + "mul_.Tensor", {{"self", tensor("b")}, {"other", integer(10)}},
         {{"mul_", tensor_meta({2, 2}, {4, 1}, 2)}});
  m.result("a");
  EXPECT_EQ(run(m, {2, 4}).x, (Values{0, 1, 20, 30, 4, 5, 60, 70}));
}

TEST(ImportAliasing, CopyBroadcastsAndCasts) {
  TracedModel m;  // x[0].copy_(ones(1, dtype=int64))
  m.user("x", meta({2, 3}));
  m.node(kAten + "ones.default", {{"size", integers({1})}, {"dtype", scalar_type(kI64)}}, {{"ones", meta({1}, kI64)}});
  m.node(kAten + "select.int", {{"self", tensor("x")}, {"dim", integer(0)}, {"index", integer(0)}}, {{"s", meta({3})}});
  m.node(kAten + "copy_.default", {{"self", tensor("s")}, {"src", tensor("ones")}}, {{"copy_", meta({3})}});
  m.result("s");
  EXPECT_EQ(run(m, {2, 3}).x, (Values{1, 1, 1, 3, 4, 5}));
}

TEST(ImportAliasing, DiagonalsAreWritten) {
  TracedModel m;  // x.diagonal().fill_(-1)
  m.user("x", meta({3, 3}));
  m.node(kAten + "diagonal.default", {{"self", tensor("x")}}, {{"d", tensor_meta({3}, {4})}});
  m.node(kAten + "fill_.Scalar", {{"self", tensor("d")}, {"value", integer(-1)}}, {{"fill_", tensor_meta({3}, {4})}});
  m.result("x");
  EXPECT_EQ(run(m, {3, 3}).x, (Values{-1, 1, 2, 3, -1, 5, 6, 7, -1}));
}

TEST(ImportAliasing, ReshapeOfDenseMemoryIsAView) {
  TracedModel m;
  m.user("x", meta({2, 2}));
  m.node(kAten + "reshape.default", {{"self", tensor("x")}, {"shape", integers({4})}}, {{"r", meta({4})}});
  add_one(m, "r", meta({4}));
  m.result("r");
  EXPECT_EQ(run(m, {2, 2}).x, (Values{1, 2, 3, 4}));
}

TEST(ImportAliasing, ReshapeAcrossStridesIsACopy) {
  TracedModel m;  // x.t().reshape(4).add_(1) does not change x
  m.user("x", meta({2, 2}));
  m.node(kAten + "t.default", {{"self", tensor("x")}}, {{"t", tensor_meta({2, 2}, {1, 2})}});
  m.node(kAten + "reshape.default", {{"self", tensor("t")}, {"shape", integers({4})}}, {{"r", meta({4})}});
  add_one(m, "r", meta({4}));
  m.result("r");
  const Outcome r = run(m, {2, 2});
  EXPECT_EQ(r.x, (Values{0, 1, 2, 3}));
  EXPECT_EQ(r.outputs[0], (Values{1, 3, 2, 4}));
}

TEST(ImportAliasing, ContiguousCopiesOnlyWhatIsNot) {
  for (const bool dense : {true, false}) {
    TracedModel m;
    m.user("x", meta({2, 2}));
    const Json type = dense ? meta({2, 2}) : tensor_meta({2, 2}, {1, 2});
    m.node(kAten + (dense ? "alias.default" : "t.default"), {{"self", tensor("x")}}, {{"t", type}});
    m.node(kAten + "contiguous.default", {{"self", tensor("t")}}, {{"c", meta({2, 2})}});
    add_one(m, "c", meta({2, 2}));
    m.result("c");
    EXPECT_EQ(run(m, {2, 2}).x, (dense ? Values{1, 2, 3, 4} : Values{0, 1, 2, 3}));
  }
}

TEST(ImportAliasing, ToIsTheTensorItselfUnlessItConverts) {
  for (const bool same : {true, false}) {
    TracedModel m;
    m.user("x", meta({2}));
    const int dtype = same ? kF32 : kF64;
    m.node(kAten + "to.dtype", {{"self", tensor("x")}, {"dtype", scalar_type(dtype)}}, {{"to", meta({2}, dtype)}});
    add_one(m, "to", meta({2}, dtype));
    m.result("x");
    EXPECT_EQ(run(m, {2}).x, (same ? Values{1, 2} : Values{0, 1}));
  }
}

TEST(ImportAliasing, CloneHasMemoryOfItsOwn) {
  TracedModel m;
  m.user("x", meta({2}));
  m.node(kAten + "clone.default", {{"self", tensor("x")}}, {{"c", meta({2})}});
  add_one(m, "c", meta({2}));
  m.result("c");
  const Outcome r = run(m, {2});
  EXPECT_EQ(r.x, (Values{0, 1}));
  EXPECT_EQ(r.outputs[0], (Values{1, 2}));
}

TEST(ImportAliasing, DropoutOutsideTrainingIsItsOperand) {
  TracedModel m;
  m.user("x", meta({2}));
  m.node(kAten + "dropout.default", {{"input", tensor("x")}, {"p", number(0.5)}, {"train", boolean(false)}},
         {{"d", meta({2})}});
  add_one(m, "d", meta({2}));
  m.result("x");
  EXPECT_EQ(run(m, {2}).x, (Values{1, 2}));
}

TEST(ImportAliasing, OutArgumentsReceiveTheResult) {
  TracedModel m;  // torch.sub(x, 1, out=x[1:]) with x of 3: x[1:] = x[:2] - 1
  m.user("x", meta({3}));
  m.node(kAten + "slice.Tensor",
         {{"self", tensor("x")}, {"dim", integer(0)}, {"start", integer(0)}, {"end", integer(2)}},
         {{"low", meta({2})}});
  m.node(kAten + "slice.Tensor",
         {{"self", tensor("x")}, {"dim", integer(0)}, {"start", integer(1)}, {"end", integer(3)}},
         {{"high", meta({2})}});
  m.node(kAten + "sub.out", {{"self", tensor("low")}, {"other", integer(1)}, {"out", tensor("high")}},
         {{"sub", meta({2})}});
  m.result("sub");
  const Outcome r = run(m, {3});
  EXPECT_EQ(r.x, (Values{0, -1, 0}));
  EXPECT_EQ(r.outputs[0], (Values{-1, 0}));
}

TEST(ImportAliasing, InPlaceViewsRenameTheTensor) {
  TracedModel m;  // x.unsqueeze_(0) and then x[0].add_(1)
  m.user("x", meta({2}));
  m.node(kAten + "unsqueeze_.default", {{"self", tensor("x")}, {"dim", integer(0)}}, {{"u", meta({1, 2})}});
  m.node(kAten + "select.int", {{"self", tensor("x")}, {"dim", integer(0)}, {"index", integer(0)}}, {{"s", meta({2})}});
  add_one(m, "s", meta({2}));
  m.result("u");
  const Outcome r = run(m, {2});
  EXPECT_EQ(r.outputs[0], (Values{1, 2}));
  EXPECT_EQ(r.x, (Values{1, 2}));
}

TEST(ImportAliasing, PartsOfComplexNumbersAreWritten) {
  TracedModel m;  // z = view_as_complex(x); z.imag.add_(1)
  m.user("x", meta({2, 2}));
  m.node(kAten + "view_as_complex.default", {{"self", tensor("x")}}, {{"z", meta({2}, kC64)}});
  m.node(kAten + "imag.default", {{"self", tensor("z")}}, {{"i", tensor_meta({2}, {2}, 1)}});
  add_one(m, "i", tensor_meta({2}, {2}, 1));
  m.result("x");
  EXPECT_EQ(run(m, {2, 2}).x, (Values{0, 2, 2, 4}));
}

TEST(ImportAliasing, BitsAreWrittenThroughAnotherType) {
  TracedModel m;  // x.view(torch.int32).zero_()
  m.user("x", meta({2}));
  m.node(kAten + "view.dtype", {{"self", tensor("x")}, {"dtype", scalar_type(kI32)}}, {{"v", meta({2}, kI32)}});
  m.node(kAten + "fill_.Scalar", {{"self", tensor("v")}, {"value", integer(0x3f800000)}}, {{"f", meta({2}, kI32)}});
  m.result("x");
  EXPECT_EQ(run(m, {2}).x, (Values{1, 1}));
}

TEST(ImportAliasing, AnExpandedTensorCannotBeWritten) {
  TracedModel m;
  m.user("x", meta({1}));
  m.node(kAten + "expand.default", {{"self", tensor("x")}, {"size", integers({3})}}, {{"e", tensor_meta({3}, {0})}});
  add_one(m, "e", tensor_meta({3}, {0}));
  m.result("x");
  EXPECT_NE(error_of([&] { m.load(); }, ErrorCode::unsupported).find("base tensor cannot be updated"),
            std::string::npos);
}

TEST(ImportAliasing, ListsOfTensorsAreWritten) {
  TracedModel m;  // a, b = x.unbind(0); torch._foreach_mul_([a, b], [10, 100]); torch._foreach_add_([a], [b])
  m.user("x", meta({2, 2}));
  m.list_node(kAten + "unbind.int", {{"self", tensor("x")}}, {{"a", meta({2})}, {"b", tensor_meta({2}, {1}, 2)}});
  m.node(kAten + "_foreach_mul_.ScalarList", {{"self", tensors({"a", "b"})}, {"scalars", integers({10, 100})}}, {});
  m.node(kAten + "_foreach_add_.List", {{"self", tensors({"a"})}, {"other", tensors({"b"})}}, {});
  m.result("x");
  EXPECT_EQ(run(m, {2, 2}).x, (Values{200, 310, 200, 300}));
}

TEST(ImportAliasing, AThousandViewsOfViews) {
  TracedModel m;  // x.view(1, 4).view(4).view(1, 4) ... .add_(1)
  m.user("x", meta({4}));
  std::string last = "x";
  for (int i = 0; i < 1000; ++i) {
    const std::string next = "v" + std::to_string(i);
    const bool flat = i % 2 == 1;
    m.node(kAten + "view.default", {{"self", tensor(last)}, {"size", flat ? integers({4}) : integers({1, 4})}},
           {{next, flat ? meta({4}) : meta({1, 4})}});
    last = next;
  }
  add_one(m, last, meta({4}));
  m.result("v500");
  const Outcome r = run(m, {4});
  EXPECT_EQ(r.x, (Values{1, 2, 3, 4}));
  EXPECT_EQ(r.outputs[0], (Values{1, 2, 3, 4}));
}

TEST(ImportAliasing, OverlappingBuffersShareTheirElements) {
  TracedModel m;  // low = base[0:4], high = base[2:6]; low.add_(x); return high
  m.floats({10, 11, 12, 13, 14, 15});
  m.buffer("low", tensor_meta({4}, {1}, 0));
  m.buffer("high", tensor_meta({4}, {1}, 2));
  m.user("x", meta({4}));
  m.node(kAten + "add_.Tensor", {{"self", tensor("b_low")}, {"other", tensor("x")}}, {{"add_", meta({4})}});
  m.result("b_high");
  const Model model(std::make_shared<const Program>(m.load()));
  Session session(model.prepare());
  const Tensor x = floats({4}, {1, 1, 1, 1});
  EXPECT_EQ(values_of(session.run({x})[0]), (Values{13, 14, 14, 15}));
  EXPECT_EQ(values_of(session.run({x})[0]), (Values{14, 15, 14, 15}));
  EXPECT_EQ(values_of(session.read_state("low")), (Values{12, 13, 14, 15}));
}

}  // namespace
}  // namespace tern::testing
