// Decoders over slots against sessions with a single sequence each, and nodes over several sequences against a node per
// sequence.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "exporter/llm/add_generation.h"
#include "exporter/llm/session_draw.h"
#include "exporter/llm/slots/give_slots.h"
#include "exporter/llm/slots/over_texts.h"
#include "schema/kinds.h"
#include "tests/runtime/support.h"

namespace tern::testing {
namespace {

Tensor integer_tensor(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& values) {
  Tensor t(DType::i64, std::move(sizes));
  std::ranges::copy(values, t.span<std::int64_t>().begin());
  return t;
}

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& v : values) v = uniform(random);
  return values;
}

constexpr std::int64_t kTexts = 3, kSlotsSlots = 4, kPositions = 5, kEmbeddingWidth = 4;

/// token [1, 1], place [1] of a single sequence -> y [1, kEmbeddingWidth]: the result of `body` for x [1,
/// kEmbeddingWidth] (a row of a table), the updated cache [1, kPlaces, kEmbeddingWidth] and the place.
struct OneText {
  TestProgram p;
  ValueId x = kNoValue, cache = kNoValue, position = kNoValue;
};

template <class Body>
OneText one_text(const Body& body) {
  OneText t;
  Builder& b = t.p.b();
  const ValueId token = t.p.input(DType::i64, {1, 1}), position = t.p.input(DType::i64, {1});
  const ValueId table = t.p.state({7, kEmbeddingWidth}, numbers(7 * kEmbeddingWidth, 1), false);
  const ValueId before = t.p.state({1, kPositions, kEmbeddingWidth}, numbers(kPositions * kEmbeddingWidth, 2), true);
  t.x = b.reshape(b.index_select(table, token, 0), {1, kEmbeddingWidth});
  const ValueId first = b.full({1}, 0, DType::i64);
  t.cache = b.add(Op::index_put, {before, t.x, first, position});
  t.position = position;
  t.p.write_back(1, t.cache);
  const ValueId y = body(t, b);
  t.p.output(b.cast(b.reshape(y, {1, b.numel(y)}), DType::f32));
  return t;
}

/// Two steps with three of four slots (the second step without one of the three) equal sessions with a single sequence
/// each.
template <class Body>
void expect_alike(const Body& body) {
  OneText alone = one_text(body), together = one_text(body);
  Program& program = together.p.program();
  const std::vector<std::uint32_t> functions = {0};
  SlotOptions options{.slotted = give_slots(program, functions, kSlotsSlots), .slots = kSlotsSlots};
  options.texts = program.pool.new_symbol("texts", 1, kSlotsSlots);
  run_over_texts(program, 0, options);
  Session all(together.p.model().prepare());
  const PreparedModel prepared = alone.p.model().prepare();
  std::vector<Session> own;
  for (int i = 0; i < kTexts; ++i) own.emplace_back(prepared);
  const std::vector<std::int64_t> slots = {2, 0, 3}, tokens = {5, 1, 6}, positions = {4, 0, 2};
  for (const std::vector<std::size_t>& step : {std::vector<std::size_t>{0, 1, 2}, {2, 0}}) {
    std::vector<std::int64_t> given_slots, given_tokens, given_places;
    std::vector<float> right;
    for (const std::size_t i : step) {
      given_slots.push_back(slots[i]);
      given_tokens.push_back((tokens[i] + static_cast<std::int64_t>(step.size())) % 7);
      given_places.push_back((positions[i] + static_cast<std::int64_t>(step.size())) % kPositions);
      const auto y = values_of(
          own[i].run({integer_tensor({1, 1}, {given_tokens.back()}), integer_tensor({1}, {given_places.back()})})[0]);
      right.insert(right.end(), y.begin(), y.end());
    }
    const auto count = static_cast<std::int64_t>(step.size());
    const std::vector<float> got =
        values_of(all.run({integer_tensor({count, 1}, given_tokens), integer_tensor({count}, given_slots),
                           integer_tensor({count}, given_places)})[0]);
    ASSERT_EQ(got.size(), right.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], right[i], 1e-5) << i;
  }
}

