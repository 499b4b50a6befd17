// Parameters of tensor subclasses: inner tensors as states, and operators on the subclass.
#include <gtest/gtest.h>

#include "tests/exporter/pickle_writer.h"
#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

using pt2::test::call, pt2::test::dict, pt2::test::global, pt2::test::kFalse, pt2::test::kNone, pt2::test::pickle,
    pt2::test::plain, pt2::test::saved, pt2::test::storage, pt2::test::subclass, pt2::test::text;
namespace write = pt2::test;

const std::string kImportSubclassAten = "torch.ops.aten.";
const std::string kAccess = "torch.ops.export.access_subclass_inner_tensor.default";
const std::string kInt8Tensor = global("torchao.quantization", "Int8Tensor");
const std::string kUnknown = global("torchao.quantization", "Int4Tensor");

Json string(const std::string& s) {
  return {{"as_string", s}};
}

/// Two rows of two int8 numbers, and a float32 scale for each row.
std::string int8_state(const std::string& more = {}) {
  return dict({{"qdata", plain(storage("CharStorage", "0", 4), write::integers({2, 2}), write::integers({2, 1}))},
               {"scale", plain(storage("FloatStorage", "1", 2), write::integers({2, 1}), write::integers({1, 1}))},
               {"block_size", write::integers({1, 2})}}) +
         more;
}

TracedModel subclass_model(const std::string& tensor,
                           const std::string& scales = std::string("\0\0\0\x40\0\0\0\x3f", 8)) {
  TracedModel m;
  m.bytes(saved(pickle(tensor), {"\x01\x02\xfd\x04", scales}));
  m.buffer("w", meta({2, 2}));
  m.weights()["config"]["w"]["use_pickle"] = true;
  return m;
}

std::vector<float> run(TracedModel& m) {
  ImportOptions options;
  options.fold = true;
  const Program p = import_pt2(open_text(m.archive()), options);
  // Everything is constant: the program returns a state.
  const Function& f = p.functions[0];
  for (const FunctionInput& in : f.inputs) {
    if (in.kind != FunctionInput::Kind::state || in.value != f.outputs.at(0).value) continue;
    const auto bytes = p.source->bytes(p.states[in.state].storage);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
    return numbers;
  }
  return {};
}

TEST(ImportSubclass, InnerTensorsBecomeStatesThatShareTheFile) {
  TracedModel m = subclass_model(subclass(kInt8Tensor, "float32", {2, 2}, int8_state()));
  m.node(kAccess, {{"src_subclass_tensor", tensor("b_w")}, {"attr", string("scale")}}, {{"s", meta({2, 1})}});
  m.node(kImportSubclassAten + "neg.default", {{"self", tensor("s")}}, {{"y", meta({2, 1})}});
  m.result("y");
  const Program p = m.load();
  ASSERT_EQ(p.states.size(), 2u);
  EXPECT_EQ(p.states[0].name, "w.qdata");
  EXPECT_EQ(p.states[0].type, (TensorType{DType::i8, {2, 2}}));
  EXPECT_EQ(p.states[1].name, "w.scale");
  EXPECT_EQ(p.source->bytes(p.states[0].storage).size(), 4u);
  EXPECT_EQ(p.functions[0].nodes.size(), 1u);
}

TEST(ImportSubclass, AnOperatorGetsTheNumbers) {
  TracedModel m = subclass_model(subclass(kInt8Tensor, "float32", {2, 2}, int8_state()));
  m.node(kImportSubclassAten + "t.default", {{"self", tensor("b_w")}}, {{"t", meta({2, 2})}});
  m.node(kImportSubclassAten + "neg.default", {{"self", tensor("t")}}, {{"y", meta({2, 2})}});
  m.result("y");
  // Row 0: 1, 2 times 2; row 1: -3, 4 times 0.5.
  EXPECT_EQ(run(m), (std::vector<float>{-2, 1.5, -4, -2}));
}

TEST(ImportSubclass, SubclassesInsideOfSubclasses) {
  const std::string outer = global("torchao.quantization", "LinearActivationQuantizedTensor");
  TracedModel m = subclass_model(
      subclass(outer, "float32", {2, 2},
               dict({{"original_weight_tensor", subclass(kInt8Tensor, "float32", {2, 2}, int8_state())}})));
  m.node(kAccess, {{"src_subclass_tensor", tensor("b_w")}, {"attr", string("original_weight_tensor")}},
         {{"inner", meta({2, 2})}});
  m.node(kAccess, {{"src_subclass_tensor", tensor("inner")}, {"attr", string("scale")}}, {{"s", meta({2, 1})}});
  m.node(kImportSubclassAten + "neg.default", {{"self", tensor("s")}}, {{"y", meta({2, 1})}});
  m.result("y");
  EXPECT_EQ(m.load().states.at(1).name, "w.original_weight_tensor.scale");
  EXPECT_EQ(run(m), (std::vector<float>{-2, -0.5}));
}

TEST(ImportSubclass, PickledPlainTensorsAreStates) {
  TracedModel m = subclass_model(plain(storage("FloatStorage", "1", 2), write::integers({2}), write::integers({1})));
  m.node(kImportSubclassAten + "neg.default", {{"self", tensor("b_w")}}, {{"y", meta({2})}});
  m.result("y");
  EXPECT_EQ(m.load().states.at(0).name, "w");
  EXPECT_EQ(run(m), (std::vector<float>{-2, -0.5}));
}

