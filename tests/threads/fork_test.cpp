// Thread pools after fork(), which Windows lacks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/threads/sum.h"

namespace tern {
namespace {

TEST(ThreadPool, ACopyOfTheProcessWorksAlone) {
  const ThreadScope scope{Threads(4)};
  ASSERT_EQ(sum_below(100), 4950);
  const pid_t child = fork();
  if (child == 0) _exit(sum_below(100) == 4950 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace tern
