// Limits of the importer: declared sizes decide neither memory nor time, and the loader accepts every written archive.
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/archive_writer.h"
#include "loader/validate.h"
#include "schema/work.h"
#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

Json huge(std::vector<std::int64_t> sizes) {
  std::vector<Json> list;
  for (std::int64_t s : sizes) list.push_back(size(s));
  return meta_of(list);
}

// L_unbind
TEST(ImportLimits, ResultsAreThoseThatTheNodeNames) {
  for (const char* target : {"unbind.int", "tensor_split.sections"}) {
    TracedModel m;
    m.user("x", huge({std::int64_t{1} << 33, 2}));
    Arguments arguments = {{"self", tensor("x")}, {"dim", integer(0)}};
    if (target[0] == 't') arguments.insert(arguments.begin() + 1, {"sections", integer(std::int64_t{1} << 40)});
    m.list_node(std::string("torch.ops.aten.") + target, arguments, {{"y", meta({2})}});
    m.result("y");
    const std::string error = error_of([&] { m.load(); });
    EXPECT_NE(error.find("the node names 1"), std::string::npos) << error;
    EXPECT_NE(error.find(target), std::string::npos) << error;
  }
}

// A node with more results than its operands give is a mistake in the file, not a defect of Tern.
TEST(ImportLimits, NoMoreResultsThanOperandsGive) {
  TracedModel m;
  m.user("x", meta({4}));
  m.list_node("torch.ops.aten.split_with_sizes.default",
              {{"self", tensor("x")}, {"split_sizes", integers({1, 3})}, {"dim", integer(0)}},
              {{"a", meta({1})}, {"b", meta({3})}, {"c", meta({3})}});
  m.result("c");
  const std::string error = error_of([&] { m.load(); });
  EXPECT_NE(error.find("produce 2 results, but the node also names 'c'"), std::string::npos) << error;
}

// p_sum
TEST(ImportLimits, LongSumsAreMadeOnce) {
  TracedModel m;
  std::string text = "Add(";
  for (int i = 1; i < 5000; ++i)
    text += (i == 1 ? "" : ", ") + ("Pow(" + symbol("s0") + ", Integer(" + std::to_string(i) + "))");
  m.user("x", meta_of({size(text + ")")}));
  m.node("torch.ops.aten.neg.default", {{"self", tensor("x")}}, {{"y", meta_of({size(text + ")")})}});
  m.result("y");
  const Program p = m.load();
  EXPECT_LT(p.pool.nodes().size(), 30000u);
  EXPECT_TRUE(validate_archive(archive_bytes(p)).empty());
}

// p_piece
TEST(ImportLimits, DepthOfSizes) {
  TracedModel m;
  std::string text = "Piecewise(";
  for (int i = 0; i < 600; ++i) {
    const std::string n = "Integer(" + std::to_string(i) + ")";
    text += "ExprCondPair(" + n + ", Eq(" + symbol("s0") + ", " + n + ")), ";
  }
  m.user("x", meta_of({size(text + "ExprCondPair(Integer(1), true))")}));
  m.result("x");
  const std::string error = error_of([&] { m.load(); }, ErrorCode::unsupported);
  EXPECT_NE(error.find("nested more than 500 levels deep"), std::string::npos) << error;
}

// p_sigfpe_mod
TEST(ImportLimits, LowestNumberModMinusOne) {
  TracedModel m;
  m.user("x", meta_of({size("Mod(Mul(Integer(-9223372036854775808), " + symbol("s0") + "), Mul(Integer(-1), " +
                            symbol("s0") + "))")}));
  m.result("x");
  EXPECT_NO_THROW(m.load());
}

// f_cumsum: 512 bytes that claim to be 2^58 elements.
TEST(ImportLimits, FoldingCountsWhatItReads) {
  TracedModel m;
  m.floats(std::vector<float>(128, 1));
  Json type = huge({std::int64_t{1} << 30, std::int64_t{1} << 28});
  type["strides"] = Json::array({size(0), size(0)});
  m.buffer("w", type);
  m.node("torch.ops.aten.max.default", {{"self", tensor("b_w")}}, {{"y", meta({})}});
  m.result("y");
  const Program p = import_pt2(open_text(m.archive()));
  ASSERT_EQ(p.functions[0].nodes.size(), 1u);
  EXPECT_EQ(p.functions[0].nodes[0].op, Op::reduce);
}

