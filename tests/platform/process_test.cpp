// Libraries, threads, variables and facts of this process.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "platform/environment.h"
#include "platform/library.h"
#include "platform/machine.h"
#include "platform/path.h"
#include "platform/pattern.h"
#include "platform/thread.h"

namespace tern::platform {
namespace {

void address_of_this_test() {}

TEST(Libraries, CodeHasAFile) {
  const std::string file = file_of_code(reinterpret_cast<const void*>(&address_of_this_test));
  EXPECT_TRUE(path_of(file).is_absolute()) << file;
  EXPECT_TRUE(file.find("test_platform") != std::string::npos) << file;
}

TEST(Libraries, MissingOnesAreNamed) {
  std::string problem;
  EXPECT_EQ(open_library("./no such library.so", &problem), nullptr);
  EXPECT_NE(problem.find("no such library"), std::string::npos) << problem;
  EXPECT_EQ(open_library(library_file_name("tern_no_such"), &problem), nullptr);
}

TEST(Libraries, FileNamesFollowTheSystem) {
  const std::string name = library_file_name("tern_x");
  EXPECT_NE(name.find("tern_x."), std::string::npos);
  EXPECT_TRUE(is_library_file_name(name));
  EXPECT_FALSE(is_library_file_name("tern_x.txt"));
  EXPECT_EQ(loaded_library("no such library"), "");
}

TEST(Libraries, SymbolsAreFound) {
  void* const library = open_library(zlib_file_name());
  if (library == nullptr) GTEST_SKIP() << "this system has no zlib";
  EXPECT_NE(find_symbol(library, "deflate"), nullptr);
  EXPECT_EQ(find_symbol(library, "no_such_symbol"), nullptr);
  const std::string name = zlib_file_name();
  EXPECT_FALSE(loaded_library(name.substr(name.rfind('/') + 1)).empty());
  close_library(library);
}

TEST(Threads, HaveNumbers) {
  std::set<std::uint32_t> numbers = {thread_number()};
  std::thread([&] {
    const SignalsBlocked blocked;
    lower_priority();
    leave_processor(current_processor());
    numbers.insert(thread_number());
  }).join();
  EXPECT_EQ(numbers.size(), 2u);
  EXPECT_GE(current_processor(), -1);
}

TEST(Machine, HasANameAndAProcess) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_GT(process_number(), 0);
}

TEST(Environment, UnsetDiffersFromEmpty) {
  EXPECT_FALSE(trusted_variable("TERN_NO_SUCH_VARIABLE").has_value());
  EXPECT_FALSE(trusted_variable("PATH").value_or("").empty());
  for (const bool unset : {false, true}) {
    EXPECT_EQ(variable_is_on("TERN_NO_SUCH_VARIABLE", unset), unset);
    for (const auto& [value, on] : {std::pair("0", false), {"1", true}, {"00", true}, {"", unset}}) {
      set_variable("TERN_TEST_SWITCH", value);
      EXPECT_EQ(variable_is_on("TERN_TEST_SWITCH", unset), on) << value;
    }
    set_variable("TERN_TEST_SWITCH", nullptr);
  }
  if (const std::string folder = user_cache_folder(); !folder.empty()) {
    EXPECT_TRUE(path_of(folder).is_absolute());
  }
}

TEST(Patterns, MatchWholeTexts) {
  struct Case {
    const char *pattern, *text;
    bool matches;
  };
  constexpr Case kCases[] = {{"", "", true},
                             {"*", "", true},
                             {"*", "abc", true},
                             {"a*c", "abbc", true},
                             {"a*c", "abcd", false},
                             {"a?c", "abc", true},
                             {"a?c", "ac", false},
                             {"[a-c]x", "bx", true},
                             {"[!a-c]x", "bx", false},
                             {"[!a-c]x", "dx", true},
                             {"[]]", "]", true},
                             {"\\*", "*", true},
                             {"\\*", "a", false},
                             {"*b*d", "abcbcd", true},
                             {"layers.*.w", "layers.10.w", true},
                             {"layers.*.w", "layers.w", false},
                             {"[a", "[a", true},
                             {"*.w", "a/b.w", true}};
  for (const Case& c : kCases) EXPECT_EQ(matches_pattern(c.pattern, c.text), c.matches) << c.pattern << ' ' << c.text;
}

}  // namespace
}  // namespace tern::platform
