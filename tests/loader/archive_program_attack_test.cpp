// Attacks on the semantics of a program: sizes, values, calls, enumerations. All hashes are correct.
#include <gtest/gtest.h>
#include <tern/error.h>

#include "exporter/builder.h"
#include "loader/archive.h"
#include "loader/validate.h"
#include "tests/loader/program_attack.h"

namespace tern::test {
namespace {

// FIELD 1: overflowing products of sizes, negative sizes, ranks.
TEST(ArchiveAttack, StatesOfImpossibleSizes) {
  for (std::int64_t size :
       {std::int64_t{1} << 31, std::int64_t{1} << 32, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 59}) {
    expect_rule("states.inside", [&](Program& p) { p.states[2].type.shape = {size, 1}; });
  }
  for (const Dims& shape :
       {Dims{kMax, kMax}, Dims{std::int64_t{1} << 32, std::int64_t{1} << 32},
        Dims{std::int64_t{1} << 31, std::int64_t{1} << 31, 4}, Dims{kMax, 2}, Dims{kMax}, Dims{kMax - 1, 1}}) {
    expect_rule("states.type", [&](Program& p) {
      p.states[2].type.shape = shape;
      p.states[2].strides.assign(shape.size(), 1);
    });
    expect_rule("values.type", [&](Program& p) { p.functions[1].values.back().type.shape = shape; });
  }
  expect_rule("states.type", [](Program& p) { p.states[2].type.shape = {-4, -8}; });
  expect_rule("states.type", [](Program& p) { p.states[2].type.shape[0] = p.pool.symbol("s0"); });
  expect_rule("types.rank", [](Program& p) { p.states[2].type.shape.assign(10000, 1); });
  expect_rule("types.rank", [](Program& p) { p.functions[1].values.back().type.shape.assign(17, 1); });
}

TEST(ArchiveAttack, StatesOutsideTheirStorage) {
  expect_rule("states.inside", [](Program& p) { p.states[4].offset = 6; });
  expect_rule("states.inside", [](Program& p) { p.states[4].offset = kMax; });
  expect_rule("states.inside", [](Program& p) { p.states[4].offset = -1; });
  expect_rule("states.inside", [](Program& p) { p.states[4].strides = {kMax}; });
  expect_rule("states.inside", [](Program& p) { p.states[4].strides = {kMax / 2 + 1}; });
  expect_rule("states.strides", [](Program& p) { p.states[4].strides = {-1}; });
  expect_rule("states.strides", [](Program& p) { p.states[4].strides = {1, 1}; });
  // A writer cannot name a missing storage: the hostile file changes the stored number.
  const auto bytes = edit_segments(sample_program(), {}, [](writing::WrittenStorages& s) { s.renumbered[3] = 1000; });
  EXPECT_NE(open_error(bytes).find("states.storage"), std::string::npos);
}

TEST(ArchiveAttack, TiedStates) {
  expect_rule("states.tied", [](Program& p) { p.states[1].tied = 1; });
  expect_rule("states.tied", [](Program& p) { p.states[1].tied = 5; });
  expect_rule("states.tied", [](Program& p) { p.states[1].tied = -2; });
  expect_rule("states.tied", [](Program& p) { p.states[2].tied = 0; });  // equal bytes do not make a tied tensor
  expect_rule("states.name", [](Program& p) { p.states[2].name = p.states[0].name; });
}

// FIELD 7: depth.
TEST(ArchiveAttack, DeepExpressions) {
  expect_rule("expressions.depth", [](Program& p) {
    std::vector<ExprNode> nodes = p.pool.nodes();
    while (nodes.size() < 100'000) {
      const auto last = static_cast<std::uint32_t>(nodes.size() - 1);
      nodes.push_back({ExprOp::max, last, last, 0, 0});
    }
    p.pool.assign(std::move(nodes), p.pool.symbols());
  });
}

/// A chain of functions, each with `times` calls of the next.
void add_chain(Program& p, std::size_t length, std::size_t times) {
  const auto first = static_cast<std::uint32_t>(p.functions.size());
  for (std::size_t i = 0; i < length; ++i) {
    Function f;
    f.name = "chain";
    for (std::size_t k = 0; k < times && i + 1 < length; ++k) {
      Node call;
      call.op = Op::call;
      call.functions = {first + static_cast<std::uint32_t>(i) + 1};
      f.nodes.push_back(call);
    }
    p.functions.push_back(std::move(f));
  }
}

// FIELD 8: recursive functions, and a chain of 2^40 calls.
TEST(ArchiveAttack, CallsInCircles) {
  const auto call = [](Program& p, std::size_t from, std::uint32_t to) {
    Node n;
    n.op = Op::call;
    n.functions = {to};
    p.functions[from].nodes.push_back(n);
  };
  expect_rule("functions.cycle", [&](Program& p) {
    add_chain(p, 1, 1);
    call(p, 4, 4);
  });
  expect_rule("functions.cycle", [&](Program& p) {
    add_chain(p, 2, 1);
    call(p, 5, 4);
  });
  expect_rule("functions.cycle", [&](Program& p) {
    forward(p).writebacks.clear();
    call(p, 2, 0);
  });
  expect_rule("functions.unfolded", [](Program& p) { add_chain(p, 41, 2); });
  expect_rule("functions.depth", [](Program& p) { add_chain(p, 100'000, 1); });
  EXPECT_EQ(open_error(changed([](Program& p) { add_chain(p, 20, 2); })), "");
}

// FIELD 9: values used before their definition, defined twice, or missing.
TEST(ArchiveAttack, ValuesOutOfOrder) {
  expect_rule("nodes.inputs", [](Program& p) { std::swap(forward(p).nodes[0], forward(p).nodes[2]); });
  expect_rule("nodes.outputs", [](Program& p) { forward(p).nodes[1].outputs = forward(p).nodes[0].outputs; });
  expect_rule("nodes.outputs", [](Program& p) { forward(p).nodes[1].outputs[0] = forward(p).inputs[0].value; });
  for (ValueId v : {-2, 1000, std::numeric_limits<ValueId>::max(), std::numeric_limits<ValueId>::min()}) {
    expect_rule("nodes.inputs", [&](Program& p) { forward(p).nodes[1].inputs[0] = v; });
    expect_rule("nodes.outputs", [&](Program& p) { forward(p).nodes[1].outputs[0] = v; });
    expect_rule("inputs.value", [&](Program& p) { forward(p).inputs[0].value = v; });
    expect_rule("outputs.value", [&](Program& p) { forward(p).outputs[0].value = v; });
    expect_rule("writebacks.value", [&](Program& p) { forward(p).writebacks[0].value = v; });
  }
  expect_rule("inputs.value", [](Program& p) { forward(p).inputs[2].value = forward(p).inputs[0].value; });
  expect_rule("inputs.value", [](Program& p) { forward(p).inputs[1].value = 0; });
  expect_rule("outputs.value", [](Program& p) { forward(p).outputs[0].value = kNoValue; });
  expect_rule("outputs.value", [](Program& p) { forward(p).outputs.back().value = 0; });
  expect_rule("outputs.number", [](Program& p) { forward(p).outputs[0].kind = FunctionOutput::Kind::integer; });
}

TEST(ArchiveAttack, InputsThatAreNotTheirState) {
  expect_rule("inputs.state", [](Program& p) { forward(p).inputs[2].state = 1000; });
  expect_rule("inputs.state", [](Program& p) { forward(p).inputs[2].state = 7; });
}

// Quantized values: each field of their blocks.
TEST(ArchiveAttack, QuantizedTypes) {
  const Blocks good{.columns = 32, .scale = DType::f32};
  const auto change = [&](DType element, const auto& edit) {
    Blocks blocks = good;
    edit(blocks);
    return [=](Program& p) { p.functions[1].values.back().type = {element, {4, 64}, blocks}; };
  };
  const auto wrong = [&](DType element, const auto& edit) { expect_rule("values.type", change(element, edit)); };
  wrong(DType::i8, [](Blocks& b) { b.rows = 0; });
  wrong(DType::i8, [](Blocks& b) { b.rows = -1; });
  wrong(DType::i8, [](Blocks& b) { b.rows = std::numeric_limits<std::int32_t>::max(); });
  wrong(DType::i32, [](Blocks&) {});
  wrong(DType::i4, [](Blocks& b) { b.columns = 1; });
  wrong(DType::i8, [](Blocks& b) { b.scale = DType::i8; });
  wrong(DType::i8, [](Blocks& b) { b.scale = static_cast<DType>(200); });
  wrong(DType::i8, [](Blocks& b) { b.zero = DType::i8; });
  wrong(DType::i8, [](Blocks& b) { b.zero_point = ZeroPoint::subtracted; });
  wrong(DType::i8, [](Blocks& b) {
    b.zero_point = static_cast<ZeroPoint>(3);
    b.zero = DType::i8;
  });
  wrong(DType::i8, [](Blocks& b) { b.layout = ScaleLayout::swizzled_32_4_4; });
  wrong(DType::f32, [](Blocks& b) { b = {.rows = 2}; });
  wrong(DType::f32, [](Blocks& b) {
    b = {};
    b.outer = true;
  });
  // 2:4 sparse values have no scales, and rows with whole bytes of positions.
  const auto sparse = [](DType element, Dims shape, const auto& edit) {
    Blocks blocks = two_of_four();
    edit(blocks);
    expect_rule("values.type", [&](Program& p) { p.functions[1].values.back().type = {element, shape, blocks}; });
  };
  sparse(DType::i8, {4, 64}, [](Blocks&) {});
  sparse(DType::f16, {4, 60}, [](Blocks&) {});
  sparse(DType::f16, {}, [](Blocks&) {});
  sparse(DType::f16, {4, 64}, [](Blocks& b) { b.kept = 255; });
  sparse(DType::f16, {4, 64}, [](Blocks& b) { b.columns = 16; });
  sparse(DType::f16, {4, 64}, [](Blocks& b) { b.scale = DType::f8_e8m0; });
  sparse(DType::f16, {4, 64}, [](Blocks& b) { b.outer = true; });
  sparse(DType::f16, {4, 64}, [](Blocks& b) { b.rows = 4; });
  wrong(DType::f16, [](Blocks& b) { b = {.kept = 2}; });
  // Sub-byte elements need a quantized value.
  wrong(DType::i4, [](Blocks& b) { b = {}; });
  wrong(DType::i2, [](Blocks& b) { b = {}; });
}

// A caller's tensor holds the elements alone: a kernel would read the scales past its end.
TEST(ArchiveAttack, MxValuesOfCallers) {
  const auto entry = [](Program& p, bool given) {
    Function f;
    f.name = "packed";
    f.entry = true;
    f.values.push_back({{DType::f8_e4m3fn, {2, 64}, {.columns = 32}}, "x"});
    f.inputs.push_back({given ? FunctionInput::Kind::user : FunctionInput::Kind::state, 0, given ? 0u : 5u, "x", {}});
    if (!given) f.outputs.push_back({FunctionOutput::Kind::tensor, 0, "y"});
    p.functions.push_back(std::move(f));
  };
  expect_rule("inputs.mx", [&](Program& p) { entry(p, true); });
  expect_rule("outputs.mx", [&](Program& p) { entry(p, false); });
}

TEST(ArchiveAttack, WriteBacks) {
  expect_rule("writebacks.target", [](Program& p) { forward(p).writebacks[0].index = 1000; });
  expect_rule("writebacks.target", [](Program& p) { p.states[7].is_mutable = false; });
  expect_rule("writebacks.target", [](Program& p) { p.functions[1].writebacks[0].index = 1; });
  expect_rule("writebacks.target", [](Program& p) { p.functions[1].writebacks[0].index = 9; });
  expect_rule("writebacks.type", [](Program& p) {
    p.states[0].is_mutable = true;
    forward(p).writebacks[0].index = 0;
  });
  expect_rule("writebacks.once", [](Program& p) { forward(p).writebacks.push_back(forward(p).writebacks[0]); });
  expect_rule("writebacks.entry", [](Program& p) { forward(p).entry = false; });
  expect_rule("nodes.functions", [](Program& p) {
    p.functions[2].entry = true;
    p.functions[2].writebacks = {{WriteBack::Target::input, 0, 0}};
  });
}

// FIELD 10: mismatched branches.
TEST(ArchiveAttack, BranchesOfOtherSignatures) {
  expect_rule("types.rule", [](Program& p) { add_chain(p, 1, 1), node(p, Op::cond).functions = {2, 4}; });
  expect_rule("types.rule", [](Program& p) { p.functions[3].outputs.clear(); });
  expect_rule("types.rule", [](Program& p) { p.functions[3].outputs.push_back(p.functions[3].outputs[0]); });
  expect_rule("types.rule", [](Program& p) { p.functions[3].outputs[0] = {FunctionOutput::Kind::none, kNoValue, ""}; });
  expect_rule("types.rule", [](Program& p) { node(p, Op::cond).inputs.pop_back(); });
  expect_rule("types.rule", [](Program& p) { std::swap(node(p, Op::cond).inputs[0], node(p, Op::cond).inputs[1]); });
  expect_rule("nodes.functions", [](Program& p) { node(p, Op::cond).functions = {2}; });
  expect_rule("nodes.functions", [](Program& p) { node(p, Op::cond).functions = {2, 99}; });
  expect_rule("nodes.functions", [](Program& p) { node(p, Op::matmul).functions = {2}; });
}

// FIELD 13: attributes; each op's own attributes are tested with its rule.
TEST(ArchiveAttack, Attributes) {
  expect_rule("types.rule", [](Program& p) { node(p, Op::reduce).set(AttrKey::axes, Dims{0, 7}); });
  expect_rule("types.rule", [](Program& p) { node(p, Op::permute).set(AttrKey::axes, Dims{0, 0}); });
  expect_rule("types.rule", [](Program& p) { node(p, Op::permute).set(AttrKey::axes, std::string("text")); });
  expect_rule("types.rule", [](Program& p) { node(p, Op::permute).set(AttrKey::hyper, Dims{1}); });  // foreign key
  expect_rule("attributes.once", [](Program& p) {
    auto& attrs = node(p, Op::permute).attrs;
    attrs.push_back(attrs[0]);
  });
  expect_rule("types.result", [](Program& p) {
    forward(p).values[static_cast<std::size_t>(node(p, Op::permute).outputs[0])].type.shape = {4, 8};
  });
  expect_rule("types.result", [](Program& p) {
    forward(p).values[static_cast<std::size_t>(node(p, Op::matmul).outputs[0])].type.dtype = DType::f64;
  });
  expect_rule("nodes.outputs", [](Program& p) { node(p, Op::permute).outputs.push_back(kNoValue); });
  expect_rule("nodes.origin", [](Program& p) { node(p, Op::permute).origin = 2; });
  expect_rule("nodes.origin", [](Program& p) { node(p, Op::permute).origin = -2; });
}

// Operand fields unused by an instruction may have any value and are read as zero.
TEST(ArchiveAttack, RelationsWithOtherNames) {
  const auto relation = [](Program& p, const std::string& names) {
    Node n;
    n.op = Op::assert_dim;
    n.set(AttrKey::dim, Dims{1});
    n.set(AttrKey::sizes, Dims{4, 5});
    n.set(AttrKey::name, names);
    forward(p).nodes.push_back(n);
  };
  EXPECT_EQ(open_error(changed([&](Program& p) { relation(p, "a\nb"); })), "");
  for (const char* names : {"", "a", "a\nb\n", "a\nb\nc"})
    expect_rule("types.rule", [&](Program& p) { relation(p, names); });
  // Doubles on the host: any bits are safe, and no number of a function is.
  const auto with_function = [](Program& p, std::int64_t function) {
    const Dim x = p.pool.real_node(ExprOp::to_real, p.pool.symbol("extent", 0, 9));
    std::vector<ExprNode> nodes = p.pool.nodes();
    const auto number = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({ExprOp::constant, 0, 0, 0, function});
    nodes.push_back({ExprOp::real_function, x.index(), number, 0, 0});
    nodes.push_back({ExprOp::real_round, number + 1, number, 0, 0});
    p.pool.assign(std::move(nodes), std::vector<Symbol>(p.pool.symbols()));
  };
  for (const std::int64_t function : {std::int64_t{0}, std::int64_t{17}, std::int64_t{18}, std::int64_t{-1}, kMax})
    EXPECT_EQ(open_error(changed([&](Program& p) { with_function(p, function); })), "") << function;
}

TEST(ArchiveAttack, OperandsThatAnInstructionDoesNotHave) {
  Program p = sample_program();
  for (Function& f : p.functions) {
    for (Node& n : f.nodes) {
      for (Instruction& i : n.expr.code) {
        const int count = scalar_info(i.op).operands;
        i.a = count > 0 ? i.a : std::uint16_t{65535};
        i.b = count > 1 ? i.b : std::uint16_t{65535};
        i.c = count > 2 ? i.c : std::uint16_t{65535};
      }
    }
  }
  const auto bytes = edit_segments(p, {}, [](writing::WrittenStorages&) {});
  const auto read = open_archive(bytes, {});
  for (const Function& f : read->functions) {
    for (const Node& n : f.nodes) {
      for (std::size_t k = 0; k < n.expr.code.size(); ++k) {
        for (std::uint16_t operand : {n.expr.code[k].a, n.expr.code[k].b, n.expr.code[k].c})
          EXPECT_LT(operand, n.expr.code.size());
      }
    }
  }
}

TEST(ArchiveAttack, PointwiseCode) {
  expect_rule("nodes.code", [](Program& p) { node(p, Op::permute).expr.code.resize(1); });
  expect_rule("nodes.code", [](Program& p) { node(p, Op::pointwise).expr.code.resize(kMaxInstructions + 1); });
  expect_rule("types.rule", [](Program& p) { node(p, Op::pointwise).expr.code.back().a = 65535; });
  expect_rule("types.rule", [](Program& p) { node(p, Op::pointwise).expr.code.front().integer = kMax; });
  expect_rule("types.rule", [](Program& p) { node(p, Op::pointwise).expr.code.clear(); });
}

// FIELD 15: MX tensors.
TEST(ArchiveAttack, MxTypes) {
  const auto change = [](std::int32_t block, ScaleLayout layout, Dims shape, DType dtype) {
    return [=](Program& p) {
      p.functions[1].values.back().type = {dtype, shape, {.columns = block, .layout = layout}};
    };
  };
  for (std::int32_t block : {-1, 7, 33, 128, std::numeric_limits<std::int32_t>::max()}) {
    expect_rule("values.type", change(block, ScaleLayout::plain, {2, 64}, DType::f8_e4m3fn));
  }
  expect_rule("values.type", change(32, ScaleLayout::plain, {}, DType::f8_e4m3fn));
  expect_rule("values.type", change(32, ScaleLayout::plain, {64}, DType::f32));
  expect_rule("values.type", change(0, ScaleLayout::swizzled_32_4_4, {64}, DType::f32));
  expect_rule("values.type", change(32, ScaleLayout::swizzled_32_4_4, {kMax / 64 * 32, 64}, DType::f8_e5m2));
  expect_rule("states.strides", [](Program& p) { p.states[5].strides = {1, 2}; });
  expect_rule("states.inside", [](Program& p) { p.states[5].offset = 1; });
}

// FIELD 18: names.
TEST(ArchiveAttack, Names) {
  for (const std::string& bad : {std::string("\xc0\xaf"), std::string("\xed\xa0\x80"), std::string("\xff")}) {
    std::vector<std::byte> bytes = changed([](Program& p) { p.states[0].name = "QQQQQ"; });
    const auto at = std::search(bytes.begin(), bytes.end(), reinterpret_cast<const std::byte*>("QQQQQ"),
                                reinterpret_cast<const std::byte*>("QQQQQ") + 5);
    ASSERT_NE(at, bytes.end());
    std::copy_n(reinterpret_cast<const std::byte*>(bad.data()), bad.size(), at);
    rehash(bytes);
    EXPECT_NE(open_error(bytes).find("texts.utf8"), std::string::npos) << open_error(bytes);
    *at = std::byte{0};
    rehash(bytes);
    EXPECT_NE(open_error(bytes).find("texts.utf8"), std::string::npos) << open_error(bytes);
  }
  // A string too long for a name, in place of a name.
  const std::string text(5000, 'x');
  std::vector<std::byte> bytes = changed([&](Program& p) { p.metadata = {{"k", text}}; });
  EXPECT_EQ(open_error(bytes), "");
  expect_rule("functions.name", [](Program& p) { p.functions[1].name = "forward"; });
  expect_rule("functions.name", [](Program& p) { p.functions[1].name = ""; });
}

// A started collective writes its result until a wait.
TEST(ArchiveAttack, PendingCollectives) {
  const auto append = [](Program& p, bool waits, bool reads, bool keeps = true) {
    Function& f = p.functions[0];
    const auto is_float = [&](const FunctionInput& in) {
      return in.value != kNoValue && f.values[static_cast<std::size_t>(in.value)].type.dtype == DType::f32;
    };
    const auto x = std::ranges::find_if(f.inputs, is_float);
    ASSERT_NE(x, f.inputs.end());
    Builder b(p, 0);
    const ValueId y = b.add(Op::collective, {x->value},
                            {attr(AttrKey::kind, Dim(0)), attr(AttrKey::groups, Dim(0)),
                             attr_text(AttrKey::text, "sum"), attr(AttrKey::mode, Dim(1))});
    if (reads) b.expr("y * 2", {{"y", y}}, DType::f32);
    if (waits) b.add(Op::wait, keeps ? std::vector{y, x->value} : std::vector{y}, {});
  };
  EXPECT_EQ(open_error(changed([&](Program& p) { append(p, true, false); })), "");
  expect_rule("functions.pending", [&](Program& p) { append(p, false, false); });
  expect_rule("functions.pending", [&](Program& p) { append(p, true, true); });
  expect_rule("functions.pending", [&](Program& p) { append(p, true, false, false); });
}

// FIELD 21: numbers unknown to this version are unsupported, not broken: the file can still be inspected.
TEST(ArchiveAttack, UnknownNumbers) {
  const auto expect_unsupported = [](const std::string& rule, const std::function<void(Program&)>& change) {
    const std::vector<std::byte> bytes = changed(change);
    try {
      open_archive(bytes, {});
      ADD_FAILURE() << rule;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();
      EXPECT_NE(std::string(e.what()).find(rule), std::string::npos) << e.what();
    }
    for (const Finding& f : validate_archive(bytes)) EXPECT_EQ(f.code, ErrorCode::unsupported) << describe(f);
  };
  expect_unsupported("nodes.op", [](Program& p) { node(p, Op::permute).op = static_cast<Op>(kMaxOp + 1); });
  expect_unsupported("nodes.op", [](Program& p) { node(p, Op::permute).op = static_cast<Op>(65535); });
  expect_unsupported("nodes.op", [](Program& p) {
    Node n;
    n.op = static_cast<Op>(kMaxOp + 1);
    n.outputs = {kNoValue};  // its required results are unknown, too
    p.functions[0].nodes.push_back(n);
  });
  expect_unsupported("nodes.version", [](Program& p) { node(p, Op::permute).version = 2; });
  expect_unsupported("attributes.key", [](Program& p) {
    node(p, Op::permute).attrs.push_back({static_cast<AttrKey>(60000), Dims{1}});
  });
  expect_unsupported("states.kind", [](Program& p) { p.states[6].kind = static_cast<State::Kind>(3); });
  expect_unsupported("types.dtype", [](Program& p) { p.states[6].type.dtype = static_cast<DType>(kDTypeCount); });
  expect_unsupported("types.layout", [](Program& p) { p.states[6].type.blocks.layout = static_cast<ScaleLayout>(2); });
  expect_unsupported("enums.kind",
                     [](Program& p) { p.functions[2].outputs[0].kind = static_cast<FunctionOutput::Kind>(5); });
  expect_unsupported("enums.kind",
                     [](Program& p) { p.functions[2].inputs[0].kind = static_cast<FunctionInput::Kind>(3); });
}

TEST(ArchiveAttack, NewerVersionOfAnOpNamesBoth) {
  const std::string message = open_error(changed([](Program& p) { node(p, Op::matmul).version = 9; }));
  EXPECT_NE(message.find("version 9"), std::string::npos) << message;
  EXPECT_NE(message.find("1 to 1"), std::string::npos) << message;
}

TEST(ArchiveAttack, FindingsSayWhere) {
  const auto bytes = changed([](Program& p) {
    node(p, Op::matmul).inputs[0] = 99;
    p.states[4].offset = 6;
  });
  const std::vector<Finding> findings = validate_archive(bytes);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "states.inside");
  EXPECT_NE(findings[0].where.find("right"), std::string::npos);
  EXPECT_NE(findings[1].where.find("forward"), std::string::npos);
  EXPECT_NE(findings[1].where.find("matmul"), std::string::npos);
  EXPECT_NE(findings[1].where.find("model.py:12"), std::string::npos) << findings[1].where;
  for (const Finding& f : findings) {
    EXPECT_GT(f.offset, 64u);
    EXPECT_LT(f.offset, bytes.size());
  }
}

// FIELD 19: no quadratic checks.
TEST(ArchiveAttack, ManyStates) {
  const std::vector<std::byte> bytes = changed([](Program& p) {
    const State s = p.states[3];
    for (int i = 0; i < 100'000; ++i) {
      p.states.push_back(s);
      p.states.back().name = "state" + std::to_string(i);
    }
  });
  EXPECT_EQ(open_error(bytes), "");
}

}  // namespace
}  // namespace tern::test
