// Plugin of qemu-user: counts executions of each basic block between two reads of standard input, which delimit a run
// of `tern bench --turns` and of `peers.serve --turns`. Arguments: out=FILE, run=N (counted from 0). Writes FILE when
// run N ends:
//   runs I0 I1 ...                   instructions of each run up to N
//   map BEGIN END OFFSET PATH        a mapped file of the guest, hexadecimal
//   block ADDRESS COUNT BYTES        a block that run N executed: address and bytes of its instructions, hexadecimal
// and ends the process.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// Version 1 of the interface of plugins, which qemu 7.2 (Debian 12) and 8.2 (Ubuntu 24.04) have; their packages have no
// header. https://www.qemu.org/docs/master/devel/tcg-plugins.html
extern "C" {
struct qemu_plugin_tb;
struct qemu_plugin_insn;
using qemu_plugin_id_t = std::uint64_t;

constexpr int kInlineAdd = 0;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb*, int operation, void* counter, std::uint64_t added);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t,
                                          void (*)(qemu_plugin_id_t, unsigned vcpu, std::int64_t number, std::uint64_t,
                                                   std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                                   std::uint64_t, std::uint64_t, std::uint64_t));
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb*);
std::uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb*);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb*, std::size_t index);
const void* qemu_plugin_insn_data(const qemu_plugin_insn*);
void* qemu_plugin_insn_haddr(const qemu_plugin_insn*);

[[gnu::visibility("default")]] extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;
}

namespace {

constexpr std::int64_t kReadSyscall = 63;

struct Block {
  std::uint64_t address = 0;
  std::uint64_t instructions = 0;
  std::string bytes;
  std::uint64_t executions = 0;  // translated code adds to it
  std::uint64_t earlier = 0;     // executions before the current run
};

std::mutex mutex;
std::deque<Block> blocks;  // never moves its elements
std::map<std::pair<std::uint64_t, std::string>, Block*> known_blocks;
std::string out_path;
std::int64_t counted_run = 0;
std::int64_t started_run = -1;
std::vector<std::uint64_t> run_instructions;
std::uint64_t guest_base = 0;

void on_translation(qemu_plugin_id_t, qemu_plugin_tb* translated) {
  const std::size_t count = qemu_plugin_tb_n_insns(translated);
  const std::uint64_t address = qemu_plugin_tb_vaddr(translated);
  std::string bytes(4 * count, '\0');
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(bytes.data() + 4 * i, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(translated, i)), 4);
  const std::lock_guard lock(mutex);
  Block*& block = known_blocks[{address, bytes}];
  if (!block) {
    block = &blocks.emplace_back(Block{address, count, bytes});
    const auto host = reinterpret_cast<std::uint64_t>(qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(translated, 0)));
    if (host) guest_base = host - address;
  }
  qemu_plugin_register_vcpu_tb_exec_inline(translated, kInlineAdd, &block->executions, 1);
}

void write_maps(std::FILE* out) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (!maps) return;
  char line[4096];
  while (std::fgets(line, sizeof line, maps)) {
    std::uint64_t begin = 0, end = 0, offset = 0;
    int path = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end, &offset, &path) == 3 &&
        line[path] == '/')
      std::fprintf(out, "map %" PRIx64 " %" PRIx64 " %" PRIx64 " %s", begin - guest_base, end - guest_base, offset,
                   line + path);
  }
  std::fclose(maps);
}

[[noreturn]] void write_counts() {
  std::FILE* out = std::fopen(out_path.c_str(), "w");
  if (!out) {
    std::perror(out_path.c_str());
    _exit(1);
  }
  std::fputs("runs", out);
  for (const std::uint64_t n : run_instructions) std::fprintf(out, " %" PRIu64, n);
  std::fputs("\n", out);
  write_maps(out);
  for (const Block& block : blocks) {
    const std::uint64_t executions = block.executions - block.earlier;
    if (!executions) continue;
    std::fprintf(out, "block %" PRIx64 " %" PRIu64 " ", block.address, executions);
    for (const char byte : block.bytes) std::fprintf(out, "%02x", static_cast<unsigned char>(byte));
    std::fputs("\n", out);
  }
  std::fclose(out);
  _exit(0);
}

void on_syscall(qemu_plugin_id_t, unsigned, std::int64_t number, std::uint64_t descriptor, std::uint64_t, std::uint64_t,
                std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) {
  if (number != kReadSyscall || descriptor != 0) return;
  const std::lock_guard lock(mutex);
  std::uint64_t instructions = 0;
  for (const Block& block : blocks) instructions += (block.executions - block.earlier) * block.instructions;
  if (started_run >= 0) run_instructions.push_back(instructions);
  if (started_run == counted_run) write_counts();
  ++started_run;
  for (Block& block : blocks) block.earlier = block.executions;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const void*, int argc,
                                                                  char** argv) {
  for (int i = 0; i < argc; ++i) {
    if (!std::strncmp(argv[i], "out=", 4)) out_path = argv[i] + 4;
    if (!std::strncmp(argv[i], "run=", 4)) counted_run = std::atoll(argv[i] + 4);
  }
  if (out_path.empty()) {
    std::fputs("counting_plugin: out=FILE is missing\n", stderr);
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  return 0;
}
