// Memory shared by the processes of one host: a mailbox for each pair of ranks.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace tern::stand_in {

struct Message {
  bool sends;
  int peer;
  std::byte* data;
  std::size_t bytes;
  std::size_t transferred = 0;
};

class Mailboxes {
 public:
  /// The named memory, created by the first rank.
  Mailboxes(const std::string& name, int rank, int ranks);
  ~Mailboxes();
  Mailboxes(const Mailboxes&) = delete;
  Mailboxes& operator=(const Mailboxes&) = delete;
  /// True if all ranks have arrived.
  [[nodiscard]] bool complete() const;
  /// Until all are done, or `aborted` is set. Messages of a pair keep their order.
  void exchange(std::vector<Message>& messages, const std::atomic<bool>& aborted);

 private:
  struct Box;
  struct Head;
  [[nodiscard]] Box& box(int from, int to) const;
  bool move(Message& message);

  std::string name_;
  int rank_, ranks_;
  std::size_t bytes_ = 0;
  Head* head_ = nullptr;
};

}  // namespace tern::stand_in
