// Programs that become archives for token generation, and the errors of all others. The logits of this small decoder
// are the sums of the cache's rows up to each token, so the expected values are easy to derive.
#include <gtest/gtest.h>

#include "exporter/llm/add_generation.h"
#include "exporter/llm/filled_slots.h"
#include "exporter/llm/specialise.h"
#include "schema/kinds.h"
#include "tests/runtime/support.h"

namespace tern::testing {
namespace {

constexpr std::int64_t kVocabulary = 4, kGenerationSlots = 6;

struct Shape {
  std::int64_t batch = 1;
  bool dynamic = true, cache = true, mask = false;
};

/// tokens [batch, n], position [1] -> logits [1, n, 4]: the count of each token so far.
TestProgram decoder(const Shape& shape) {
  TestProgram p;
  Builder& b = p.b();
  const Dim n = shape.dynamic ? b.pool().symbol("n", 1, kGenerationSlots) : Dim(1);
  const ValueId tokens = p.input(DType::i64, {shape.batch, n}), position = p.input(DType::i64, {1});
  if (shape.mask) p.input(DType::i64, {1, kGenerationSlots});
  const ValueId row = b.reshape(b.slice(tokens, 0, 0, 1), {n});
  const ValueId rows = b.expr("t == v ? 1 : 0", {{"t", b.unsqueeze(row, 1)}, {"v", b.iota(kVocabulary, DType::i64)}},
                              DType::i64, DType::f32);
  ValueId all = rows;
  if (shape.cache) {
    const ValueId cache =
        p.state({1, kGenerationSlots, kVocabulary}, std::vector<float>(kGenerationSlots * kVocabulary, 0), true);
    const ValueId positions = b.expr("i + p", {{"i", b.iota(n, DType::i64)}, {"p", position}}, DType::i64);
    all = b.add(Op::index_put, {b.reshape(cache, {kGenerationSlots, kVocabulary}), rows, positions});
    p.write_back(0, b.reshape(all, {1, kGenerationSlots, kVocabulary}));
    const ValueId seen =
        b.expr("i <= p ? 1 : 0", {{"i", b.iota(kGenerationSlots, DType::i64)}, {"p", b.unsqueeze(positions, 1)}},
               DType::i64, DType::f32);
    all = b.matmul(seen, all);
  }
  p.output(b.reshape(all, {1, n, kVocabulary}));
  return p;
}

std::string refused(const Shape& shape, GenerationOptions options = {}) {
  TestProgram p = decoder(shape);
  try {
    add_generation(p.program(), options);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(Generation, CountsTokens) {
  TestProgram p = decoder({});
  const GenerationReport report = add_generation(p.program(), {.bos = 0, .eos = {1, 3}});
  EXPECT_EQ(report.context, kGenerationSlots);
  EXPECT_EQ(report.vocabulary, kVocabulary);
  EXPECT_EQ(*p.program().find_metadata("llm.eos"), "1, 3");
  Session session(p.model().prepare());
  Tensor position(DType::i64, {1}), temperature(DType::f32, {}), top_k(DType::i64, {}), top_p(DType::f32, {});
  temperature.span<float>()[0] = 0;
  top_k.span<std::int64_t>()[0] = 0;
  top_p.span<float>()[0] = 1;
  const auto step = [&](std::string_view function, std::int64_t index, const std::vector<std::int64_t>& tokens) {
    position.span<std::int64_t>()[0] = index;
    const Tensor argument = Tensor::borrow(tokens.data(), DType::i64, {1, static_cast<std::int64_t>(tokens.size())});
    const std::vector<Tensor>& out =
        session.run(function, std::vector<Tensor>{argument, position, temperature, top_k, top_p});
    std::vector<float> result = values_of(out[1]);
    result.push_back(static_cast<float>(out[0].span<const std::int64_t>()[0]));
    return result;
  };
  EXPECT_EQ(step("prefill", 0, {2, 1, 2}), (std::vector<float>{0, 1, 2, 0, 2}));
  EXPECT_EQ(step("decode", 3, {3}), (std::vector<float>{0, 1, 2, 1, 2}));
  EXPECT_EQ(step("prefill", 4, {3, 3}), (std::vector<float>{0, 1, 2, 3, 3}));
  EXPECT_THROW(step("decode", 6, {0}), Error);                             // full
  EXPECT_EQ(step("decode", 1, {0}), (std::vector<float>{1, 0, 1, 0, 0}));  // rewound
}

/// Largest logits' tokens, then all logits, of verify. `slot` -1: an archive without slots.
std::vector<float> verified(Session& session, std::int64_t slot, std::int64_t index,
                            const std::vector<std::int64_t>& tokens) {
  std::vector<Tensor> in = {Tensor::borrow(tokens.data(), DType::i64, {1, static_cast<std::int64_t>(tokens.size())})};
  if (slot >= 0) in.push_back(Tensor::borrow(&slot, DType::i64, {1}));
  in.push_back(Tensor::borrow(&index, DType::i64, {1}));
  const std::vector<Tensor>& out = session.run("verify", in);
  EXPECT_EQ(out[0].sizes(), (std::vector<std::int64_t>{1, std::ssize(tokens)}));
  EXPECT_EQ(out[1].sizes(), (std::vector<std::int64_t>{1, std::ssize(tokens), kVocabulary}));
  std::vector<float> result;
  for (const std::int64_t token : out[0].span<const std::int64_t>()) result.push_back(static_cast<float>(token));
  const std::vector<float> logits = values_of(out[1]);
  result.insert(result.end(), logits.begin(), logits.end());
  return result;
}

TEST(Generation, ChecksSeveralTokensInOneRun) {
  const std::vector<float> expected = {2, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 2, 1, 0};
  for (const std::int64_t batch : {0, 3}) {
    TestProgram p = decoder({});
    EXPECT_EQ(add_generation(p.program(), {.batch = batch}).verify, kGenerationSlots);
    EXPECT_EQ(*p.program().find_metadata("llm.verify"), "6");
    Session session(p.model().prepare());
    const std::int64_t slot = batch > 0 ? 1 : -1;
    EXPECT_EQ(verified(session, slot, 0, {2, 1, 1}), expected);
    // Takes back two tokens: a run at their position writes over them.
    EXPECT_EQ(verified(session, slot, 1, {3, 3}), (std::vector<float>{2, 3, 0, 0, 1, 1, 0, 0, 1, 2}));
    EXPECT_THROW(verified(session, slot, 5, {0, 0}), Error);  // full
    EXPECT_THROW(verified(session, slot, 0, {0, 4}), Error);  // unknown
  }
}

TEST(Generation, LacksVerifyForLogitsOfTheLastTokenAlone) {
  TestProgram p = decoder({});
  Function& f = p.program().functions[0];
  Builder& b = p.b();
  const ValueId all = f.outputs[0].value;
  f.outputs[0].value = b.slice(all, 1, b.pool().sub(b.shape(all)[1], 1), 1);
  EXPECT_EQ(add_generation(p.program(), {}).verify, 0);
  EXPECT_EQ(p.program().find_metadata("llm.verify"), nullptr);
  EXPECT_LT(p.program().find_entry("verify"), 0);
}

TEST(Generation, SaysWhatIsMissing) {
  EXPECT_EQ(refused({}), "");
  EXPECT_NE(refused({.batch = 2}).find("takes several texts"), std::string::npos);
  EXPECT_NE(refused({.dynamic = false}).find("export it with a dynamic number of tokens"), std::string::npos);
  EXPECT_NE(refused({.cache = false}).find("it has no cache"), std::string::npos);
  EXPECT_NE(refused({.mask = true}).find("is neither the tokens nor their position"), std::string::npos);
  EXPECT_NE(refused({}, {.eos = {4}}).find("--eos: the model has no token 4"), std::string::npos);
  EXPECT_NE(refused({}, {.bos = -1}).find("--bos: the model has no token -1"), std::string::npos);
}

TEST(Generation, RefusesInputsWhoseNamesSayTheyAreSomethingElse) {
  const auto told = [](const char* first, const char* second) {
    TestProgram p = decoder({});
    p.program().functions[0].inputs[0].name = first;
    p.program().functions[0].inputs[1].name = second;
    try {
      add_generation(p.program(), {});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(told("input_ids", "cache_position"), "");
  EXPECT_NE(told("input_ids", "attention_mask").find("seems to be a mask"), std::string::npos);
  EXPECT_NE(told("position_ids", "input_ids").find("seems to be a position"), std::string::npos);
}

/// Masked attention over keys and values from a cache, or from a constant of the same length.
std::size_t nodes_that_read_filled_slots(bool of_cache) {
  constexpr std::int64_t kMany = 200;
  TestProgram p = decoder({});
  Builder& b = p.b();
  const std::vector<float> zeros(kMany * kVocabulary, 0);
  const ValueId cache = p.state({1, 1, kMany, kVocabulary}, zeros, of_cache);
  ValueId keys = cache;
  if (of_cache) {
    const ValueId row = b.iota(1, DType::i64);
    const ValueId all =
        b.add(Op::index_put, {b.reshape(cache, {kMany, kVocabulary}),
                              b.cast(b.reshape(b.iota(kVocabulary, DType::i64), {1, kVocabulary}), DType::f32), row});
    keys = b.reshape(all, {1, 1, kMany, kVocabulary});
    p.write_back(1, keys);
  }
  const ValueId mask = b.cast(b.reshape(b.iota(kMany, DType::i64), {1, 1, 1, kMany}), DType::f32);
  const ValueId filled = b.reshape(b.iota(1, DType::i64), {});
  const ValueId query = b.cast(b.reshape(b.iota(kVocabulary, DType::i64), {1, 1, 1, kVocabulary}), DType::f32);
  Node n;
  n.op = Op::attention;
  n.inputs = {query, keys, keys, mask};
  n.attrs = {attr(AttrKey::causal, Dim(0))};
  b.add(std::move(n));
  return read_filled_slots(b, filled, b.function().nodes.size() - 1, kMany);
}

TEST(FilledSlots, ShortensCachesAlone) {
  EXPECT_EQ(nodes_that_read_filled_slots(true), 1u);
  EXPECT_EQ(nodes_that_read_filled_slots(false), 0u);
}

TEST(Specialise, CopiesWithASizeFixedAndBoundSymbolsFresh) {
  TestProgram p;
  Builder& b = p.b();
  const Dim n = b.pool().symbol("n", 1, 9);
  const ValueId x = p.input(DType::i64, {n}), count = p.input(DType::i64, {});
  const Dim found = b.pool().new_symbol("found", 0, 9);
  b.add_all(Op::item, {count}, {attr(AttrKey::symbols, Dims{found})});
  p.output(b.expand(b.reshape(x, {n, 1}), {n, found}));
  const std::uint32_t copy = specialise(p.program(), 0, b.pool().symbol_of(n), 3, "three");
  const Function& f = p.program().functions[copy];
  EXPECT_TRUE(f.entry);
  const Dims& out = f.values[static_cast<std::size_t>(f.outputs[0].value)].type.shape;
  EXPECT_TRUE(out[0].is(3));
  EXPECT_GE(b.pool().symbol_of(out[1]), 0);
  EXPECT_NE(out[1], found);
  EXPECT_EQ(p.program().functions[0].values[static_cast<std::size_t>(x)].type.shape[0], n);  // unchanged
}

TEST(Specialise, DropsRelationsThatTheSizeDecides) {
  TestProgram p;
  Builder& b = p.b();
  ExprPool& pool = b.pool();
  const Dim n = pool.symbol("n", 0, 9), m = pool.symbol("m", 0, 9);
  const ValueId x = p.input(DType::i64, {n, m});
  const auto assume = [&](Dim condition, const char* text) {
    b.add_all(Op::assert_dim, {},
              {attr(AttrKey::dim, condition), attr_text(AttrKey::text, text), attr(AttrKey::sizes, Dims{n}),
               attr_text(AttrKey::name, "x.shape[0]")});
  };
  assume(pool.ne(n, 1), "x.shape[0] != 1");
  assume(pool.le(n, 8), "x.shape[0] <= 8");
  assume(pool.lt(n, m), "x.shape[0] < x.shape[1]");
  p.output(b.reshape(x, {m, n}));
  const std::uint32_t copy = specialise(p.program(), 0, pool.symbol_of(n), 1, "decode");
  std::vector<std::string> retained;
  for (const Node& node : p.program().functions[copy].nodes) {
    if (node.op == Op::assert_dim) retained.push_back(node.text(AttrKey::text));
  }
  EXPECT_EQ(retained, std::vector<std::string>{"x.shape[0] < x.shape[1]"});

  assume(pool.le(4, n), "x.shape[0] >= 4");
  try {
    specialise(p.program(), 0, pool.symbol_of(n), 1, "decode");
    FAIL() << "a relation of the author that does not hold";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the program assumes x.shape[0] >= 4"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tern::testing
