// Values read_values from pickles, and all errors.
#include <gtest/gtest.h>

#include <limits>

#include "exporter/pt2/pickle_opcodes.h"
#include "exporter/pt2/pickle_reader.h"
#include "tests/exporter/pickle_writer.h"
#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

using PickleValueKind = PickleValue::Kind;

PickleValues read_values(const std::string& bytes) {
  return read_pickle(as_bytes(bytes), "w", 100);
}
std::string refusal(const std::string& bytes, ErrorCode code = ErrorCode::bad_file) {
  return error_of([&] { read_values(bytes); }, code);
}
void expect_refused(const std::string& bytes, const std::string& says, ErrorCode code = ErrorCode::bad_file) {
  const std::string error = refusal(bytes, code);
  EXPECT_EQ(error.find("w: offset "), 0u) << error;
  EXPECT_NE(error.find(says), std::string::npos) << error << "\nwanted: " << says;
}

// python3 -c "import pickle; print(pickle.dumps((None, True, False, -1, 300, 2**40, -2**63, 1.5, 'é', [1, 2], {'a':
// (1,)},
// ()), PROTOCOL).hex())"
const char* const kProtocols[] = {
    "8002284e88894affffffff4d2c018a060000000000018a080000000000000080473ff80000000000005802000000c3a97100"
    "5d7101284b014b02657d710258010000006171034b0185710473297471052e",
    "8004954300000000000000284e88894affffffff4d2c018a060000000000018a080000000000000080473ff8000000000000"
    "8c02c3a9945d94284b014b02657d948c0161944b018594732974942e",
};

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