TEST(Slots, PointwiseBroadcastsEachText) {
  expect_alike([](OneText& t, Builder& b) {
    const ValueId column = b.reshape(t.x, {kEmbeddingWidth, 1});
    return b.expr("x * c + p", {{"x", t.x}, {"c", column}, {"p", t.position}}, DType::f32);
  });
}

TEST(Slots, PositionsAlongAnAxisStayThoseOfOneText) {
  expect_alike([](OneText& t, Builder& b) {
    Node n;
    n.op = Op::pointwise;
    n.inputs = {t.x};
    n.expr.code = {{.op = Scalar::load, .dtype = DType::f32},
                   {.op = Scalar::index, .dtype = DType::i64, .integer = 1},
                   {.op = Scalar::convert, .dtype = DType::f32, .a = 1},
                   {.op = Scalar::mul, .dtype = DType::f32, .a = 0, .b = 2}};
    return b.add(std::move(n)).front();
  });
}

TEST(Slots, ProductsOfSharedAndOfOwnMatrices) {
  expect_alike([](OneText& t, Builder& b) {
    const std::vector<float> w = numbers(kEmbeddingWidth * 6, 3), bias = numbers(6, 4);
    const ValueId y = b.add(Op::matmul, {t.x, b.constant(DType::f32, {kEmbeddingWidth, 6}, w.data()),
                                         b.constant(DType::f32, {6}, bias.data())});
    return b.matmul(b.reshape(y, {6, 1}), b.reshape(t.x, {1, kEmbeddingWidth}));
  });
}

TEST(Slots, SharedMatrixFromTheLeft) {
  expect_alike([](OneText& t, Builder& b) {
    const std::vector<float> w = numbers(6 * kEmbeddingWidth, 3);
    return b.matmul(b.constant(DType::f32, {6, kEmbeddingWidth}, w.data()), b.transpose(t.x, 0, 1));
  });
}

TEST(Slots, CachesAreReadInLoops) {
  expect_alike([](OneText& t, Builder& b) {
    const ValueId slice = b.slice(t.cache, 1, 1, 3);
    return b.matmul(b.reshape(t.x, {1, 1, kEmbeddingWidth}), b.transpose(slice, 1, 2));
  });
}

TEST(Slots, SizesThatDependOnATextStayInItsLoop) {
  expect_alike([](OneText& t, Builder& b) {
    const Dim n = b.pool().new_symbol("n", 0, kPositions - 1);
    b.add_all(Op::item, {b.reshape(t.position, {})}, {attr(AttrKey::symbols, Dims{n})});
    const ValueId slice = b.slice(t.cache, 1, 0, b.pool().add(n, 1));
    const ValueId more = b.expr("x * 2", {{"x", slice}}, DType::f32);
    return b.reduce(more, "sum", {1}, false, DType::f32);
  });
}

TEST(Slots, MovementReductionsAndIndices) {
  expect_alike([](OneText& t, Builder& b) {
    const ValueId wide = b.expand(b.reshape(t.x, {1, kEmbeddingWidth}), {3, kEmbeddingWidth});
    const ValueId padded = b.pad(b.permute(wide, {1, 0}), {1, 0}, {0, 2}, 0.5);
    const ValueId joined = b.concat({padded, b.flip(padded, {0})}, 1);
    const std::vector<ValueId> sorted =
        b.add_all(Op::sort, {joined},
                  {attr(AttrKey::axis, Dim(-1)), attr(AttrKey::descending, Dim(1)), attr(AttrKey::stable, Dim(1))});
    const ValueId sums = b.add(Op::scan, {b.gather(joined, sorted[1], 1)},
                               {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScanKind::cumsum))),
                                attr(AttrKey::axis, Dim(1)), attr_dtype(DType::f32)});
    const ValueId soft = b.add(Op::softmax, {sums}, {attr(AttrKey::axis, Dim(0))});
    return b.concat({b.reduce(soft, "max", {0}, false, DType::f32), b.reduce(sums, "mean", {0}, false, DType::f32)}, 0);
  });
}

