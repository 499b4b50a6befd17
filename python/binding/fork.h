// A fork copies a process without its threads, so the pool of threads is gone in the child.
#pragma once

namespace tern::python {

/// Call when the module is imported.
void watch_forks();
/// Throws Error in a child of a process that had used the runtime before it forked; else notes that this one uses it.
void check_fork();

}  // namespace tern::python
