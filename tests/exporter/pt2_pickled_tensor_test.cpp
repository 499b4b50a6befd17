// Tensors and tensor subclasses read from pickles, and all errors.
#include <gtest/gtest.h>

#include <list>

#include "exporter/pt2/pickled_tensor.h"
#include "schema/work.h"
#include "tests/exporter/pickle_writer.h"
#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

const std::string kInt8 = global("torchao.quantization", "Int8Tensor");

/// The tensor in a file with storages of 24, 8 and 0 bytes. The file stays in memory: the tensor's strings point into
/// the file.
PickledTensor read(const std::string& value) {
  static std::list<std::string> files;
  const std::string& file = files.emplace_back(saved(pickle(value), {std::string(24, '\1'), std::string(8, '\2'), ""}));
  return read_pickled_tensor(read_saved_object(as_bytes(file), 1000, "w"), "w");
}
void expect_refused_pt2_pickled_tensor(const std::string& value, const std::string& says,
                                       ErrorCode code = ErrorCode::bad_file) {
  const std::string error = error_of([&] { read(value); }, code);
  EXPECT_EQ(error.find("w: offset "), 0u) << error;
  EXPECT_NE(error.find(says), std::string::npos) << error << "\nwanted: " << says;
}
std::string floats(const std::string& sizes, const std::string& strides, std::int32_t offset = 0) {
  return plain(storage("FloatStorage", "0", 6), sizes, strides, offset);
}

