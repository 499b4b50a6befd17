// Archives of format 0.1 whose nodes are of ops that another op has replaced (loader/read_functions.cpp).
// tests/data/archives/ holds archives that Tern wrote while it had the op, and PyTorch's inputs and results, which are
// those of the cases of the same names in tests/data/import.tar.zst.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "loader/archive.h"
#include "runtime/weights/safetensors.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

/// mx_dequantize (111), whose attributes repeated the blocks of its operand.
TEST(FormerOps, MxDequantize) {
  EXPECT_TRUE(op_name(static_cast<Op>(111)).empty()) << "the number belongs to an op of old archives";
  for (const std::string name : {"mx_e4m3", "mx_fp4"}) {
    const std::string path = std::string(TERN_SOURCE_DIR) + "/tests/data/archives/" + name;
    const std::shared_ptr<const Program> program = open_archive(path + ".tern", OpenOptions{});
    const std::vector<Node>& nodes = program->functions[0].nodes;
    const auto dequantize = std::ranges::find(nodes, Op::dequantize, &Node::op);
    ASSERT_NE(dequantize, nodes.end()) << name;
    ASSERT_EQ(dequantize->attrs.size(), 1U) << name;
    EXPECT_EQ(dequantize->attrs[0].key, AttrKey::dtype) << name;
    const WeightFile expected = open_weights(path + ".safetensors");
    Session session(Model(program).prepare());
    const FileTensor& in = expected.tensors.at("call0.in0");
    Tensor x(in.dtype, in.sizes);
    std::memcpy(x.data(), in.bytes.data(), in.bytes.size());
    const std::vector<Tensor> results = session.run({x});
    for (std::size_t k = 0; k < 2; ++k) {
      const FileTensor& out = expected.tensors.at("call0.out" + std::to_string(k));
      ASSERT_EQ(results[k].dtype(), out.dtype);
      ASSERT_EQ(static_cast<std::size_t>(results[k].numel()) * sizeof(float), out.bytes.size());
      EXPECT_EQ(std::memcmp(results[k].data(), out.bytes.data(), out.bytes.size()), 0) << name << " result " << k;
    }
  }
}

}  // namespace
}  // namespace tern
