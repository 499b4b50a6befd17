// Operator libraries: arguments of calls, and refusals. The test contains the operators.
#include <gtest/gtest.h>
#include <tern/custom_op.h>
#include <tern/error.h>

#include <cstring>

#include "kernels/custom/library.h"
#include "schema/custom_arguments.h"

namespace tern {
namespace {

Node node(const std::string& text, std::size_t inputs, Dims integers = {}, std::vector<double> numbers = {}) {
  Node n;
  n.op = Op::custom;
  n.inputs.resize(inputs);
  n.set(AttrKey::name, std::string("mylib::f"));
  n.set(AttrKey::text, text);
  if (!integers.empty()) n.set(AttrKey::value, integers);
  if (!numbers.empty()) n.set(AttrKey::hyper, numbers);
  return n;
}

TEST(CustomArguments, SurviveTheRoundTrip) {
  using Kind = CustomArgument::Kind;
  const std::vector<CustomArgument> given = {{"x", Kind::tensors, 1, ""},      {"bias", Kind::none, 0, ""},
                                             {"sizes", Kind::integers, 2, ""}, {"mode", Kind::text, 7, "a\nb c\n\n"},
                                             {"scale", Kind::numbers, 1, ""},  {"empty", Kind::text, 0, ""},
                                             {"others", Kind::tensors, 3, ""}};
  const auto read = custom_arguments(node(format_custom_arguments(given), 4, {5, 6}, {0.5}));
  ASSERT_EQ(read.size(), given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(read[i].name, given[i].name);
    EXPECT_EQ(read[i].kind, given[i].kind);
    EXPECT_EQ(read[i].count, given[i].count);
    EXPECT_EQ(read[i].text, given[i].text);
  }
}

TEST(CustomArguments, WhatDoesNotFitIsRefused) {
  const char* const texts[] = {"",
                               "x tensors 1",
                               "x tensors 1\n",
                               "x tensors\n\n",
                               "x tensors -1\n\n",
                               "x tensors 99999999999\n\n",
                               "x tensors 1x\n\n",
                               "x widgets 1\n\n",
                               "x tensors 2\n\n",
                               "x none 1\nx tensors 1\n\n",
                               "x tensors 1\ny integers 1\n\n",
                               "x tensors 1\ny numbers 1\n\n",
                               "x tensors 1\ny text 4\n\nabc",
                               "x tensors 1\n\nabc"};
  for (const char* text : texts) EXPECT_THROW(custom_arguments(node(text, 1)), Error) << text;
  EXPECT_NO_THROW(custom_arguments(node("x tensors 1\n\n", 1)));
}

TEST(CustomOps, NamesFollowPython) {
  EXPECT_EQ(custom_op_name("mylib.rope.default"), "mylib::rope");
  EXPECT_EQ(custom_op_name("mylib.rope.out"), "mylib::rope.out");
  EXPECT_EQ(custom_op_name("rope"), "rope");
}

TEST(CustomOps, WhatIsNoLibraryIsRefused) {
  EXPECT_THROW(load_ops("no_such_library.so"), Error);
  EXPECT_THROW(load_ops("libm.so.6"), Error) << "not looked for in the system's folders";
  EXPECT_EQ(find_custom_op("mylib::nothing"), nullptr);
}

}  // namespace
}  // namespace tern
