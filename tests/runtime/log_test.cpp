// Messages that reach no caller as an error.
#include "runtime/log.h"

#include <gtest/gtest.h>
#include <tern/c_api.h>

#include <string>
#include <vector>

namespace tern {
namespace {

struct RecordedMessages {
  std::vector<std::pair<std::int32_t, std::string>> messages;
  static void add(std::int32_t level, const char* message, void* user) {
    static_cast<RecordedMessages*>(user)->messages.emplace_back(level, message);
  }
};

TEST(Log, GoesToAFunctionOrToStandardError) {
  RecordedMessages recorded;
  set_log(&RecordedMessages::add, &recorded);
  log_message(LogLevel::warning, "a folder is full");
  tern_set_log(&RecordedMessages::add, &recorded);
  log_message(LogLevel::error, "a record was not written");
  set_log(nullptr);
  ASSERT_EQ(recorded.messages.size(), 2U);
  EXPECT_EQ(recorded.messages[0], (std::pair<std::int32_t, std::string>(TERN_LOG_WARNING, "a folder is full")));
  EXPECT_EQ(recorded.messages[1], (std::pair<std::int32_t, std::string>(TERN_LOG_ERROR, "a record was not written")));
  ::testing::internal::CaptureStderr();
  log_message(LogLevel::warning, "a folder is full");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "tern: a folder is full\n");
  EXPECT_EQ(recorded.messages.size(), 2U);
}

}  // namespace
}  // namespace tern
