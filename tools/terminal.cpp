#include "tools/terminal.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/console.h"
#include "platform/environment.h"

namespace tern {
namespace {

constexpr auto kRedrawEvery = std::chrono::milliseconds(80);
constexpr std::size_t kBarCells = 24;

/// Truncates to `columns` characters; UTF-8 sequences stay whole.
std::string fitted(std::string text, std::size_t columns) {
  while (display_width(text) > columns) {
    do {
      text.pop_back();
    } while (!text.empty() && !is_utf8(text));
  }
  return text;
}

}  // namespace

bool is_terminal(int fd) {
  return platform::is_console(fd) && platform::trusted_variable("TERM") != "dumb";
}

std::size_t terminal_columns(int fd) {
  const std::size_t columns = platform::console_columns(fd);
  return columns > 0 ? columns : 80;
}

Progress::Progress(std::string label, std::uint64_t total, int fd)
    : label_(std::move(label)), total_steps_(total), fd_(fd), active_(is_terminal(fd)) {}

Progress::~Progress() {
  finish();
}

void Progress::advance(std::uint64_t units) {
  completed_ += units;
  draw_if_due();
}

void Progress::set(std::uint64_t completed) {
  completed_ = completed;
  draw_if_due();
}

void Progress::note(std::string_view text) {
  if (!active_) return;
  {
    const std::lock_guard lock(mutex_);
    note_ = escape_name(text);
  }
  draw_if_due();
}

void Progress::finish() {
  if (!active_.exchange(false)) return;
  const std::lock_guard lock(mutex_);
  if (next_draw_ != std::chrono::steady_clock::time_point{}) platform::write_stream(fd_, "\r\x1b[K");
}

void Progress::draw_if_due() {
  if (!active_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !active_) return;  // another thread is drawing
  const auto current_time = std::chrono::steady_clock::now();
  if (current_time < next_draw_) return;
  next_draw_ = current_time + kRedrawEvery;
  draw();
}

void Progress::draw() {
  std::string line = label_ + " ";
  const std::uint64_t completed = completed_;
  if (total_steps_ > 0) {
    const double fraction = std::min(1.0, static_cast<double>(completed) / static_cast<double>(total_steps_));
    const auto filled = static_cast<std::size_t>(fraction * kBarCells);
    line += fmt::format("[{}{}] {:3.0f}% {}/{}", std::string(filled, '#'), std::string(kBarCells - filled, '.'),
                        fraction * 100, completed, total_steps_);
  } else {
    line += std::to_string(completed);
  }
  if (!note_.empty()) line += "  " + note_;
  // The last column stays free: writing to the last column would start a new line.
  platform::write_stream(fd_, "\r" + fitted(std::move(line), terminal_columns(fd_) - 1) + "\x1b[K");
}

}  // namespace tern
