// Control plane of a group of processes. Each rank holds one TCP connection to rank 0 and reports long calls, failures
// and its departure; engines exchange addresses during connection. A broken connection means an ended rank. Elements
// use the engine instead.
#pragma once

#include <tern/collective.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/collective/socket.h"
#include "runtime/collective/watch.h"

namespace tern {

class Control : public Watch {
 public:
  /// Returns after all ranks have connected; fails with the missing or duplicate ranks. `listener`: rank 0's listening
  /// socket; if closed, rank 0 opens one. `lost`: reason to stop waiting, empty while all is well; called by any thread
  /// until `connect` returns.
  using Lost = std::function<std::string()>;
  static std::unique_ptr<Control> connect(const GroupOptions& options, Socket listener = {}, Lost lost = {});
  /// Host name of this process in the network of rank 0: "HOST" or "[HOST]".
  virtual std::string own_host() const = 0;
  /// Registers a callback for the group's failure: called once, by any thread.
  virtual void set_failure_callback(std::function<void()> act) = 0;
  virtual void set(const std::string& key, std::span<const std::byte> value) = 0;
  /// Waits for a value of the key.
  virtual std::vector<std::byte> get(const std::string& key) = 0;
};

}  // namespace tern