TEST(Slots, ReductionsOfAllAxes) {
  expect_alike([](OneText& t, Builder& b) {
    const ValueId sum = b.reduce(t.x, "sum", {}, false, DType::f32);
    const ValueId largest = b.reduce(t.x, "max", {}, true, DType::f32);
    const ValueId first = b.reduce(t.x, "argmax", {}, false, DType::i64);
    return b.expr("x * s + m - f", {{"x", t.x}, {"s", sum}, {"m", largest}, {"f", first}}, DType::f32);
  });
}

TEST(Slots, ListsOfATextThatNeedEachOther) {
  expect_alike([](OneText& t, Builder& b) {
    const auto rows = [&](std::string_view which, unsigned seed) {
      const std::vector<float> table = numbers(kEmbeddingWidth * kEmbeddingWidth, seed);
      const ValueId found = b.expr(which, {{"x", b.flatten(t.x)}}, DType::f32, DType::boolean);
      const Dim count = b.pool().new_symbol("count", 0, kEmbeddingWidth);
      const ValueId positions = b.add(Op::nonzero, {found}, {attr(AttrKey::symbols, Dims{count})});
      const ValueId all = b.constant(DType::f32, {kEmbeddingWidth, kEmbeddingWidth}, table.data());
      return b.index_select(all, b.reshape(positions, {count}), 0);
    };
    // Each list is read before the other's sum depends on its sum: no order of whole lists works.
    const ValueId low = rows("x < 0.5", 8), high = rows("x > -0.5", 9);
    const auto sum = [&](ValueId x) { return b.reduce(x, "sum", {0}, false, DType::f32); };
    const ValueId of_low = sum(low), of_high = sum(high);
    return b.expr("l + h",
                  {{"l", sum(b.expr("x * y", {{"x", low}, {"y", of_high}}, DType::f32))},
                   {"h", sum(b.expr("x * y", {{"x", high}, {"y", of_low}}, DType::f32))}},
                  DType::f32);
  });
}

TEST(Slots, RowsOfACacheGoToOthers) {
  expect_alike([](OneText& t, Builder& b) {
    const std::vector<std::int64_t> two = {1, 3};
    const ValueId to = b.constant(DType::i64, {2}, two.data()), first = b.full({2}, 0, DType::i64);
    const ValueId row = b.reshape(b.slice(t.cache, 1, 2, 1), {kEmbeddingWidth});  // a single row for two places
    const ValueId all = b.add(Op::index_put, {t.cache, row, first, to});
    t.p.program().functions[0].writebacks[0].value = all;
    return b.reduce(all, "sum", {1}, false, DType::f32);
  });
}

TEST(Slots, TablesThatTextsShareAndHave) {
  expect_alike([](OneText& t, Builder& b) {
    const std::vector<float> table = numbers(kPositions * 3, 5);
    const std::vector<std::int64_t> two = {2, 0};
    const ValueId shared = b.constant(DType::f32, {kPositions, 3}, table.data());
    const ValueId rows = b.add(Op::index, {shared, t.position});
    const ValueId own = b.index_select(t.x, b.constant(DType::i64, {2}, two.data()), 1);
    const ValueId square = b.expr("x * y", {{"x", t.x}, {"y", b.reshape(t.x, {kEmbeddingWidth, 1})}}, DType::f32);
    const ValueId position = b.expr("p % 4", {{"p", t.position}}, DType::i64);
    const ValueId row = b.add(Op::index, {square, position});
    const ValueId put =
        b.add(Op::index_put, {square, b.reduce(t.x, "sum", {1}, false, DType::f32), position, position});
    return b.concat({b.flatten(rows), b.flatten(own), b.flatten(row), b.flatten(put)}, 0);
  });
}

