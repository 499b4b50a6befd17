// Pipes that started programs do not inherit.
#pragma once

namespace tern::platform {

/// Creates a pipe: ends[0] is read, ends[1] written.
bool make_pipe(int (&ends)[2]);

}  // namespace tern::platform
