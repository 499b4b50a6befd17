// Calls for sockets that differ between Linux and macOS.
#pragma once

namespace tern::platform {

/// Create sockets that neither block nor are inherited.
int create_socket(int family, int type, int protocol);
int accept_socket(int listener);

extern const int kSendFlags;     ///< no signal for closed connections
extern const short kPollHangUp;  ///< event of poll(): the peer has ended its stream

}  // namespace tern::platform
