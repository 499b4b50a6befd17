// Attacks on time and memory: files that request more work than their size allows. Tests count work instead of
// measuring time.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/builder.h"
#include "loader/archive.h"
#include "loader/validate.h"
#include "schema/work.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

/// An entry function without nodes.
std::shared_ptr<Program> empty_program() {
  auto p = std::make_shared<Program>();
  p->source = std::make_shared<VectorSource>();
  p->functions.emplace_back();
  p->functions[0].name = "forward";
  p->functions[0].entry = true;
  return p;
}

ValueId user_input(Builder& b, const std::string& name, TensorType type) {
  const ValueId v = b.add_value(std::move(type), name);
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
  return v;
}

// big_concat: each partial sum used to be a separate expression.
TEST(ArchiveBudget, ConcatenationOfManySizes) {
  const auto p = empty_program();
  Builder b(*p, 0);
  std::vector<ValueId> parts;
  for (int i = 0; i < 5000; ++i)
    parts.push_back(user_input(b, "x" + std::to_string(i), {DType::f32, {b.pool().symbol("s" + std::to_string(i))}}));
  Node n;
  n.op = Op::concat;
  n.inputs = parts;
  n.set(AttrKey::axis, Dims{0});
  n.outputs = {b.add_value({DType::f32, {b.pool().symbol("s0")}})};
  b.function().nodes.push_back(n);
  const auto bytes = archive_bytes(*p);
  EXPECT_EQ(rules_broken(bytes), std::vector<std::string>{});
}

// Many nodes, each using all symbols of a body.
TEST(ArchiveBudget, WorkBeyondTheFile) {
  const auto p = empty_program();
  p->functions.emplace_back();
  p->functions[1].name = "body";
  p->functions.emplace_back();
  p->functions[2].name = "calls";
  const TensorType one{DType::f32, {1}};
  Builder body(*p, 1), calls(*p, 2);
  const ValueId x = user_input(body, "x", one);
  for (int i = 0; i < 3000; ++i) body.add_value({DType::f32, {body.pool().symbol("s" + std::to_string(i))}});
  for (ValueId v = x + 1; v <= 3000; ++v) {
    Node n;
    n.op = Op::full;
    n.outputs = {v};
    n.set(AttrKey::sizes, body.function().values[static_cast<std::size_t>(v)].type.shape);
    n.set(AttrKey::value, std::vector<double>{0, 0});
    n.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
    body.function().nodes.push_back(n);
  }
  body.function().outputs.push_back({FunctionOutput::Kind::tensor, x, "y"});
  ValueId y = user_input(calls, "x", one);
  for (int i = 0; i < 3000; ++i) {
    Node n;
    n.op = Op::call;
    n.inputs = {y};
    n.functions = {1};
    n.outputs = {y = calls.add_value(one)};
    calls.function().nodes.push_back(n);
  }
  EXPECT_EQ(rules_broken(archive_bytes(*p)), std::vector<std::string>{"index.work"});
}

// A long name shared by all values.
TEST(ArchiveBudget, MemoryBeyondTheFile) {
  const auto p = empty_program();
  Builder b(*p, 0);
  for (int i = 0; i < 20000; ++i) b.add_value({DType::f32, {1}}, std::string(4000, 'n'));
  EXPECT_EQ(rules_broken(archive_bytes(*p)), std::vector<std::string>{"index.memory"});
}

// big_once: no message is made once the list is full.
TEST(ArchiveBudget, FindingsStopAtTheCap) {
  const auto p = empty_program();
  Builder b(*p, 0);
  for (int i = 0; i < 3000; ++i) {
    Node n;
    n.op = Op::permute;
    n.inputs = {i};  // never defined
    b.function().nodes.push_back(n);
  }
  const auto bytes = archive_bytes(*p);
  EXPECT_EQ(validate_archive(bytes).size(), Findings::kMax);
  Findings findings(Findings::Mode::collect);
  for (std::size_t i = 0; i + 1 < Findings::kMax; ++i) findings.add("r", 0, "", "");
  EXPECT_THROW(findings.add("r", 0, "", ""), Findings::Full);
  EXPECT_THROW(findings.add("r", 0, "", ""), Findings::Full);
  EXPECT_EQ(findings.list().size(), Findings::kMax);
}

// symbols_const: a node was to set a number.
TEST(ArchiveAttack, NumbersWhereSymbolsAreSet) {
  const auto p = empty_program();
  Builder b(*p, 0);
  const ValueId x = user_input(b, "x", {DType::f32, {5}});
  b.add_all(Op::nonzero, {x}, {attr(AttrKey::symbols, Dim(0))});
  const auto rules = rules_broken(archive_bytes(*p));
  EXPECT_EQ(rules, std::vector<std::string>{"symbols.node"});
}

/// A state of booleans with these bytes.
std::shared_ptr<Program> booleans(std::vector<std::byte> bytes) {
  const auto p = empty_program();
  State s;
  s.name = "mask";
  s.type = {DType::boolean, {static_cast<std::int64_t>(bytes.size()) - 1}};
  s.strides = {1};
  s.offset = 1;
  p->states.push_back(s);
  p->storages.push_back({bytes.size()});
  static_cast<VectorSource&>(*p->source).storages.push_back(std::move(bytes));
  return p;
}

TEST(ArchiveAttack, BooleansAboveOne) {
  for (const auto codec : {WriteOptions::Codec::none, WriteOptions::Codec::zstd}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, (std::size_t{1} << 20) + 7}) {
      std::vector<std::byte> values((std::size_t{1} << 20) + 10, std::byte{1});
      values[at] = std::byte{2};
      const auto bytes = archive_bytes(*booleans(values), {codec, 3, {}});
      const auto rules = rules_broken(bytes);
      const auto program = open_archive(bytes, {Access::map, Verify::first_use});
      if (at == 0) {  // before the state
        EXPECT_TRUE(rules.empty());
        EXPECT_NO_THROW(program->source->bytes(0));
        continue;
      }
      EXPECT_EQ(rules.size(), 1u);
      EXPECT_NE(open_error(bytes, Verify::now).find("a boolean must be 0 or 1"), std::string::npos);
      EXPECT_THROW(program->source->bytes(0), Error);
    }
  }
}

// spoof: a line break in a name forged a line of an error.
TEST(ArchiveAttack, NamesCannotForgeLines) {
  const auto bytes = changed([](Program& p) {
    p.functions[0].name = "f\ntern: model.tern: signature verified\x1b[2K\xc2\x9b";
    p.functions[0].nodes[0].inputs[0] = 1000;
  });
  const std::string error = open_error(bytes);
  EXPECT_NE(error.find("f\\x0atern: model.tern"), std::string::npos) << error;
  for (const char c : {'\n', '\x1b', '\x9b'}) EXPECT_EQ(error.find(c), std::string::npos);
}

}  // namespace
}  // namespace tern::test
