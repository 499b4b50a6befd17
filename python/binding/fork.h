// A fork copies a process without its threads: the child has no thread pool.
#pragma once

namespace tern::python {

/// Call at the module's import.
void watch_forks();
/// Throws Error in a child of a process with earlier use of the runtime; else records the use by this process.
void check_fork();

}  // namespace tern::python
