// The groups of a session, and its collectives: on its device where all ranks can, else on the host.
#pragma once

#include <tern/collective.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/custom/groups.h"
#include "kernels/kernel.h"
#include "runtime/collective/channel.h"
#include "runtime/context.h"
#include "runtime/devices/abilities.h"
#include "runtime/memory.h"

namespace tern {

class SessionGroups : public GroupAccess, public NamedGroups {
 public:
  explicit SessionGroups(const SessionContext& context) : context_(context) {}
  /// Fails where the program has no group of that name; "" is for all that have none of their own.
  void set(std::string_view name, std::shared_ptr<ProcessGroup> group);
  void run(const KernelCall& call) override;
  Place place(const std::string& group, const Node& node) override;
  void run(const std::string& group, const tern_op_collective& call, const Node& node) override;
  void begin_run() { called_ = false; }
  /// Whether the run has come to a collective: other ranks may wait for this one.
  bool called() const { return called_; }
  /// A run has failed: no other rank shall wait for this one.
  void abort(const std::string& why) noexcept;
  /// Afterwards nothing writes to the session's memory.
  void settle() noexcept;

 private:
  /// Of a group, for all its names.
  struct Member {
    explicit Member(const std::shared_ptr<ProcessGroup>& g) : group(g), channel(g) {}
    std::shared_ptr<ProcessGroup> group;
    Channel channel;
    bool agreed = false;                               ///< the ranks know how they communicate
    std::unique_ptr<DeviceCommunicator> communicator;  ///< null: through the host
  };
  /// A collective that has started, by its result and the result's memory, which empty results may share.
  struct Pending {
    bool busy = false;
    ValueId value = kNoValue;
    Channel* channel = nullptr;
    std::uint64_t ticket = 0, number = 0;
    const std::string* name = nullptr;  ///< of the group, in the program
    std::byte* out = nullptr;
    bool staged = false;  ///< the result is in `to`, and goes to the device
    std::uint64_t bytes = 0;
    Buffer from, to;  ///< on the host
  };
  Member* find(const std::string& name);
  Member& need(const std::string& name, std::string_view what);
  void agree(Member& member);
  void collective(const KernelCall& call);
  void exchange(const KernelCall& call);
  bool exchange_on_device(Member& member, const KernelCall& call);
  Collective message_of(const Node& node, const TensorView& in, std::size_t i) const;
  void wait(const KernelCall& call);
  /// How the program calls a group, and the number of this call.
  struct Called {
    const std::string& name;
    std::uint64_t number;
  };
  void start(Member& member, Called as, const Collective& call, const KernelCall& kernel);
  void run_on_host(Member& member, Called as, Collective call, const TensorView& in, const TensorView& out);
  const char* place_of(const Node& node) const;
  /// The host's memory of a view: its own, or a copy.
  const void* host(const TensorView& view, Buffer& copy);

  const SessionContext& context_;
  std::map<std::string, std::shared_ptr<Member>, std::less<>> members_;
  bool called_ = false;
  Buffer in_, out_;  ///< on the host, of a device's tensors
  std::vector<std::int64_t> in_parts_, out_parts_;
  std::vector<std::unique_ptr<Pending>> pending_;  ///< those in flight, and free ones
  std::vector<Collective> batch_;
  std::vector<Buffer> staged_;
};

}  // namespace tern
