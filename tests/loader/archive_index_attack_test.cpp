// Attacks on the FlatBuffer of an index: shared vectors, rows that no writer would make. All hashes are correct.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <limits>

#include "loader/archive.h"
#include "loader/validate.h"
#include "schema/archive_generated.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// An archive without segments, with the index from `build`.
template <class Build>
std::vector<std::byte> archive_of_index(Build build) {
  FlatBufferBuilder b;
  b.Finish(build(b), archive::IndexIdentifier());
  return assemble({}, std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize())));
}

void expect_broken_rule(std::span<const std::byte> bytes, const std::string& rule) {
  EXPECT_NE(open_error(bytes).find("rule " + rule), std::string::npos)
      << rule << " expected, not: " << open_error(bytes);
  const std::vector<std::string> rules = rules_broken(bytes);
  EXPECT_NE(std::find(rules.begin(), rules.end(), rule), rules.end()) << rule;
}

TEST(ArchiveIndexAttack, EmptyIndexIsAnEmptyProgram) {
  const auto bytes = archive_of_index([](FlatBufferBuilder& b) { return archive::CreateIndex(b); });
  EXPECT_EQ(open_error(bytes), "");
}

TEST(ArchiveIndexAttack, FieldsOfANewerSchemaAreIgnored) {
  constexpr flatbuffers::voffset_t kNewer = 4 + 2 * 40;  // field 40 of Index
  const auto bytes = archive_of_index([](FlatBufferBuilder& b) {
    const auto texts = b.CreateVectorOfStrings(std::vector<std::string>{"", "key", "value"});
    const std::vector<archive::Metadata> pairs = {{1, 2}};
    const auto metadata = b.CreateVectorOfStructs(pairs);
    const auto newer = b.CreateString("of a later version");
    archive::IndexBuilder index(b);
    index.add_texts(texts);
    index.add_metadata(metadata);
    b.AddOffset(kNewer, newer);
    return index.Finish();
  });
  EXPECT_EQ(open_error(bytes), "");
  EXPECT_EQ(*open_archive(bytes, {})->find_metadata("key"), "value");
}

TEST(ArchiveIndexAttack, OtherFlatBuffers) {
  FlatBufferBuilder b;
  b.Finish(archive::CreateIndex(b), "NRET");
  expect_broken_rule(assemble({}, std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()))), "index.flatbuffer");
  expect_broken_rule(assemble({}, std::vector<std::byte>(4)), "index.flatbuffer");
  expect_broken_rule(assemble({}, std::vector<std::byte>(64, std::byte{0xff})), "index.flatbuffer");
  expect_broken_rule(assemble({}, {}), "prologue.index");
}

TEST(ArchiveIndexAttack, UnknownFeaturesAreRefusedByName) {
  const auto with_features = [](const std::vector<std::uint32_t>& numbers) {
    return archive_of_index([&](FlatBufferBuilder& b) {
      const auto texts = b.CreateVectorOfStrings({"", "segments.lz4"});
      const auto features = b.CreateVector(numbers);
      // No storage has this number: the table's meaning is unknown, so no finding is about it.
      const auto packings = b.CreateVector(std::vector{archive::CreatePacking(b, 7, 7, 0)});
      archive::IndexBuilder index(b);
      index.add_texts(texts);
      index.add_packings(packings);
      index.add_features(features);
      return index.Finish();
    });
  };
  const auto bytes = with_features({1});
  EXPECT_NE(open_error(bytes).find("needs 'segments.lz4'"), std::string::npos) << open_error(bytes);
  EXPECT_EQ(rules_broken(bytes), std::vector<std::string>{"index.features"});
  expect_broken_rule(with_features({2}), "texts.number");
  expect_broken_rule(with_features({}), "packings.storage");
}

TEST(ArchiveIndexAttack, PackingsOfStoragesThatAreNotThere) {
  for (const auto& [storage, packed] : {std::pair(0u, 1u), std::pair(1u, 0u), std::pair(0u, 0u), std::pair(~0u, ~0u)}) {
    const auto bytes = archive_of_index([&](FlatBufferBuilder& b) {
      const auto storages = b.CreateVector(std::vector{archive::CreateStorage(b, 0, -1)});
      const auto packings = b.CreateVector(std::vector{archive::CreatePacking(b, storage, packed, 0)});
      archive::IndexBuilder index(b);
      index.add_storages(storages);
      index.add_packings(packings);
      return index.Finish();
    });
    expect_broken_rule(bytes, "packings.storage");
  }
}

