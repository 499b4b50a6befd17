// Names, the caller's memory, strides, and a model's description.
#include <gtest/gtest.h>

#include <functional>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::invalid_argument_of;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;
using Sizes = std::vector<std::int64_t>;

/// in0 - in1 as out0, and in0 * 2 transposed as out1, for any number n of rows.
struct Differences : TestProgram {
  Differences() {
    const Dim n = b().pool().symbol("n", 1, 8);
    const ValueId x = input(DType::f32, {n, 3}), y = input(DType::f32, {n, 3});
    output(b().expr("x - y", {{"x", x}, {"y", y}}, DType::f32));
    output(b().transpose(b().expr("x * 2", {{"x", x}}, DType::f32), 0, 1));
  }
};

TEST(NamedTensors, AreTakenInAnyOrder) {
  Differences p;
  Session s(p.model().prepare());
  const Tensor x = floats({1, 3}, {5, 6, 7}), y = floats({1, 3}, {1, 2, 3});
  EXPECT_EQ(values_of(s.run({{"in1", y}, {"in0", x}})[0]), (Floats{4, 4, 4}));
  EXPECT_EQ(values_of(s.run("forward", {{"in0", y}, {"in1", x}})[0]), (Floats{-4, -4, -4}));
  EXPECT_EQ(values_of(s.output("out1")), (Floats{2, 4, 6}));
  EXPECT_EQ(invalid_argument_of([&] { s.run({{"in0", x}}); }), "input 'in1' of 'forward' was not given");
  EXPECT_EQ(invalid_argument_of([&] {
              s.run({{"in0", x}, {"in1", x}, {"mask", x}});
            }),
            "'forward' has no input 'mask'; it takes 'in0', 'in1'");
  EXPECT_EQ(invalid_argument_of([&] {
              s.run({{"in0", x}, {"imges", x}});
            }),
            "'forward' has no input 'imges'; it takes 'in0', 'in1'");
  EXPECT_EQ(invalid_argument_of([&] { s.run({{"in0", x}, {"in1", x}, {"in0", x}}); }), "input 'in0' was given twice");
  EXPECT_EQ(invalid_argument_of([&] { (void)s.output("logits"); }),
            "'forward' has no result 'logits'; it has 'out0', 'out1'");
  EXPECT_NE(invalid_argument_of([&] { (void)Session(p.model().prepare()).output("out0"); }), "no error");
}

TEST(CallerOutputs, ReceiveResultsOfEverySize) {
  Differences p;
  Session s(p.model().prepare());
  for (std::int64_t n : {1, 4, 2, 4}) {
    Tensor x(DType::f32, {n, 3}), y(DType::f32, {n, 3}), out(DType::f32, {n, 3}), turned(DType::f32, {3, n});
    for (std::size_t i = 0; i < x.span<float>().size(); ++i) x.span<float>()[i] = static_cast<float>(i + 1);
    y.span<float>()[0] = 100;
    s.run_into({x, y}, {out, turned});
    const std::vector<Tensor>& lent = s.run({x, y});
    EXPECT_EQ(values_of(out), values_of(lent[0]));
    EXPECT_EQ(values_of(turned), values_of(lent[1]));
    EXPECT_EQ(out.span<float>()[0], -99);
    EXPECT_EQ(turned.span<float>()[1], n == 1 ? 4 : 8);
  }
}

TEST(OwnedResults, OutliveLaterRunsAndTheSession) {
  Differences p;
  auto s = std::make_unique<Session>(p.model().prepare());
  const Tensor x = floats({1, 3}, {5, 6, 7}), y = floats({1, 3}, {1, 2, 3});
  const std::vector<Tensor> first = s->run_into_new("forward", std::vector<Tensor>{x, y});
  const std::vector<Tensor> second = s->run_into_new("forward", std::vector<Tensor>{y, x});
  EXPECT_EQ(s->stats().bytes_copied, 0U);
  const Tensor x2 = floats({2, 3}, {1, 1, 1, 2, 2, 2}), y2 = floats({2, 3}, {0, 0, 0, 1, 1, 1});
  const std::vector<Tensor> wider = s->run_into_new("forward", std::vector<Tensor>{x2, y2});
  EXPECT_NE(invalid_argument_of([&] { (void)s->output("out0"); }), "no error");
  s.reset();
  EXPECT_EQ(values_of(first[0]), (Floats{4, 4, 4}));
  EXPECT_EQ(values_of(second[0]), (Floats{-4, -4, -4}));
  EXPECT_EQ(wider[0].sizes(), (Sizes{2, 3}));
  EXPECT_EQ(values_of(wider[0]), (Floats{1, 1, 1, 1, 1, 1}));
  for (const Tensor& t : {first[0], first[1], second[0], wider[1]})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0U);
}

