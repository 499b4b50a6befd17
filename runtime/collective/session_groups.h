// The groups of a session, and its collectives: on its device where all ranks can, else on the host.
#pragma once

#include <tern/collective.h>

#include <map>
#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "runtime/context.h"
#include "runtime/devices/abilities.h"
#include "runtime/memory.h"

namespace tern {

class SessionGroups : public GroupAccess {
 public:
  explicit SessionGroups(const SessionContext& context) : context_(context) {}
  /// Fails where the program has no group of that name; "" is for all that have none of their own.
  void set(std::string_view name, std::shared_ptr<ProcessGroup> group);
  void run(const KernelCall& call) override;
  /// A run has failed: no other rank shall wait for this one.
  void abort(const std::string& why) noexcept;

 private:
  struct Member {
    std::shared_ptr<ProcessGroup> group;
    std::uint64_t calls = 0;                           ///< of the program's, so far
    bool agreed = false;                               ///< the ranks know how they communicate
    std::unique_ptr<DeviceCommunicator> communicator;  ///< null: through the host
  };
  Member* find(const std::string& name);
  void agree(Member& member);
  void run_on_host(ProcessGroup& group, Collective call, const TensorView& in, const TensorView& out);

  const SessionContext& context_;
  std::map<std::string, Member, std::less<>> members_;
  Buffer in_, out_;  ///< on the host, of a device's tensors
};

}  // namespace tern