TEST(ImportSubclass, MxWeightsBecomeOneValue) {
  const std::string type = global("torchao.prototype.mx_formats.mx_tensor", "MXTensor");
  TracedModel m;
  m.bytes(saved(pickle(subclass(type, "float32", {2, 64},
                                dict({{"qdata", plain(storage("UntypedStorage", "0", 128), write::integers({2, 64}),
                                                      write::integers({64, 1}), 0, "float8_e4m3fn")},
                                      {"scale", plain(storage("UntypedStorage", "1", 4), write::integers({2, 2}),
                                                      write::integers({2, 1}), 0, "float8_e8m0fnu")},
                                      {"elem_dtype", global("torch", "float8_e4m3fn")},
                                      {"block_size", write::integer(32)},
                                      {"act_quant_kwargs", kNone},
                                      {"is_swizzled_scales", kFalse}}))),
                {std::string(128, '\x38'), "\x7e\x7f\x80\x81"}));
  m.buffer("w", meta({2, 64}));
  m.weights()["config"]["w"]["use_pickle"] = true;
  m.node(kImportSubclassAten + "neg.default", {{"self", tensor("b_w")}}, {{"y", meta({2, 64})}});
  m.result("y");
  const Program p = m.load();
  ASSERT_EQ(p.states.size(), 1u);
  EXPECT_EQ(p.states[0].name, "w.qdata");
  EXPECT_EQ(p.states[0].type, (TensorType{DType::f8_e4m3fn, {2, 64}, {.columns = 32}}));
}

std::string error_of_model(TracedModel& m, ErrorCode code) {
  return error_of([&] { m.load(); }, code);
}

TEST(ImportSubclass, SaysWhatIsWrong) {
  const auto with_access = [](TracedModel m, const std::string& attribute) {
    m.node(kAccess, {{"src_subclass_tensor", tensor("b_w")}, {"attr", string(attribute)}}, {{"s", meta({2, 1})}});
    m.result("s");
    return m;
  };
  TracedModel absent = with_access(subclass_model(subclass(kInt8Tensor, "float32", {2, 2}, int8_state())), "zero");
  EXPECT_NE(error_of_model(absent, ErrorCode::bad_file).find("a torchao.quantization.Int8Tensor has no tensor 'zero'"),
            std::string::npos);
  TracedModel no_subclass = with_access(
      subclass_model(plain(storage("FloatStorage", "1", 2), write::integers({2}), write::integers({1}))), "scale");
  EXPECT_NE(error_of_model(no_subclass, ErrorCode::bad_file).find("is not a tensor subclass of the file"),
            std::string::npos);

  const auto negated = [](TracedModel m) {
    m.node(kImportSubclassAten + "neg.default", {{"self", tensor("b_w")}}, {{"y", meta({2, 2})}});
    m.result("y");
    return m;
  };
  TracedModel unknown = negated(subclass_model(subclass(kUnknown, "float32", {2, 2}, int8_state())));
  EXPECT_NE(error_of_model(unknown, ErrorCode::unsupported).find("class torchao.quantization.Int4Tensor"),
            std::string::npos);
  TracedModel integers = negated(subclass_model(subclass(kInt8Tensor, "int64", {2, 2}, int8_state())));
  EXPECT_NE(error_of_model(integers, ErrorCode::unsupported).find("Int8Tensor of int64"), std::string::npos);

  TracedModel dynamic = subclass_model(
      subclass(kInt8Tensor, "float32", {2, 2}, int8_state("(" + text("act_quant_kwargs") + text("on") + "u")));
  dynamic.user("x", meta({2, 2}));
  dynamic.node(kImportSubclassAten + "mm.default", {{"self", tensor("x")}, {"mat2", tensor("b_w")}},
               {{"y", meta({2, 2})}});
  dynamic.result("y");
  EXPECT_NE(error_of_model(dynamic, ErrorCode::unsupported).find("quantizes its other operand"), std::string::npos);

  TracedModel written = subclass_model(subclass(kInt8Tensor, "float32", {2, 2}, int8_state()));
  written.node(kAccess, {{"src_subclass_tensor", tensor("b_w")}, {"attr", string("scale")}}, {{"s", meta({2, 1})}});
  written.node(kImportSubclassAten + "neg_.default", {{"self", tensor("s")}}, {{"y", meta({2, 1})}});
  written.result("y");
  EXPECT_NE(
      error_of_model(written, ErrorCode::unsupported).find("writes 'w.scale', which is part of a tensor subclass"),
      std::string::npos);
}

TEST(ImportSubclass, ErrorsOfThePickleNameTheParameterAndTheOffset) {
  TracedModel m = subclass_model(call(global("posix", "system"), {text("true")}));
  m.result("b_w");
  const std::string error = error_of_model(m, ErrorCode::unsupported);
  EXPECT_NE(error.find("the buffer 'w' is stored as a Python pickle: "), std::string::npos) << error;
  EXPECT_NE(error.find("pickle opcode GLOBAL: 'posix.system' is not a supported"), std::string::npos) << error;
  // The offset points at the opcode in the file.
  const auto it = error.find("offset ") + 7;
  EXPECT_EQ(m.archive().substr(std::stoul(error.substr(it)), 7), "cposix\n");
}

TEST(ImportSubclass, DamagedBytesAreFound) {
  TracedModel m = subclass_model(subclass(kInt8Tensor, "float32", {2, 2}, int8_state()));
  m.result("b_w");
  std::string bytes = m.archive();
  bytes[bytes.find("\x01\x02\xfd\x04")] = '\x07';
  EXPECT_NE(error_of([&] { import_pt2(open_text(bytes)); }).find("CRC"), std::string::npos);
}

}  // namespace
}  // namespace tern::testing