TEST(Pt2PickleReader, ReadsWhatPythonWrites) {
  for (const char* hex : kProtocols) {
    const std::string bytes = from_hex(hex);
    const PickleValues v = read_values(bytes);
    const PickleValue& all = v[v.root];
    ASSERT_EQ(all.kind, PickleValueKind::tuple);
    ASSERT_EQ(all.items.size(), 12u);
    const auto at = [&](std::size_t i) -> const PickleValue& { return v[all.items[i]]; };
    EXPECT_EQ(at(0).kind, PickleValueKind::none);
    EXPECT_EQ(at(1).kind, PickleValueKind::boolean);
    EXPECT_EQ(at(1).integer, 1);
    EXPECT_EQ(at(2).integer, 0);
    EXPECT_EQ(at(3).integer, -1);
    EXPECT_EQ(at(4).integer, 300);
    EXPECT_EQ(at(5).integer, std::int64_t{1} << 40);
    EXPECT_EQ(at(6).integer, std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(at(7).real, 1.5);
    EXPECT_EQ(at(8).text, "\xc3\xa9");
    ASSERT_EQ(at(9).kind, PickleValueKind::list);
    EXPECT_EQ(at(9).items.size(), 2u);
    ASSERT_EQ(at(10).kind, PickleValueKind::dict);
    ASSERT_EQ(at(10).items.size(), 2u);
    EXPECT_EQ(v[at(10).items[0]].text, "a");
    EXPECT_EQ(v[at(10).items[1]].kind, PickleValueKind::tuple);
    EXPECT_TRUE(at(11).items.empty());
  }
}

TEST(Pt2PickleReader, RecordsCallsAndRunsNone) {
  const std::string bytes = pickle(call(global("torch", "device"), {text("cpu")}));
  const PickleValues v = read_values(bytes);
  const PickleValue& result = v[v.root];
  ASSERT_EQ(result.kind, PickleValueKind::call);
  EXPECT_EQ(v[result.items[0]].global, PickleGlobal::device);
  EXPECT_EQ(v[v[result.items[1]].items[0]].text, "cpu");
}

TEST(Pt2PickleReader, RefusesNamesThatAreNotListed) {
  // python3 -c "import os, pickle; class A: __reduce__ = lambda s: (os.system, ('true',)); pickle.dumps(A())"
  expect_refused(pickle(call(global("posix", "system"), {text("true")})),
                 "w: offset 102: pickle opcode GLOBAL: 'posix.system' is not a supported name", ErrorCode::unsupported);
  expect_refused("\x80\x04" + text("builtins") + text("eval") + "\x93.",
                 "pickle opcode STACK_GLOBAL: 'builtins.eval' is not a supported", ErrorCode::unsupported);
  for (const char* name : {"torch load", "torch.storage _load_from_bytes", "torch.jit._script unpickle", "torch nn"}) {
    const std::string full = name;
    const auto space = full.find(' ');
    expect_refused(pickle(global(full.substr(0, space), full.substr(space + 1))), "is not a supported name",
                   ErrorCode::unsupported);
  }
  // The space between module and name is the reader's own.
  expect_refused(pickle(global("torch device", "")), "is not a supported name", ErrorCode::unsupported);
}

TEST(Pt2PickleReader, RefusesEveryOtherOpcodeByName) {
  const std::string known = "(.01JKMNQRXabcehj]qrst)u}G\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x8d\x93\x94\x95";
  for (int code = 0; code < 256; ++code) {
    if (known.find(static_cast<char>(code)) != std::string::npos) continue;
    const std::string name(pickle_opcode_name(static_cast<std::uint8_t>(code)));
    const std::string bytes = "\x80\x02" + std::string(1, static_cast<char>(code)) + ".";
    if (name.empty()) {
      expect_refused(bytes, "w: offset 102: byte 0x");
    } else {
      expect_refused(bytes, "w: offset 102: pickle opcode " + name + " is not supported", ErrorCode::unsupported);
    }
  }
}

TEST(Pt2PickleReader, RefusesBadStacks) {
  const struct {
    std::string value, message;
  } cases[] = {
      {"", "opcode STOP: the stack has too few values"},
      {"NN", "opcode STOP: values are left on the stack"},
      {"(N", "opcode STOP: values are left on the stack"},
      {"Nt", "opcode TUPLE: the stack has no mark"},
      {"1", "opcode POP_MARK: the stack has no mark"},
      {"(0", "opcode POP: the stack has too few values"},
      {"N(\x85", "opcode TUPLE1: the stack has too few values"},
      {"NN\x87", "opcode TUPLE3: the stack has too few values"},
      {"NNa", "opcode APPEND: the stack holds None, not a list"},
      {"N(NNu", "opcode SETITEMS: items are put into None"},
      {"}(Nu", "opcode SETITEMS: a key has no value"},
      {global("torch", "device") + ")R(NNu", "items are put into a value that is not a dict"},
      {"N)R", "opcode REDUCE: None is called instead of a name"},
      {global("torch", "device") + "NR", "the list of arguments is None, not a tuple"},
      {"NNb", "opcode BUILD: state is given to None"},
      {global("torch", "device") + ")R}b}b", "opcode BUILD: state is given twice"},
      {"NN\x93", "opcode STACK_GLOBAL: a name is not a string"},
      {"h\x01", "opcode BINGET: the memo has no entry 1"},
      {"Nq\x01q\x01", "opcode BINPUT: entry 1 of the memo is written twice"},
      {"Nr\xff\xff\xff\xffr\xff\xff\xff\xff", "opcode LONG_BINPUT: entry 4294967295 of the memo is written twice"},
      {"q\x01", "opcode BINPUT: the stack has too few values"},
      {"N\x80\x02", "opcode PROTO: it is not at the start"},
      {"\x8a\x09" + std::string(9, '\1'), "opcode LONG1: an integer has 9 bytes"},
      {"\x95" + number(1000, 8) + "N", "opcode FRAME: a frame of 1000 bytes"},
      {"\x95" + std::string(8, '\xff') + "N", "opcode FRAME: a frame of 18446744073709551615 bytes"},
      {"X" + number(0xffffffff, 4), "4294967295 bytes are needed"},
      {"\x8d" + std::string(8, '\xff'), "18446744073709551615 bytes are needed"},
      {"X" + number(2, 4) + "\xc3(", "the text is not valid UTF-8"},
      {"c\xff\nx\n", "the name is not valid UTF-8"},
      {"N.N", "there are bytes after the end of the pickle"},
  };
  for (const auto& c : cases) expect_refused("\x80\x02" + c.value + ".", c.message);
  expect_refused(std::string("\x80\x01N."), "protocol 1 is outside 2 to 5");
  expect_refused(std::string("\x80\x06N."), "protocol 6 is outside 2 to 5");
}

TEST(Pt2PickleReader, RefusesPicklesThatAreTooLarge) {
  const std::string upper = pickle(std::string(kMaxPickleBytes - 3, 'N'));
  expect_refused(upper, "values are left on the stack");
  expect_refused(upper + ".", "at most 262144 are supported", ErrorCode::unsupported);
}

TEST(Pt2PickleReader, KeepsCyclesAndSharedValuesAsNumbers) {
  // l = []; l.append(l)
  const PickleValues cycle = read_values(
      "\x80\x02]q\x01h\x01"
      "a.");
  EXPECT_EQ(cycle[cycle.root].items, std::vector<PickleId>{cycle.root});
  // 2^64 elements if written out.
  std::string twice = "N";
  for (int i = 0; i < 64; ++i) twice += std::string("q") + static_cast<char>(i) + "h" + static_cast<char>(i) + "\x86";
  const std::string bytes = pickle(twice);
  EXPECT_EQ(read_values(bytes).values.size(), 65u);
}

TEST(Pt2PickleReader, RefusesEveryTruncation) {
  for (const char* hex : kProtocols) {
    const std::string bytes = from_hex(hex);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_NE(refusal(bytes.substr(0, size)), "") << "cut at " << size;
  }
}

}  // namespace
}  // namespace tern::pt2::test
