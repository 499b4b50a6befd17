// Groups of some of a group's ranks. A program on a device mesh has a group for each axis.
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

/// The ranks of `group` with the same `color` become a group, in the order of their ranks in `group`. A rank with a
/// negative color joins no group, and gets null.
///
/// All ranks of `group` call split_group, in the same order as their other calls, with the same name, while no other
/// thread uses `group`. The new group has its own connections: another thread may use it beside `group` and others, and
/// a failure of a group does not fail another. Engine and timeout are copied from `group`.
///
/// `group` is a result of local_group, connect_group or this function; others throw tern::Error (unsupported). Throws
/// runtime on all ranks if their names differ, and the errors of connect_group.
TERN_API std::shared_ptr<ProcessGroup> split_group(ProcessGroup& group, int color, const std::string& name);

/// torch.distributed.new_group: the group of these ranks of `group`, in ascending order; null on all other ranks. Every
/// rank of `group` calls new_group with the same ranks. Throws invalid_argument for an unknown or repeated rank, and
/// runtime on all ranks if their lists differ.
TERN_API std::shared_ptr<ProcessGroup> new_group(ProcessGroup& group, std::span<const int> ranks,
                                                 const std::string& name);

}  // namespace tern
