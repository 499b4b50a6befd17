// What the command shows while it works: a progress bar. Brings in the helpers for printing text.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "tools/text.h"
#include "tools/text_table.h"

namespace tern {

bool is_terminal(int fd);
/// 80 where it is none.
std::size_t terminal_columns(int fd);

/// One line on stderr that is redrawn in place, and erased at the end; silent when stderr is not a terminal.
/// advance() and set() may be called from several threads at once.
class Progress {
 public:
  /// total: how many units there are; 0 when unknown, then only the count is shown.
  explicit Progress(std::string label, std::uint64_t total = 0, int fd = 2);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t units = 1);
  void set(std::uint64_t done);
  /// What is being worked on, shown after the count; untrusted text is escaped.
  void note(std::string_view text);
  /// Erases the line; nothing is drawn after. The destructor does it too.
  void finish();

 private:
  void draw_if_due();
  void draw();

  const std::string label_;
  const std::uint64_t total_;
  const int fd_;
  std::atomic<bool> active_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;  ///< guards what is below, and the line itself
  std::string note_;
  std::chrono::steady_clock::time_point next_draw_{};
};

}  // namespace tern