TEST(OwnedResults, ThatAreInputsAndStatesAreCopies) {
  TestProgram p;
  p.output(p.input(DType::f32, {2}));
  p.output(p.state({2}, {7, 8}, false));
  Session s(p.model().prepare());
  Tensor x = floats({2}, {1, 2});
  const std::vector<Tensor> results = s.run_into_new("forward", std::vector<Tensor>{x});
  x.span<float>()[0] = 9;
  EXPECT_EQ(values_of(results[0]), (Floats{1, 2}));
  EXPECT_EQ(values_of(results[1]), (Floats{7, 8}));
}

TEST(CallerOutputs, NeedNoCopyWhereTheyAreAlignedAndApart) {
  Differences p;
  Session s(p.model().prepare());
  const Tensor x = floats({1, 3}, {5, 6, 7}), y = floats({1, 3}, {1, 2, 3});
  Tensor out(DType::f32, {1, 3}), turned(DType::f32, {3, 1});
  s.run_into({x, y}, {out, turned});
  EXPECT_EQ(s.output("out0").data(), out.data());
  // Results without caller tensors go to the arena, whose old values come from another run.
  const Tensor before = s.run({x, y})[0].clone();
  const float* const arena = s.output("out0").span<float>().data();
  const Tensor z = floats({1, 3}, {0, 0, 0});
  s.run_into({x, z}, {out, Tensor()});
  EXPECT_EQ(values_of(out), (Floats{5, 6, 7}));
  EXPECT_EQ(Floats(arena, arena + 3), values_of(before));
}

TEST(CallerOutputs, MayBeStridedUnalignedOrAnInput) {
  Differences p;
  Session s(p.model().prepare());
  Tensor x = floats({2, 3}, {5, 6, 7, 8, 9, 10}), y = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Floats wide(14, -1);
  const Tensor strided = Tensor::borrow(wide.data() + 1, DType::f32, {2, 3}, {6, 2});
  s.run_into({x, y}, {strided, Tensor()});
  EXPECT_EQ(wide, (Floats{-1, 4, -1, 4, -1, 4, -1, 4, -1, 4, -1, 4, -1, -1}));
  s.run_into({x, y}, {y, Tensor::borrow(x.data(), DType::f32, {3, 2})});
  EXPECT_EQ(values_of(y), (Floats(6, 4)));
  EXPECT_EQ(values_of(x), (Floats{10, 16, 12, 18, 14, 20}));
}

TEST(CallerOutputs, AreCheckedBeforeAnyIsWritten) {
  Differences p;
  Session s(p.model().prepare());
  const Tensor x = floats({1, 3}, {5, 6, 7});
  Tensor good = floats({1, 3}, {-1, -1, -1}), wrong(DType::f32, {1, 3}), other(DType::f64, {3, 1});
  EXPECT_EQ(invalid_argument_of([&] {
              s.run_into({x, x}, {good, wrong});
            }),
            "result 'out1' is float32[3, 1], but the tensor given for it is float32[1, 3]");
  EXPECT_NE(invalid_argument_of([&] {
              s.run_into({x, x}, {good, other});
            }).find("is float64[3, 1]"),
            std::string::npos);
  EXPECT_EQ(values_of(good), (Floats{-1, -1, -1}));
  EXPECT_NE(invalid_argument_of([&] {
              s.run_into({x, x}, {good});
            }).find("has 2 results, but 1 tensors"),
            std::string::npos);
  const float fixed[3] = {};
  EXPECT_NE(invalid_argument_of([&] {
              s.run_into({x, x}, {Tensor::borrow(&fixed, DType::f32, {1, 3}), Tensor()});
            }).find("read-only"),
            std::string::npos);
}