// FIELD 20: a vector used by a thousand attributes would be copied a thousand times.
TEST(ArchiveIndexAttack, SharedVectors) {
  const auto bytes = archive_of_index([](FlatBufferBuilder& b) {
    const auto sizes = b.CreateVector(std::vector<std::int64_t>(100'000, 2));
    std::vector<Offset<archive::Attribute>> attributes;
    for (int i = 0; i < 1000; ++i)
      attributes.push_back(archive::CreateAttribute(b, 1, archive::AttributeKind::sizes, sizes));
    const auto rows = b.CreateVector(attributes);
    const auto nodes = b.CreateVector(std::vector{archive::CreateNode(b, 1, 1, 0, 0, rows)});
    const auto functions = b.CreateVector(std::vector{archive::CreateFunction(b, 0, false, 0, 0, 0, 0, nodes)});
    archive::IndexBuilder index(b);
    index.add_functions(functions);
    return index.Finish();
  });
  expect_broken_rule(bytes, "index.sharing");
}

TEST(ArchiveIndexAttack, SharedTables) {
  const auto bytes = archive_of_index([](FlatBufferBuilder& b) {
    const auto node = archive::CreateNode(b, 1, 1, b.CreateVector(std::vector<std::int32_t>(1000, -1)));
    const auto nodes = b.CreateVector(std::vector(1000, node));
    const auto function = archive::CreateFunction(b, 0, false, 0, 0, 0, 0, nodes);
    const auto functions = b.CreateVector(std::vector(1000, function));
    archive::IndexBuilder index(b);
    index.add_functions(functions);
    return index.Finish();
  });
  // A million nodes in 12 KB: the verifier's limit of tables.
  expect_broken_rule(bytes, "index.flatbuffer");
}

// Strings and types are shared by number, legally: the reader limits their total expansion.
TEST(ArchiveIndexAttack, TextsThatGrow) {
  const auto bytes = archive_of_index([](FlatBufferBuilder& b) {
    const auto origins = b.CreateVectorOfStructs(std::vector<archive::Origin>(100'000, archive::Origin(1, 1, 1)));
    const auto texts = b.CreateVectorOfStrings({"", std::string(4096, 'x')});
    archive::IndexBuilder index(b);
    index.add_texts(texts);
    index.add_origins(origins);
    return index.Finish();
  });
  expect_broken_rule(bytes, "index.memory");
}

std::vector<std::byte> archive_of_expressions(const std::vector<archive::Expression>& rows) {
  return archive_of_index([&](FlatBufferBuilder& b) {
    const auto symbols = b.CreateVector(std::vector{archive::CreateSymbol(b, 0, 1, 100)});
    const auto expressions = b.CreateVectorOfStructs(rows);
    archive::IndexBuilder index(b);
    index.add_symbols(symbols);
    index.add_expressions(expressions);
    return index.Finish();
  });
}

// FIELD 12: cyclic expressions, missing symbols, unknown operations.
TEST(ArchiveIndexAttack, Expressions) {
  const auto number = [](ExprOp op) { return static_cast<std::uint8_t>(op); };
  const archive::Expression symbol(0, 0, 0, 0, number(ExprOp::symbol));
  EXPECT_EQ(open_error(archive_of_expressions({symbol, {0, 0, 0, 0, number(ExprOp::add)}})), "");
  expect_broken_rule(archive_of_expressions({symbol, {0, 0, 1, 0, number(ExprOp::add)}}), "expressions.order");
  expect_broken_rule(archive_of_expressions({symbol, {0, 2, 0, 0, number(ExprOp::add)}, symbol}), "expressions.order");
  expect_broken_rule(archive_of_expressions({{0, 0, 0, 0, number(ExprOp::logical_not)}}), "expressions.order");
  expect_broken_rule(archive_of_expressions({symbol, {0, 0, 0, 0xffffffff, number(ExprOp::select)}}),
                     "expressions.order");
  for (std::int64_t bad : {std::int64_t{1}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    expect_broken_rule(archive_of_expressions({{bad, 0, 0, 0, number(ExprOp::symbol)}}), "expressions.symbol");
  }
  expect_broken_rule(archive_of_expressions({{0, 0, 0, 0, kExprOpCount}}), "expressions.op");
}

TEST(ArchiveIndexAttack, NumbersOfThingsThatAreNotThere) {
  const auto state = [](std::uint32_t name, std::uint32_t type, std::int64_t size) {
    return archive_of_index([=](FlatBufferBuilder& b) {
      const auto shape = b.CreateVector(std::vector{size});
      const auto types = b.CreateVector(std::vector{archive::CreateType(b, 2, shape)});
      const auto strides = b.CreateVector(std::vector<std::int64_t>{1});
      const auto states =
          b.CreateVector(std::vector{archive::CreateState(b, name, archive::StateKind::buffer, type, 0, strides)});
      const auto storages = b.CreateVector(std::vector{archive::CreateStorage(b)});
      archive::IndexBuilder index(b);
      index.add_types(types);
      index.add_states(states);
      index.add_storages(storages);
      return index.Finish();
    });
  };
  EXPECT_EQ(open_error(state(0, 0, 0)), "");
  expect_broken_rule(state(1, 0, 0), "texts.number");
  expect_broken_rule(state(0xffffffff, 0, 0), "texts.number");
  expect_broken_rule(state(0, 1, 0), "types.number");
  expect_broken_rule(state(0, 0, 1), "sizes.expression");
  expect_broken_rule(state(0, 0, -1), "sizes.expression");
  expect_broken_rule(state(0, 0, std::numeric_limits<std::int64_t>::max()), "sizes.expression");
  expect_broken_rule(state(0, 0, std::numeric_limits<std::int64_t>::min()), "states.type");
  expect_broken_rule(state(0, 0, 2), "states.inside");
}

TEST(ArchiveIndexAttack, LongNames) {
  const auto bytes = archive_of_index([](FlatBufferBuilder& b) {
    const auto texts = b.CreateVectorOfStrings({"", std::string(4097, 'x')});
    const auto symbols = b.CreateVector(std::vector{archive::CreateSymbol(b, 1, 0, 1)});
    archive::IndexBuilder index(b);
    index.add_texts(texts);
    index.add_symbols(symbols);
    return index.Finish();
  });
  expect_broken_rule(bytes, "texts.length");
}

TEST(ArchiveIndexAttack, Packings) {
  const auto packing = [](std::uint32_t storage, std::uint32_t packed) {
    return archive_of_index([=](FlatBufferBuilder& b) {
      const auto packings = b.CreateVector(std::vector{archive::CreatePacking(b, storage, packed)});
      const auto storages = b.CreateVector(std::vector{archive::CreateStorage(b), archive::CreateStorage(b)});
      archive::IndexBuilder index(b);
      index.add_storages(storages);
      index.add_packings(packings);
      return index.Finish();
    });
  };
  EXPECT_EQ(open_error(packing(0, 1)), "");
  expect_broken_rule(packing(0, 0), "packings.storage");
  expect_broken_rule(packing(0, 2), "packings.storage");
  expect_broken_rule(packing(0xffffffff, 1), "packings.storage");
}

TEST(ArchiveIndexAttack, KernelsOfStoragesThatAreNotThere) {
  for (std::uint32_t storage : {0u, 1u, 0xffffffffu}) {  // the first is empty
    const auto bytes = archive_of_index([=](FlatBufferBuilder& b) {
      const auto texts = b.CreateVectorOfStrings({"", "tern_pointwise"});
      const auto kernels = b.CreateVector(std::vector{archive::CreateKernel(b, 1, 0, 1, 2, storage)});
      const auto storages = b.CreateVector(std::vector{archive::CreateStorage(b)});
      archive::IndexBuilder index(b);
      index.add_texts(texts);
      index.add_storages(storages);
      index.add_kernels(kernels);
      return index.Finish();
    });
    expect_broken_rule(bytes, "kernels.storage");
  }
}

}  // namespace
}  // namespace tern::test
