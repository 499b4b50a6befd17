// Other programs run with limits.
#include <gtest/gtest.h>

#include "platform/machine.h"
#include "platform/process.h"

namespace tern::platform {
namespace {

ProcessResult run(const std::string& path, const std::vector<std::string>& arguments,
                  std::chrono::milliseconds limit = std::chrono::hours(1), const EnvironmentVariables& variables = {}) {
  return run_process(path, arguments, limit, variables);
}

TEST(Processes, StatusAndOutput) {
  const std::string shell = find_program("sh");
  if (shell.empty()) GTEST_SKIP() << "this system has no sh";
  EXPECT_EQ(run(shell, {"-c", "exit 3"}).status, 3);
  const ProcessResult both = run(shell, {"-c", "echo \"$0\" >&2; echo b", "a  \"b\""});
  EXPECT_EQ(both.status, 0);
  EXPECT_EQ(both.output, "a  \"b\"\nb\n");
  EXPECT_GT(run(shell, {"-c", "kill -9 $$"}).status, 255);
  EXPECT_EQ(run(shell, {"-c", "head -c 3000000 /dev/zero"}).output.size(), std::size_t{1} << 20);
  EXPECT_EQ(run(shell, {"-c", "cat"}).output, "");  // stdin is empty
}

TEST(Processes, WhatRunsTooLongIsEndedWithAllThatItStarted) {
  using namespace std::chrono_literals;
  const std::string shell = find_program("sh");
  if (shell.empty()) GTEST_SKIP() << "this system has no sh";
  const auto begin = std::chrono::steady_clock::now();
  // A child that holds the output, a child that closed the output, and a grandchild that outlives its parent.
  for (const char* text : {"sleep 100; echo done", "exec >/dev/null 2>&1; sleep 100", "sleep 100 & wait"}) {
    const ProcessResult result = run(shell, {"-c", text}, 300ms);
    EXPECT_TRUE(result.is_late) << text;
    EXPECT_GT(result.status, 255) << text;
    EXPECT_FALSE(result.crash.empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  EXPECT_FALSE(run(shell, {"-c", "exit 0"}, 60s).is_late);
}

TEST(Processes, VariablesAreAdded) {
  if (find_program("sh").empty()) GTEST_SKIP() << "this system has no sh";
  EXPECT_EQ(run(find_program("sh"), {"-c", "echo $HOME $TERN_TEST_B"}, std::chrono::hours(1),
                {{"HOME", "new"}, {"TERN_TEST_B", "b"}})
                .output,
            "new b\n");
}

TEST(Processes, ProgramsThatAreNotThere) {
  EXPECT_EQ(find_program("tern-no-such-program"), "");
  EXPECT_NE(run("/nonexistent/clang", {}).problem.find("/nonexistent/clang"), std::string::npos);
}

TEST(Processes, RunOrHaveEnded) {
  EXPECT_TRUE(is_running(process_number()));
  EXPECT_FALSE(is_running(0));
}

}  // namespace
}  // namespace tern::platform
