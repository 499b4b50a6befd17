// Pipes that started programs do not inherit.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

namespace tern::platform {

/// Creates a pipe: ends[0] is read, ends[1] written.
bool make_pipe(int (&ends)[2]);

/// Passes the bytes of a pipe to `consume` until the pipe ends. Returns false if the deadline comes first.
bool read_pipe(int end, std::chrono::steady_clock::time_point deadline,
               const std::function<void(std::string_view)>& consume);

}  // namespace tern::platform
