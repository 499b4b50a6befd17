// Output of the command: names, sizes, tables, and a progress bar on a real pseudo-terminal.
#include "tools/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "dtypes/printable.h"
#include "tests/tools/support.h"

namespace tern {
namespace {

TEST(EscapeName, LeavesTextAndShowsTheRest) {
  EXPECT_EQ(escape_name("layer.0/weight \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "layer.0/weight \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(escape_name("\x1b[2J\r\n"), "\\x1b[2J\\x0d\\x0a");
  EXPECT_EQ(escape_name(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape_name("a\\x41"), "a\\\\x41");
  EXPECT_EQ(escape_name("\xc2\x9b"), "\\xc2\\x9b") << "a control character of one byte in Latin-1";
  EXPECT_EQ(escape_name("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
  // Invalid UTF-8: a lone continuation, an overlong slash, a surrogate, above U+10FFFF, a truncated sequence.
  EXPECT_EQ(escape_name("\x80 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82"),
            "\\x80 \\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82");
  EXPECT_EQ(escape_name(std::string(1000, 'x')), std::string(200, 'x') + "...");
}

TEST(EscapeMessage, KeepsLinesThatAreIndented) {
  EXPECT_EQ(escape_message("two operators:\n  a\x1b[2J\n    why\ntern: forged"),
            "two operators:\n  a\\x1b[2J\n    why\\x0atern: forged");
  EXPECT_EQ(escape_message("long\n  " + std::string(100, 'x'), 20), "long\n  xxxxxxxxxxxxxx...");
  EXPECT_EQ(escape_message(""), "");
}

TEST(PrintableLines, ErrorsKeepTheirLines) {
  try {
    fail(ErrorCode::internal, "a log:\n  " + indented("one\ntwo\x1b[31m\n") + ", name 'x\ntern: ok'");
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "a log:\n  one\n  two\\x1b[31m, name 'x\\x0atern: ok'");
  }
}

TEST(JsonEscape, IsReadBackByAParser) {
  std::string all;
  for (int i = 0; i < 128; ++i) all += static_cast<char>(i);
  all += "\xc3\xa9\xf0\x9f\x98\x80";
  EXPECT_EQ(nlohmann::json::parse("\"" + json_escape(all) + "\"").get<std::string>(), all);
  EXPECT_EQ(nlohmann::json::parse("\"" + json_escape("a\xff\xed\xa0\x80z") + "\"").get<std::string>(),
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
}

TEST(HumanBytes, UsesDecimalUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.0 kB");
  EXPECT_EQ(human_bytes(90'912'345), "90.9 MB");
  EXPECT_EQ(human_bytes(999'949), "999.9 kB");
  EXPECT_EQ(human_bytes(999'950), "1.0 MB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "18.4 EB");
}

TEST(TextTable, AlignsItsColumns) {
  TextTable table({{"op", TextTable::Align::left}, {"passed", TextTable::Align::right}, {"", TextTable::Align::left}});
  table.add_row({"add", "7", "ok"});
  table.add_row({"\xc3\xa9lan", "1234567"});
  EXPECT_EQ(table.str(),
            "op     passed\n"
            "add         7  ok\n"
            "\xc3\xa9lan  1234567\n");
  EXPECT_NE(test::error_of([&] { table.add_row({"1", "2", "3", "4"}); }), "no error");
  TextTable bare({{}, {}});
  bare.add_row({"a", "b"});
  EXPECT_EQ(bare.str(), "a  b\n");
}

/// Output received by a terminal of 60 columns while f runs with its file descriptor.
template <typename F>
std::string terminal_output(F f) {
  int master = -1;
  int slave = -1;
  winsize size{24, 60, 0, 0};
  EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
  f(slave);
  ::close(slave);
  // Written output stays readable; afterwards the closed terminal reads as an error.
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = ::read(master, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(master);
  return text;
}

TEST(Progress, DrawsOneLineAndErasesIt) {
  ::setenv("TERM", "xterm", 1);
  const std::string text = terminal_output([](int fd) {
    Progress progress("load", 4, fd);
    progress.advance(2);
  });
  EXPECT_EQ(text, "\rload [############............]  50% 2/4\x1b[K\r\x1b[K");
  const std::string narrow = terminal_output([](int fd) {
    Progress progress(std::string(100, 'x'), 0, fd);
    progress.note("\x1b[31m");
  });
  EXPECT_EQ(narrow, "\r" + std::string(59, 'x') + "\x1b[K\r\x1b[K");
  EXPECT_EQ(terminal_output([](int fd) { Progress progress("idle", 4, fd); }), "");
}

TEST(Progress, CountsFromSeveralThreads) {
  ::setenv("TERM", "xterm", 1);
  const std::string text = terminal_output([](int fd) {
    Progress progress("load", 1000, fd);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 250; ++i) progress.advance();
      });
    }
    for (std::thread& t : threads) t.join();
    progress.finish();
  });
  EXPECT_TRUE(text.ends_with("\r\x1b[K"));
}

TEST(Progress, IsSilentInAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  {
    Progress progress("load", 4, ends[1]);
    progress.advance(4);
    progress.note("x");
  }
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tern