TEST(Pt2PickledTensor, ReadsPlainTensors) {
  const PickledTensor t = read(floats(integers({2, 2}), integers({3, 1}), 1));
  EXPECT_TRUE(t.is_plain());
  EXPECT_EQ(t.dtype, DType::f32);
  EXPECT_EQ(t.sizes, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(t.strides, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(t.offset, 1);
  EXPECT_EQ(t.storage, "0");
  const PickledTensor scales =
      read(plain(storage("UntypedStorage", "1", 8), integers({8}), integers({1}), 0, "float8_e8m0fnu"));
  EXPECT_EQ(scales.dtype, DType::f8_e8m0);
  // torch.Size, a parameter, and the bytes of packed float4.
  EXPECT_EQ(read(floats(call(global("torch", "Size"), {integers({6})}), integers({1}))).sizes,
            std::vector<std::int64_t>{6});
  EXPECT_EQ(
      read(call(global("torch._utils", "_rebuild_parameter"), {floats(integers({}), integers({})), kFalse, no_hooks()}))
          .sizes.size(),
      0u);
  EXPECT_EQ(read(plain(storage("UntypedStorage", "1", 8), integers({8}), integers({1}), 0, "float4_e2m1fn_x2")).dtype,
            DType::u8);
  EXPECT_EQ(read(plain(storage("FloatStorage", "2", 0), integers({0, 5}), integers({5, 1}))).storage, "2");
}

TEST(Pt2PickledTensor, ReadsSubclassesWithTheirAttributes) {
  const std::string mode = call(global("torchao.prototype.mx_formats.config", "ScaleCalculationMode"), {text("even")});
  const std::string record = global("torchao.prototype.mx_formats.mx_tensor", "QuantizeTensorToMXKwargs") + ")\x81" +
                             dict({{"mode", mode}}) + "b";
  const PickledTensor t = read(subclass(
      kInt8, "bfloat16", {2, 3},
      dict({{"qdata", plain(storage("CharStorage", "0", 24), integers({2, 3}), integers({3, 1}))},
            {"block", integers({1, 3})},
            {"dtype", global("torch", "int4")},
            {"how", record},
            {"none", kNone},
            {"flag", kTrue},
            {"eps", "G" + std::string("\x3f\xe0\0\0\0\0\0\0", 8)},
            {"inner", subclass(kInt8, "float32", {4}, dict({{"q", floats(integers({4}), integers({1}))}}))}})));
  EXPECT_EQ(t.class_name, "torchao.quantization Int8Tensor");
  EXPECT_EQ(t.dtype, DType::bf16);
  ASSERT_NE(t.find("qdata"), nullptr);
  EXPECT_EQ(t.find("qdata")->dtype, DType::i8);
  ASSERT_NE(t.find("inner"), nullptr);
  ASSERT_NE(t.find("inner")->find("q"), nullptr);
  EXPECT_EQ(t.find("inner")->find("q")->sizes, std::vector<std::int64_t>{4});
  EXPECT_EQ(t.find("absent"), nullptr);
  ASSERT_EQ(t.attribute("block")->items.size(), 2u);
  EXPECT_EQ(t.attribute("block")->items[1].integer, 3);
  EXPECT_EQ(t.attribute("dtype")->text, "int4");
  ASSERT_NE(t.attribute("how")->find("mode"), nullptr);
  EXPECT_EQ(t.attribute("how")->find("mode")->items.at(0).text, "even");
  EXPECT_TRUE(t.attribute("none")->is_none());
  EXPECT_EQ(t.attribute("flag")->integer, 1);
  EXPECT_EQ(t.attribute("eps")->real, 0.5);
}

TEST(Pt2PickledTensor, RefusesTensorsOutsideTheirStorage) {
  expect_refused_pt2_pickled_tensor(floats(integers({7}), integers({1})),
                                    "the tensor needs 28 bytes of the storage '0', which has 24");
  expect_refused_pt2_pickled_tensor(floats(integers({2, 3}), integers({3, 1}), 1), "needs 28 bytes");
  expect_refused_pt2_pickled_tensor(floats(integers({2}), integers({6})), "needs 28 bytes");
  const std::string large = "\x8a\x08" + std::string(7, '\xff') + "\x7f";
  expect_refused_pt2_pickled_tensor(floats("(" + large + "t", "(" + large + "t"), "larger than 2^63 bytes");
  expect_refused_pt2_pickled_tensor(floats("(" + large + "t", integers({0})), "larger than 2^63 bytes");
  expect_refused_pt2_pickled_tensor(floats("(" + large + large + "t", integers({0, 0})), "larger than 2^63 bytes");
  expect_refused_pt2_pickled_tensor(floats(integers({-1}), integers({1})), "the list of sizes is negative");
  expect_refused_pt2_pickled_tensor(floats(integers({1}), integers({-1})), "the list of strides is negative");
  expect_refused_pt2_pickled_tensor(floats(integers({1}), integers({1}), -4), "the storage offset is negative");
  expect_refused_pt2_pickled_tensor(floats(integers({1, 2}), integers({1})), "the numbers of strides and sizes differ");
  expect_refused_pt2_pickled_tensor(floats(integers(std::vector<std::int32_t>(65, 1)), integers({1})),
                                    "has 65 numbers");
}

TEST(Pt2PickledTensor, RefusesStoragesThatLie) {
  const std::string one = integers({1});
  expect_refused_pt2_pickled_tensor(plain(storage("FloatStorage", "0", 7), one, one),
                                    "has 7 elements of 'torch FloatStorage', but its entry has 24 bytes");
  expect_refused_pt2_pickled_tensor(plain(storage("FloatStorage", "9", 6), one, one), "entry data/'9'");
  expect_refused_pt2_pickled_tensor(plain(storage("FloatStorage", "0", -1), one, one),
                                    "the size of the storage is negative");
  expect_refused_pt2_pickled_tensor(plain(storage("UntypedStorage", "0", 24), one, one),
                                    "the dtype of the tensor is missing");
  expect_refused_pt2_pickled_tensor(plain(kNone, one, one), "the storage is None, not a reference to stored data");
  expect_refused_pt2_pickled_tensor(plain(text("0") + "Q", one, one), "is a text, not a tuple");
  expect_refused_pt2_pickled_tensor(plain(tuple({text("other"), kNone, kNone, kNone, kNone}) + "Q", one, one),
                                    "is not a storage", ErrorCode::unsupported);
  expect_refused_pt2_pickled_tensor(plain(storage("UntypedStorage", "0", 24), one, one, 0, "int4"),
                                    "tensors of int4 are not supported", ErrorCode::unsupported);
}

TEST(Pt2PickledTensor, RefusesObjectsThatAreNoTensors) {
  expect_refused_pt2_pickled_tensor(kNone, "expected a tensor, found None", ErrorCode::unsupported);
  expect_refused_pt2_pickled_tensor(call(global("torch", "device"), {text("cpu")}), "expected a tensor",
                                    ErrorCode::unsupported);
  expect_refused_pt2_pickled_tensor(call(global("torch._utils", "_rebuild_tensor_v2"), {kNone}),
                                    "has 1 arguments, not 6 to 7");
  expect_refused_pt2_pickled_tensor(subclass(global("torch", "device"), "float32", {1}, dict({})),
                                    "is not a tensor class");
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, kNone),
                                    "the state of the tensor is None, not a dict");
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, dict({{"a", kNone}, {"a", kNone}})),
                                    "attribute 'a' occurs twice");
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, "}(" + integer(1) + kNone + "u"),
                                    "the name of an attribute is an integer");
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, dict({{"a", kInt8}})),
                                    "is not an attribute of a tensor");
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, dict({{"a", text("0") + "Q"}})),
                                    "an attribute is stored data");
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, dict({{"a", text(std::string(1025, 'x'))}})),
                                    "has 1025 bytes");
  const std::string name(65, 'n');
  expect_refused_pt2_pickled_tensor(
      subclass(kInt8, "float32", {1}, dict({{name, floats(integers({1}), integers({1}))}})),
      "an inner tensor has 65 bytes");
}