// z_crc
TEST(ImportLimits, WeightsHaveTheirCrc) {
  TracedModel m;
  m.floats({1, 2, 3, 4});
  m.buffer("w", meta({4}));
  m.result("b_w");
  ZipWriter writer;
  auto items = m.items();  // the weight is the first
  for (const char* fixed : {"archive_format", "archive_version", "byteorder"}) {
    const std::string text = fixed[0] == 'b' ? "little" : fixed[8] == 'f' ? "pt2" : "0";
    items.push_back({"t/" + std::string(fixed), text});
  }
  for (const auto& item : items) writer.add(item);
  writer.finish();
  std::string bytes = writer.bytes();
  bytes[writer.payloads[0].begin + 3] ^= 1;
  ImportOptions options;
  options.fold = false;
  const Program p = import_pt2(open_text(bytes), options);
  const std::string error = error_of([&] { archive_bytes(p); });
  EXPECT_NE(error.find("its bytes have CRC"), std::string::npos) << error;
}

TEST(ImportLimits, BooleansAboveOne) {
  TracedModel m;
  m.bytes(std::string("\0\1\2\1", 4));
  m.buffer("mask", meta({4}, kBool));
  m.result("b_mask");
  const std::string error = error_of([&] { m.load(); });
  EXPECT_NE(error.find("byte 2 of the data of 'mask' is 2; a boolean must be 0 or 1"), std::string::npos) << error;
}

// a1_bool: every byte is read exactly once.
TEST(ImportLimits, BooleansOfStatesThatShareAStorage) {
  const auto view = [](std::int64_t offset, std::int64_t count) {
    Json type = meta_of({size(count)}, kBool);
    type["storage_offset"] = size(offset);
    return type;
  };
  for (const char bad : {'\0', '\2'}) {
    TracedModel m;
    m.bytes(std::string("\0\1\0\1\0\1\0", 7) + bad);
    m.buffer("middle", view(2, 2));
    m.buffer("end", view(6, 1));
    m.buffer("begin", view(0, 3));
    m.buffer("most", view(1, 6));
    m.buffer("all", view(0, 8));
    m.result("b_all");
    if (bad == 0) {
      EXPECT_NO_THROW(m.load());
      continue;
    }
    const std::string error = error_of([&] { m.load(); });
    EXPECT_NE(error.find("byte 7 of the data of 'all' is 2"), std::string::npos) << error;
  }
}

// L_comb2: integers that count loop iterations.
TEST(ImportLimits, IntegersThatCountLoops) {
  const auto combinations = [](std::int64_t n, std::int64_t r, bool replacement, std::int64_t count) {
    TracedModel m;
    m.user("x", huge({n}));
    m.node("torch.ops.aten.combinations.default",
           {{"self", tensor("x")}, {"r", integer(r)}, {"with_replacement", boolean(replacement)}},
           {{"y", huge({count, r})}});
    m.result("y");
    return error_of([&] { m.load(); }, ErrorCode::unsupported);
  };
  EXPECT_NE(combinations(2, std::int64_t{1} << 33, true, 1), "");
  EXPECT_NE(combinations(1, (1 << 24) - 1, true, 1), "");
  EXPECT_NE(combinations(60, 30, false, 1), "");
  EXPECT_EQ(combinations(60, 59, false, 60), "");  // few, found at once
  EXPECT_EQ(combinations(2, std::int64_t{1} << 33, false, 0), "");
  const auto triangle = [](std::int64_t rows, std::int64_t columns, std::int64_t offset) {
    TracedModel m;
    for (const char* name : {"x", "y"}) {
      m.node("torch.ops.aten.tril_indices.default",
             {{"row", integer(rows)}, {"col", integer(columns)}, {"offset", integer(offset)}},
             {{name, meta({2, 0}, kI64)}});
    }
    m.result("x");
    m.result("y");
    return error_of([&] { m.load(); }, ErrorCode::unsupported);
  };
  EXPECT_EQ(triangle(std::int64_t{1} << 62, 0, 0), "");
  EXPECT_NE(triangle(1 << 12, 1 << 12, -(1 << 20)), "") << "two nodes, each of 2^24 places that do not count";
}

TEST(ImportLimits, NothingIsWrittenThatTheLoaderRefuses) {
  TracedModel m;
  m.user("x", meta({4}));
  m.result("x");
  Program p = m.load();
  p.functions.push_back(p.functions[0]);  // two entries with the same name
  const std::string path = ::testing::TempDir() + "refused.tern";
  std::filesystem::remove(path);
  const std::string error = error_of([&] { write_archive(p, path); }, ErrorCode::unsupported);
  EXPECT_NE(error.find("rule functions.name"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tern::testing
