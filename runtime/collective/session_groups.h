// Groups and collectives of a session: executed by the device if all ranks can, else by the host.
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
  /// Fails if the program has no group of that name. The name "" sets the default group.
  void set(std::string_view name, std::shared_ptr<ProcessGroup> group);
  /// Creates the device communicators of all groups, together with the other ranks.
  void connect();
  void run(const KernelCall& call) override;
  Membership membership(const std::string& group, const Node& node) override;
  void run(const std::string& group, const tern_op_collective& call, const Node& node) override;
  void begin_run() { called_ = false; }
  /// True after the first collective of the run: other ranks may wait for this rank.
  bool called() const { return called_; }
  /// Ends the groups after a failed run, so that no other rank waits for this rank.
  void abort(const std::string& why) noexcept;
  /// Waits: afterwards no collective writes to the session's memory.
  void settle() noexcept;

 private:
  /// State of a group, shared by all its names.
  struct Member {
    explicit Member(const std::shared_ptr<ProcessGroup>& g) : group(g), channel(g) {}
    std::shared_ptr<ProcessGroup> group;
    Channel channel;
    bool agreed = false;                               ///< true after the ranks have agreed on their communication
    std::unique_ptr<DeviceCommunicator> communicator;  ///< null: communication through the host
  };
  /// A started collective. Keyed by the result and the result's memory, because empty results may share memory.
  struct Pending {
    bool busy = false;
    ValueId value = kNoValue;
    Channel* channel = nullptr;
    std::uint64_t ticket = 0;           ///< result of Channel::start
    std::uint64_t number = 0;           ///< sequence number of the call in its group
    const std::string* name = nullptr;  ///< the group's name in the program
    std::byte* out = nullptr;
    bool staged = false;  ///< the result is in `to` and must be copied to the device
    std::uint64_t bytes = 0;
    Buffer from, to;  ///< host memory
  };
  Member* find_member(const std::string& name);
  Member& require_member(const std::string& name, std::string_view what);
  /// Creates a device communicator if all ranks offer compatible devices.
  void agree_on_communicator(Member& member);
  void run_collective(const KernelCall& call);
  void run_exchange(const KernelCall& call);
  bool run_exchange_on_device(Member& member, const KernelCall& call);
  Collective message_of(const Node& node, const TensorView& in, std::size_t i) const;
  void wait(const KernelCall& call);
  /// A group's name in the program and the number of the current call.
  struct Called {
    const std::string& name;
    std::uint64_t number;
  };
  void start_on_host(Member& member, Called as, const Collective& call, const KernelCall& kernel);
  void run_on_host(Member& member, Called as, Collective call, const TensorView& in, const TensorView& out);
  /// Position of the node in the model's Python source; empty if unknown.
  const char* source_line(const Node& node) const;
  /// Returns a view's elements in host memory: the view's own memory, or `copy` filled from the device.
  const void* host_data(const TensorView& view, Buffer& copy);

  const SessionContext& context_;
  std::map<std::string, std::shared_ptr<Member>, std::less<>> members_;
  bool called_ = false;
  Buffer in_, out_;                                         ///< host copies of a device's tensors
  std::vector<std::int64_t> input_splits_, output_splits_;  ///< elements per rank of the current call
  std::vector<std::unique_ptr<Pending>> pending_;           ///< operations in flight and free records
  std::vector<Collective> batch_;
  std::vector<Buffer> staged_;
};

}  // namespace tern