TEST(StridedInputs, AreReadAndWrittenBack) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  p.program().functions[0].writebacks.push_back(
      {WriteBack::Target::input, 0, p.b().expr("x + 1", {{"x", x}}, DType::f32)});
  Session s(p.model().prepare());
  Floats memory = {0, 1, 2, 3, 4, 5};
  const Tensor columns = Tensor::borrow(memory.data(), DType::f32, {2, 3}, {1, 2});
  EXPECT_EQ(values_of(s.run({columns})[0]), (Floats{0, 4, 8, 2, 6, 10}));
  EXPECT_EQ(memory, (Floats{1, 2, 3, 4, 5, 6}));
  const Floats constant = memory;
  EXPECT_NE(invalid_argument_of([&] {
              s.run({Tensor::borrow(constant.data(), DType::f32, {2, 3}, {1, 2})});
            }).find("read-only"),
            std::string::npos);
}

TEST(Session, SaysWhatWasGivenForAState) {
  TestProgram p;
  const ValueId count = p.state({2}, {0, 10}, true);
  p.state({2}, {1, 1}, false);
  p.write_back(0, p.b().expr("c + 1", {{"c", count}}, DType::f32));
  p.output(count);
  Session s(p.model().prepare());
  EXPECT_EQ(invalid_argument_of([&] { s.write_state("state0", Tensor(DType::f64, {3})); }),
            "state 'state0' is float32[2], but the value given is float64[3]");
  EXPECT_NE(invalid_argument_of([&] {
              s.write_state("state1", floats({2}, {1, 2}));
            }).find("Model::with_weights"),
            std::string::npos);
  Floats memory = {7, 0, 8};
  s.write_state("state0", Tensor::borrow(memory.data(), DType::f32, {2}, {2}));
  EXPECT_EQ(values_of(s.read_state("state0")), (Floats{7, 8}));
}

TEST(Model, ListsItselfByReferencesThatStay) {
  Differences p;
  p.state({2}, {1, 2}, true);
  p.program().metadata = {{"torch", "2.12.0"}};
  p.program().functions[0].nodes[0].annotations = {{"stage", std::int64_t{1}}, {"precision", std::string("high")}};
  auto model = std::make_unique<Model>(p.model());
  const Model copy = *model;
  const std::vector<FunctionInfo>& functions = model->functions();
  const StateInfo& state = model->states().at(0);
  model.reset();
  EXPECT_EQ(&functions, &copy.functions());
  EXPECT_EQ(functions.at(0).inputs.at(1).name, "in1");
  EXPECT_EQ(state.sizes, (Sizes{2}));
  ASSERT_EQ(copy.symbols().size(), 1u);
  EXPECT_EQ(copy.symbols()[0].name, "n");
  EXPECT_EQ(copy.symbols()[0].min, 1);
  EXPECT_EQ(copy.symbols()[0].max, 8);
  EXPECT_EQ(copy.metadata().at(0), (std::pair<std::string, std::string>("torch", "2.12.0")));
  ASSERT_EQ(copy.annotations().size(), 2u);
  EXPECT_EQ(copy.annotations()[0].value, "1");
  EXPECT_EQ(copy.annotations()[1].key, "precision");
  EXPECT_EQ(copy.annotations()[1].op, "pointwise");
  EXPECT_EQ(p.model().functions().at(0).name, "forward") << "a temporary model gives copies";
}

TEST(PrepareOptions, HaveBounds) {
  Differences p;
  const auto with = [&](auto set) {
    PrepareOptions options;
    set(options);
    return invalid_argument_of([&] { (void)p.model().prepare(options); });
  };
  EXPECT_EQ(with([](PrepareOptions& o) { o.threads = -1; }), "PrepareOptions::threads is -1, but must be 0 to 1024");
  EXPECT_NE(with([](PrepareOptions& o) { o.threads = 1025; }), "no error");
  EXPECT_NE(with([](PrepareOptions& o) { o.cached_plans = 0; }), "no error");
  EXPECT_NE(with([](PrepareOptions& o) { o.cached_plans = 1 << 20; }), "no error");
  EXPECT_NE(with([](PrepareOptions& o) { o.max_iterations = -5; }), "no error");
  EXPECT_EQ(with([](PrepareOptions& o) { o.threads = 1024; }), "no error");
}

}  // namespace
}  // namespace tern