TEST(Pt2PickledTensor, LimitsDepthAndNumber) {
  std::string deep = kNone;
  for (int i = 0; i < 9; ++i) deep += "\x85";
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, dict({{"a", deep}})), "nested more than 8 deep");
  // l = []; l.append(l)
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1},
                                             dict({{"a",
                                                    "]q\x01h\x01"
                                                    "a"}})),
                                    "nested more than 8 deep");
  // Each tuple holds its predecessor 64 times.
  std::string wide = kNone;
  for (int i = 0; i < 3; ++i) {
    wide += std::string("q") + static_cast<char>(i) + "0(";
    for (int k = 0; k < 64; ++k) wide += std::string("h") + static_cast<char>(i);
    wide += "t";
  }
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, dict({{"a", wide}})), "more than 4096 values");
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 32; ++i) many.emplace_back("t" + std::to_string(i), floats(integers({1}), integers({1})));
  expect_refused_pt2_pickled_tensor(subclass(kInt8, "float32", {1}, dict(many)), "more than 32 tensors");
  // A subclass with itself as its inner tensor.
  const std::string type = kInt8;
  const std::string loop = global("torch._tensor", "_rebuild_from_type_v2") + "(" +
                           global("torch._utils", "_rebuild_wrapper_subclass") + type + "(" + type +
                           global("torch", "float32") + integers({1}) + integers({1}) + integer(0) + kNone + kNone +
                           kFalse +
                           "t}q\x01tRq\x02"
                           "0h\x01" +
                           text("a") + "h\x02s0h\x02";
  expect_refused_pt2_pickled_tensor(loop, "nested more than 8 deep");
}

// a2_attr: values and strings shared through the memo.
TEST(Pt2PickledTensor, WhatIsMadeCountsAsWorkOfTheFile) {
  std::string row = "(";
  for (int i = 0; i < 60; ++i) row += kNone;
  std::string wide = row + "tq\x01" + "0(";
  for (int i = 0; i < 60; ++i) wide += "h\x01";
  const std::string shared = subclass(kInt8, "float32", {1}, dict({{"a", wide + "t"}}));
  ASSERT_LT(shared.size(), 1000u);
  std::string texts = "}(" + text(std::string(1000, 'n')) + "q\x01" + text(std::string(1000, 'v')) + "q\x02";
  for (int i = 0; i < 1000; ++i) texts += "h\x01h\x02";
  const PickledTensor t = read(subclass(kInt8, "float32", {1}, dict({{"a", texts + "u"}})));
  EXPECT_EQ(t.attribute("a")->fields.size(), 1001u);
  EXPECT_EQ(t.attribute("a")->fields[0].name.data(), t.attribute("a")->fields[1000].name.data()) << "a copy";
  const WorkBudget budget(work_of(64 * shared.size()));
  const std::string error = error_of(
      [&] {
        for (int i = 0; i < 64; ++i) read(shared);
      },
      ErrorCode::unsupported);
  EXPECT_NE(error.find("units of work"), std::string::npos) << error;
}

TEST(Pt2SavedObject, RefusesArchivesThatLie) {
  const auto error = [](const std::vector<ZipItem>& items, ErrorCode code = ErrorCode::bad_file) {
    const std::string file = write_zip(items);
    return error_of([&] { read_saved_object(as_bytes(file), 0, "w"); }, code);
  };
  EXPECT_EQ(error(saved_items("N.", {"x"})), "");
  EXPECT_NE(error({{"archive/version", "3"}}).find("entry archive/data.pkl"), std::string::npos);
  EXPECT_NE(error({{"archive/data.pkl", "N."}, {"other/data/0", ""}}).find("is not under the folder"),
            std::string::npos);
  EXPECT_NE(error({{"data.pkl", "N."}}).find("is not under the folder"), std::string::npos);
  EXPECT_NE(
      error({{"archive/data.pkl", "N."}, {"archive/byteorder", "big"}}, ErrorCode::unsupported).find("big-endian"),
      std::string::npos);
  EXPECT_NE(error({{"archive/data.pkl", "N."}, {"archive/data.pkl", "N."}}).find("occurs twice"), std::string::npos);
  ZipItem compressed{"archive/data.pkl", "N."};
  compressed.method = 8;
  EXPECT_NE(error({compressed}).find("is compressed"), std::string::npos);
}

TEST(Pt2SavedObject, RefusesEveryTruncation) {
  const std::string file = saved(pickle(floats(integers({6}), integers({1}))), {std::string(24, '\1')});
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string cut = file.substr(0, size);
    EXPECT_NE(error_of([&] { read_pickled_tensor(read_saved_object(as_bytes(cut), 0, "w"), "w"); }), "") << size;
  }
}

TEST(Pt2PickledTensor, EveryTruncationOfThePickleIsRefused) {
  const std::string whole =
      pickle(subclass(kInt8, "float32", {4}, dict({{"q", floats(integers({4}), integers({1}))}})));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string file = saved(whole.substr(0, size), {std::string(24, '\1')});
    EXPECT_NE(error_of([&] { read_pickled_tensor(read_saved_object(as_bytes(file), 0, "w"), "w"); }), "") << size;
  }
}

}  // namespace
}  // namespace tern::pt2::test
