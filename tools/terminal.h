// Progress bars, and helpers for printing text.
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
/// 80 if `fd` is no terminal.
std::size_t terminal_columns(int fd);

/// A line on stderr, redrawn in place and erased at the end; silent if stderr is not a terminal. Several threads may
/// call advance() and set() at once.
class Progress {
 public:
  /// total: number of units; 0 if unknown (then only the count is shown).
  explicit Progress(std::string label, std::uint64_t total = 0, int fd = 2);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t units = 1);
  void set(std::uint64_t completed);
  /// Current item, shown after the count; untrusted text is escaped.
  void note(std::string_view text);
  /// Erases the line; nothing is drawn afterwards. The destructor also calls finish().
  void finish();

 private:
  void draw_if_due();
  void draw();

  const std::string label_;
  const std::uint64_t total_steps_;
  const int fd_;
  std::atomic<bool> active_;
  std::atomic<std::uint64_t> completed_{0};
  std::mutex mutex_;  ///< guards the members below, and the line itself
  std::string note_;
  std::chrono::steady_clock::time_point next_draw_{};
};

}  // namespace tern
