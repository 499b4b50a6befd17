// Groups of some of a group's ranks. A program on a mesh of devices names several: one for each axis.
//
//   auto world = tern::connect_group("gloo", tern::launched_group_options());      // four ranks
//   session.set_group(tern::split_group(*world, world->rank() / 2, "tp"), "tp");  // ranks 0 and 1; ranks 2 and 3
//   session.set_group(tern::split_group(*world, world->rank() % 2, "dp"), "dp");  // ranks 0 and 2; ranks 1 and 3
#pragma once

#include <tern/collective.h>

#include <memory>
#include <span>
#include <string>

namespace tern {

/// The ranks of `group` that give the same `color` become a group, in the order that they have in `group`. A rank with
/// a negative color belongs to none, and gets null.
///
/// All ranks of `group` call it, in the same order as their other calls, with the same name, while no other thread uses
/// `group`. The new group has its own connections: it may be used beside `group` and others, by another thread, and a
/// failure in one does not fail another. It uses the engine and the timeout of `group`.
///
/// `group` is one of local_group, connect_group or this function; others throw tern::Error (unsupported). Throws
/// runtime on all ranks if their names differ, and as connect_group does.
TERN_API std::shared_ptr<ProcessGroup> split_group(ProcessGroup& group, int color, const std::string& name);

/// torch.distributed.new_group: the group of these ranks of `group`, in ascending order; null on all others. Every rank
/// of `group` calls it with the same ranks. Throws invalid_argument for a rank that does not exist or is there twice,
/// and runtime on all ranks if their lists differ.
TERN_API std::shared_ptr<ProcessGroup> new_group(ProcessGroup& group, std::span<const int> ranks,
                                                 const std::string& name);

}  // namespace tern
