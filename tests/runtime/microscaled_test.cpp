// Copies of MX values move their scales too: results of bodies, carried values, write-backs.
#include <gtest/gtest.h>
#include <tern/graph.h>

#include <cstdint>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;
using testing::values_of;

/// 1, 2, 3, 4 in float8_e4m3fn, and the scales 2 and 8 of blocks of two.
constexpr std::uint8_t kElements[] = {0x38, 0x40, 0x44, 0x48}, kScales[] = {128, 130};
const std::vector<float> kValues = {2, 4, 24, 32};

ValueId microscaled(TestProgram& p) {
  const ValueId elements = p.b().constant(DType::u8, {1, 4}, kElements),
                scales = p.b().constant(DType::u8, {2}, kScales);
  return p.b().add(Op::mx_pack, {elements, scales}, {attr_dtype(DType::f8_e4m3fn), attr(AttrKey::block, Dim(2))});
}

ValueId dequantized(TestProgram& p, ValueId v) {
  return p.b().add(Op::dequantize, {v}, {attr_dtype(DType::f32)});
}

/// A body that returns its only input, with the type of `like`.
std::uint32_t identity(TestProgram& p, ValueId like) {
  const TensorType type = p.program().functions[0].values[static_cast<std::size_t>(like)].type;
  const std::uint32_t body = p.add_body();
  const ValueId v = p.input(type.dtype, type.shape, body);
  p.program().functions[body].values[static_cast<std::size_t>(v)].type = type;
  p.output(v, body);
  return body;
}

TEST(Microscaled, ResultsOfBodies) {
  TestProgram p;
  const ValueId predicate = p.input(DType::boolean, {}), v = microscaled(p);
  Node cond;
  cond.op = Op::cond;
  cond.inputs = {predicate, v};
  cond.functions = {identity(p, v), identity(p, v)};
  p.output(dequantized(p, p.b().add(std::move(cond))[0]));
  Tensor yes(DType::boolean, {});
  yes.span<bool>()[0] = true;
  Session s(p.model().prepare());
  EXPECT_EQ(values_of(s.run({yes})[0]), kValues);
  Graph graph;
  graph.capture_begin(s.stream());
  const std::vector<Tensor>& results = s.run({yes});
  graph.capture_end();
  graph.replay();
  EXPECT_EQ(values_of(results[0]), kValues);
}

TEST(Microscaled, WriteBacks) {
  TestProgram p;
  const std::vector<std::byte> zeros(6);
  const ValueId state = p.b().constant(DType::f8_e4m3fn, {1, 6}, zeros.data()), v = microscaled(p);
  State& s = p.program().states[0];
  const TensorType type = p.program().functions[0].values[static_cast<std::size_t>(v)].type;
  s.type = p.program().functions[0].values[static_cast<std::size_t>(state)].type = type;
  s.name = "cache";
  s.strides = {4, 1};
  s.is_mutable = true;
  p.output(dequantized(p, state));
  p.write_back(0, v);
  Session session(p.model().prepare());
  EXPECT_EQ(values_of(session.run({})[0]), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(values_of(session.run({})[0]), kValues);
  EXPECT_THROW(session.write_state("cache", Tensor(DType::f8_e4m3fn, {1, 4})), Error);
}

}  // namespace
}  // namespace tern