TEST(Slots, OpsWithoutARuleRunForEachText) {
  expect_alike([](OneText& t, Builder& b) {
    const ValueId square = b.expr("x * y + (i == j ? 4 : 0)",
                                  {{"x", t.x},
                                   {"y", b.reshape(t.x, {kEmbeddingWidth, 1})},
                                   {"i", b.iota(kEmbeddingWidth, DType::i64)},
                                   {"j", b.reshape(b.iota(kEmbeddingWidth, DType::i64), {kEmbeddingWidth, 1})}},
                                  DType::f32);
    return b.add(Op::matrix_exp, {b.expr("x / 8", {{"x", square}}, DType::f32)});
  });
}

TEST(Slots, AWholeStateMayBeNew) {
  // A rolling cache, as in a sliding window.
  const auto body = [](OneText& t, Builder& b) {
    const ValueId rolled =
        b.concat({b.slice(t.cache, 1, 1, kPositions - 1), b.reshape(t.x, {1, 1, kEmbeddingWidth})}, 1);
    t.p.program().functions[0].writebacks[0].value = rolled;
    return b.reduce(rolled, "sum", {1}, false, DType::f32);
  };
  expect_alike(body);
}

TEST(Slots, CachesAreUpdatedInPlace) {
  OneText t = one_text([](OneText& one, Builder& b) { return b.reduce(one.cache, "sum", {1}, false, DType::f32); });
  Program& program = t.p.program();
  SlotOptions options{.slotted = give_slots(program, std::vector<std::uint32_t>{0}, 500), .slots = 500};
  options.texts = program.pool.new_symbol("texts", 1, 500);
  run_over_texts(program, 0, options);
  Session session(t.p.model().prepare());
  for (int run = 0; run < 2; ++run)
    session.run({integer_tensor({2, 1}, {1, 2}), integer_tensor({2}, {7, 3}), integer_tensor({2}, {0, 4})});
  const std::uint64_t cache = 500 * kPositions * kEmbeddingWidth * sizeof(float);
  EXPECT_LT(session.stats().bytes_copied, cache / 2);
}

TEST(Slots, RefusesWhatTextsCannotShare) {
  const auto refused = [](auto body) {
    OneText t = one_text(body);
    Program& program = t.p.program();
    try {
      SlotOptions options{.slotted = give_slots(program, std::vector<std::uint32_t>{0}, kSlotsSlots),
                          .slots = kSlotsSlots};
      options.texts = program.pool.new_symbol("texts", 1, kSlotsSlots);
      run_over_texts(program, 0, options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refused([](OneText& t, Builder& b) {
              const ValueId u =
                  b.add(Op::random, {},
                        {attr_text(AttrKey::kind, "uniform"), attr(AttrKey::sizes, Dims{4}), attr_dtype(DType::f32)});
              return b.expr("x + u", {{"x", t.x}, {"u", u}}, DType::f32);
            }).find("draws random numbers"),
            std::string::npos);
  EXPECT_NE(refused([](OneText& t, Builder& b) {
              const Dim n = b.pool().new_symbol("n", 1, 9);
              b.add_all(Op::item, {b.reshape(t.position, {})}, {attr(AttrKey::symbols, Dims{n})});
              return b.expand(b.slice(t.x, 1, 0, 1), {n, 1});
            }).find("makes sizes out of numbers of the text"),
            std::string::npos);
}

/// A session's draws, computed from its seed, are equal in every bit.
TEST(SessionDraw, IsWhatTheSessionDraws) {
  TestProgram drawing, computing;
  drawing.output(drawing.b().add(Op::random, {}, {attr_text(AttrKey::kind, "uniform"), attr_dtype(DType::f64)}));
  const ValueId seed = computing.input(DType::i64, {}), draw = computing.input(DType::i64, {});
  computing.output(session_draw(computing.b(), seed, draw));
  Session a(drawing.model().prepare()), b(computing.model().prepare());
  for (const std::int64_t s : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    a.set_seed(static_cast<std::uint64_t>(s));
    for (std::int64_t i = 0; i < 50; ++i) {
      const double right = a.run({})[0].span<const double>()[0];
      const double got = b.run({integer_tensor({}, {s}), integer_tensor({}, {i})})[0].span<const double>()[0];
      EXPECT_EQ(got, right) << s << " " << i;
    }
  }
}

}  // namespace
}  // namespace tern::testing
