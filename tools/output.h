// Standard output: what cannot be written is an error, not silence.
#pragma once

#include <string>

namespace tern {

/// Makes a closed pipe a failed write rather than the end of the process. Call once, before anything is written.
void keep_write_errors();

/// True when something printed to standard output has failed to reach it.
bool output_failed();

/// Flushes and closes standard output. Returns why what was printed is not there; empty when all of it is.
std::string finish_output();

}  // namespace tern
