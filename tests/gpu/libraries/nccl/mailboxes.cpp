#include "tests/gpu/libraries/nccl/mailboxes.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "tests/gpu/libraries/driver.h"

namespace tern::stand_in {

struct Mailboxes::Head {
  std::atomic<int> arrived;
};

/// Zeroed memory is an empty box.
struct alignas(64) Mailboxes::Box {
  std::atomic<std::size_t> full;  ///< bytes; 0: the sender may write
  std::byte data[1 << 14];
};

Mailboxes::Mailboxes(const std::string& name, int rank, int ranks) : name_(name), rank_(rank), ranks_(ranks) {
  bytes_ = sizeof(Box) + sizeof(Box) * static_cast<std::size_t>(ranks * ranks);
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) misuse("no shared memory %s", name.c_str());
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) misuse("the shared memory %s cannot be mapped", name.c_str());
  head_ = static_cast<Head*>(memory);
  if (++head_->arrived == ranks) shm_unlink(name.c_str());  // all ranks have opened the memory
}

Mailboxes::~Mailboxes() {
  munmap(head_, bytes_);
}

bool Mailboxes::complete() const {
  return head_->arrived == ranks_;
}

Mailboxes::Box& Mailboxes::box(int from, int to) const {
  auto* boxes = reinterpret_cast<Box*>(reinterpret_cast<std::byte*>(head_) + sizeof(Box));
  return boxes[from * ranks_ + to];
}

/// Moves a piece of the message; true on progress.
bool Mailboxes::move(Message& m) {
  Box& b = m.sends ? box(rank_, m.peer) : box(m.peer, rank_);
  const std::size_t full = b.full.load(std::memory_order_acquire);
  if (m.sends != (full == 0)) return false;
  const std::size_t left = m.bytes - m.transferred;
  const std::size_t n = m.sends ? std::min(left, sizeof b.data) : full;
  if (n > left) return false;  // the ranks make different calls: waits forever, possible for the real library, too
  std::memcpy(m.sends ? b.data : m.data + m.transferred, m.sends ? m.data + m.transferred : b.data, n);
  m.transferred += n;
  b.full.store(m.sends ? n : 0, std::memory_order_release);
  return true;
}

void Mailboxes::exchange(std::vector<Message>& messages, const std::atomic<bool>& aborted) {
  for (bool pending = true; pending && !aborted;) {
    pending = false;
    bool moved = false;
    std::set<std::pair<bool, int>> busy;  // pairs with an unfinished first message
    for (Message& m : messages) {
      if (m.transferred == m.bytes || !busy.insert({m.sends, m.peer}).second) continue;
      pending = true;
      moved = move(m) || moved;
    }
    if (!moved) sched_yield();
  }
}

}  // namespace tern::stand_in
