// as_strided reads memory: operands whose memory is partly or wholly outside the program. The cases in
// tests/data/import.tar.zst compare supported views with PyTorch.
#include <gtest/gtest.h>
#include <tern/error.h>

#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

/// The error message for a view of x with these sizes, strides and offset.
std::string refusal(const Json& x, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                    const Json& offset, const std::string& before = {}) {
  TracedModel m;
  m.user("x", x);
  std::string base = "x";
  if (!before.empty()) {
    m.node("torch.ops.aten." + before, {{"self", tensor("x")}}, {{"y", x}});
    base = "y";
  }
  m.node("torch.ops.aten.as_strided.default",
         {{"self", tensor(base)}, {"size", integers(sizes)}, {"stride", integers(strides)}, {"storage_offset", offset}},
         {{"part", meta(std::vector<int>(sizes.begin(), sizes.end()))}},
         {{"stack_trace", "  File \"model.py\", line 7, in forward\n    return x.as_strided(...)\n"}});
  m.result("part");
  try {
    m.load();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

const Json kNoneArgument = {{"as_none", true}};

TEST(ImportStrided, DenseMemoryInAnyOrder) {
  EXPECT_EQ(refusal(tensor_meta({2, 5}, {5, 1}), {10}, {1}, kNoneArgument), "");
  EXPECT_EQ(refusal(tensor_meta({2, 5}, {1, 2}), {10}, {1}, kNoneArgument), "");
  EXPECT_EQ(refusal(tensor_meta({2, 1, 5}, {1, 40, 2}), {10}, {1}, kNoneArgument), "");
}

TEST(ImportStrided, MemoryWithGapsIsRefused) {
  const std::string message = refusal(tensor_meta({2, 5}, {10, 1}), {15}, {1}, kNoneArgument);
  EXPECT_NE(message.find("without gaps"), std::string::npos) << message;
  EXPECT_NE(message.find("model.py:7"), std::string::npos) << message;
  EXPECT_NE(message.find("as_strided"), std::string::npos) << message;
}

TEST(ImportStrided, MemoryBeforeAndBehindAnInputIsRefused) {
  EXPECT_EQ(refusal(tensor_meta({5}, {1}, 3), {5}, {1}, integer(3)), "");
  EXPECT_EQ(refusal(tensor_meta({5}, {1}, 3), {5}, {1}, kNoneArgument), "");
  EXPECT_NE(refusal(tensor_meta({5}, {1}, 3), {5}, {1}, integer(2)).find("only a part"), std::string::npos);
  EXPECT_NE(refusal(tensor_meta({5}, {1}, 3), {5}, {1}, integer(4)).find("only a part"), std::string::npos);
}

TEST(ImportStrided, ConjugatesAreRefused) {
  EXPECT_NE(refusal(meta({4}, kC64), {2}, {1}, kNoneArgument, "_conj.default").find("conjugates"), std::string::npos);
}

}  // namespace
}  // namespace tern::testing
