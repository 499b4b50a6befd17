// A rank of a group of processes, for tests/scripts/groups.py:
//
//   group_worker check ENGINE            all kinds, types and reductions have the bits of local_group
//   group_worker fail ENGINE HOW RANK    rank RANK does HOW at its sixth call: exit, leave, stop, sleep, differ, throw;
//                                        the others print their error, and after how many ms
//   group_worker device ENGINE HOW RANK DEVICE PROGRAM OTHER   the same in runs of a program on a device, with all
//                                        inputs 1: in the sixth, rank RANK does exit, leave, stop, sleep, late or
//                                        throw; or its program is OTHER (differ); or all leave the group and join again
//                                        (rejoin)
//   group_worker link ENGINE             two ranks: bytes, and microseconds for one direction
//   group_worker mesh ENGINE             rows and columns of the ranks, used at the same time, have the bits of
//                                        local_group
//   group_worker divide ENGINE           makes groups of some ranks, one after the other, until a rank ends
//   group_worker early ENGINE            rank 0 leaves, and prints after how many ms; later the others exchange
//                                        messages
//   group_worker decode ENGINE PROGRAM STEPS   steps of examples/tensor_parallel: "step", their median in
//                                        milliseconds, and the processor's for each
//   group_worker time ENGINE [LEAST]     all_reduce of 1 kB to 64 MB, or from LEAST bytes on: bytes, microseconds of
//                                        each, and of all processors
#include <fmt/format.h>
#include <signal.h>
#include <tern/collective.h>
#include <tern/error.h>
#include <tern/subgroup.h>
#include <tern/tern.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <thread>

#include "tests/groups/battery.h"

namespace tern {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Results = std::vector<std::vector<std::byte>>;

std::shared_ptr<ProcessGroup> join(const std::string& engine) {
  GroupOptions o = launched_group_options();
  const char* timeout = std::getenv("WORKER_TIMEOUT_MS");
  o.timeout = milliseconds(timeout == nullptr ? 60000 : std::atoi(timeout));
  return connect_group(engine, o);
}

/// Compares the results with local_group's.
int compare(const ProcessGroup& group, const Results& mine);

/// Open MPI's file name for windows.
bool has_window() {
  std::ifstream maps("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(maps), {}).find("/osc_sm.") != std::string::npos;
}

int check(const std::string& engine) {
  const auto group = join(engine);
  if (has_window()) fmt::print("rank {} has a window\n", group->rank());
  const int wrong = compare(*group, testing::run_battery(*group));
  group->run({.kind = CollectiveKind::barrier});
  return wrong;
}

int mesh(const std::string& engine) {
  const auto world = join(engine);
  const int columns = 2;
  const auto row = split_group(*world, world->rank() / columns, "row");
  const auto column = split_group(*world, world->rank() % columns, "column");
  auto beside = std::async(std::launch::async, [&] { return testing::run_battery(*column); });
  auto third = std::async(std::launch::async, [&] { return testing::run_battery(*world); });
  const int wrong = compare(*row, testing::run_battery(*row));
  const int all = wrong + compare(*column, beside.get()) + compare(*world, third.get());
  world->run({.kind = CollectiveKind::barrier});
  return all;
}

/// Until a rank ends.
int divide(const std::string& engine) {
  const auto world = join(engine);
  for (int turn = 0;; ++turn) {
    const auto part = split_group(*world, world->rank() == turn % world->size() ? -1 : 0, "part");
    const float x = 1;
    float sum = 0;
    if (part != nullptr) part->run({.dtype = DType::f32, .count = 1, .input = &x, .output = &sum});
    if (turn == 0) {
      fmt::print("divided\n");
      std::fflush(stdout);
    }
  }
}

int compare(const ProcessGroup& group, const Results& mine) {
  const auto local = local_group(group.size());
  std::vector<std::future<Results>> others;
  for (const auto& g : local)
    others.push_back(std::async(std::launch::async, [g] { return testing::run_battery(*g); }));
  std::vector<Results> all;
  for (auto& o : others) all.push_back(o.get());
  const Results& expected = all[static_cast<std::size_t>(group.rank())];
  for (std::size_t i = 0; i < std::max(mine.size(), expected.size()); ++i) {
    if (i < mine.size() && i < expected.size() && mine[i] == expected[i]) continue;
    fmt::print("rank {}: call {} differs\n", group.rank(), i);
    return 1;
  }
  fmt::print("rank {}: {} results\n", group.rank(), mine.size());
  return 0;
}

int fail_at(const std::string& engine, const std::string& how, int failing) {
  const auto group = join(engine);
  std::vector<float> x(4, 1.0f), more(8, 1.0f);
  const auto begin = Clock::now();
  auto last = begin;
  try {
    for (int call = 1; call <= 8; ++call) {
      last = Clock::now();
      const bool now = call == 6 && group->rank() == failing;
      if (now && how == "exit") _exit(0);
      if (now && how == "leave") return 0;
      if (now && how == "stop") raise(SIGSTOP);
      if (now && how == "sleep") std::this_thread::sleep_for(std::chrono::seconds(60));
      if (now && how == "throw") {
        group->abort("the disk is full");
        return 0;
      }
      const bool differs = now && how == "differ";
      std::vector<float>& data = differs ? more : x;
      group->run({.dtype = DType::f32,
                  .count = static_cast<std::int64_t>(data.size()),
                  .input = data.data(),
                  .output = data.data(),
                  .location = "model.py:12"});
    }
  } catch (const Error& e) {
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - last).count();
    fmt::print("rank {} after {} ms: {}\n", group->rank(), waited, e.what());
    std::fflush(stdout);
    return 3;
  }
  return 0;
}

/// The program's inputs, of constant sizes.
std::vector<Tensor> ones(const FunctionInfo& f) {
  std::vector<Tensor> inputs;
  for (const ValueInfo& i : f.inputs) {
    std::vector<std::int64_t> sizes;
    for (const SizeInfo& s : i.sizes) sizes.push_back(s.value);
    Tensor& t = inputs.emplace_back(i.dtype, sizes);
    if (i.dtype == DType::f32) std::ranges::fill(t.span<float>(), 1.0f);
  }
  return inputs;
}

struct DeviceFailure {
  std::string how;
  int failing;
  std::string device, program, other_program;
};

int fail_on_device(const std::string& engine, DeviceFailure f) {
  const auto group = join(engine);
  const int rank = group->rank();
  if (const auto at = f.device.find("{rank}"); at != std::string::npos)
    f.device.replace(at, std::strlen("{rank}"), std::to_string(rank));
  const bool fails = rank == f.failing;
  const Model model = Model::open(fails && f.how == "differ" ? f.other_program : f.program);
  PrepareOptions options;
  options.device = f.device;
  options.threads = 1;
  Session session(model.prepare(options), Stream(f.device));
  session.set_group(group);
  const std::vector<Tensor> inputs = ones(model.functions().front());
  auto last = Clock::now();
  try {
    for (int run = 1; run <= 8; ++run) {
      last = Clock::now();
      const bool now = run == 6 && fails;
      if (now && f.how == "exit") _exit(0);
      if (now && f.how == "leave") return 0;
      if (now && f.how == "stop") raise(SIGSTOP);
      if (now && f.how == "sleep") std::this_thread::sleep_for(std::chrono::seconds(60));
      if (now && f.how == "late") std::this_thread::sleep_for(milliseconds(1500));
      if (now && f.how == "throw") {
        group->abort("the disk is full");
        return 0;
      }
      if (run == 6 && f.how == "rejoin") {
        session.set_group(nullptr);
        session.set_group(group);
      }
      session.run(inputs);
    }
    session.set_group(nullptr);
    fmt::print("rank {} has made all runs\n", rank);
    return 0;
  } catch (const Error& e) {
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - last).count();
    fmt::print("rank {} after {} ms: {}\n", rank, waited, e.what());
    std::fflush(stdout);
    return 3;
  }
}

/// Half the round-trip time of a message, by size.
int time_link(const std::string& engine) {
  const auto group = join(engine);
  const int rank = group->rank(), other = 1 - rank;
  for (std::int64_t bytes = 1024; bytes <= (std::int64_t{16} << 20); bytes *= 2) {
    std::vector<float> x(static_cast<std::size_t>(bytes) / sizeof(float), 1.0f);
    Collective send{.kind = CollectiveKind::send, .dtype = DType::f32, .root = other, .input = x.data()};
    send.count = static_cast<std::int64_t>(x.size());
    Collective receive = send;
    receive.kind = CollectiveKind::receive;
    receive.input = nullptr;
    receive.output = x.data();
    const int turns = bytes >= (1 << 20) ? 20 : 200;
    std::vector<double> times;
    for (int i = 0; i < turns; ++i) {
      const auto begin = Clock::now();
      group->run(rank == 0 ? send : receive);
      group->run(rank == 0 ? receive : send);
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / 2);
    }
    std::ranges::sort(times);
    if (rank == 0) fmt::print("{} {:.2f}\n", bytes, times[times.size() / 2]);
  }
  group->run({.kind = CollectiveKind::barrier});
  return 0;
}

int leave_early(const std::string& engine) {
  auto group = join(engine);
  const int rank = group->rank(), ranks = group->size();
  group->run({.kind = CollectiveKind::barrier});
  const auto begin = Clock::now();
  if (rank > 0) {
    std::this_thread::sleep_for(milliseconds(1000));
    const int others = ranks - 1, before = (rank + others - 2) % others + 1, next = rank % others + 1;
    std::int64_t mine = rank, theirs = 0;
    const Collective calls[] = {
        {.kind = CollectiveKind::send, .dtype = DType::i64, .count = 1, .root = next, .input = &mine},
        {.kind = CollectiveKind::receive, .dtype = DType::i64, .count = 1, .root = before, .output = &theirs}};
    group->run_batch(calls);
    if (theirs != before) return 1;
  }
  group.reset();
  fmt::print("rank {} after {} ms\n", rank, std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count());
  return 0;
}

double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

int decode(const std::string& engine, const std::string& path, int steps) {
  const bool alone = std::getenv("RANK") == nullptr;
  const auto group = alone ? local_group(1)[0] : join(engine);
  PrepareOptions options;
  options.threads = 1;
  Session session(Model::open(path).prepare(options));
  session.set_group(group);
  constexpr int kWarm = 4;
  std::vector<double> times;
  double before = 0;
  for (int i = 0; i < kWarm + steps; ++i) {
    Tensor token(DType::i64, {1}), position(DType::i64, {1});
    token.span<std::int64_t>()[0] = (7 * i + 3) % 64;
    position.span<std::int64_t>()[0] = i;
    if (i == kWarm) before = processor_ms();
    const auto begin = Clock::now();
    session.run({token, position});
    if (i >= kWarm) times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::ranges::sort(times);
  fmt::print("step {:.4f} {:.4f}\n", times[times.size() / 2], (processor_ms() - before) / steps);
  group->run({.kind = CollectiveKind::barrier});
  return 0;
}

int time_all(const std::string& engine, std::size_t least) {
  const auto group = join(engine);
  for (std::size_t bytes = least; bytes <= (std::size_t{64} << 20); bytes *= 4) {
    std::vector<float> x(bytes / sizeof(float), 1.0f);  // reduced in place, like programs and dist.all_reduce
    const Collective call{
        .dtype = DType::f32, .count = static_cast<std::int64_t>(x.size()), .input = x.data(), .output = x.data()};
    const int turns = bytes >= (16u << 20) ? 5 : bytes >= (1u << 20) ? 20 : 200;
    group->run(call);
    group->run({.kind = CollectiveKind::barrier});
    std::vector<double> times;
    const double before = processor_ms();
    for (int i = 0; i < turns; ++i) {
      const auto begin = Clock::now();
      group->run(call);
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::ranges::sort(times);
    double processor = (processor_ms() - before) * 1e3 / turns;
    group->run({.dtype = DType::f64, .count = 1, .input = &processor, .output = &processor});
    if (group->rank() == 0) fmt::print("{} {:.1f} {:.1f}\n", bytes, times[times.size() / 2], processor);
  }
  group->run({.kind = CollectiveKind::barrier});
  return 0;
}

}  // namespace
}  // namespace tern

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "", engine = argc > 2 ? argv[2] : "";
  try {
    if (what == "check") return tern::check(engine);
    if (what == "mesh") return tern::mesh(engine);
    if (what == "fail" && argc > 4) return tern::fail_at(engine, argv[3], std::atoi(argv[4]));
    if (what == "device" && argc > 7)
      return tern::fail_on_device(engine, {argv[3], std::atoi(argv[4]), argv[5], argv[6], argv[7]});
    if (what == "link") return tern::time_link(engine);
    if (what == "divide") return tern::divide(engine);
    if (what == "early") return tern::leave_early(engine);
    if (what == "decode" && argc > 4) return tern::decode(engine, argv[3], std::atoi(argv[4]));
    if (what == "time") return tern::time_all(engine, argc > 3 ? static_cast<std::size_t>(std::atoll(argv[3])) : 1024);
  } catch (const std::exception& e) {
    fmt::print("failed: {}\n", e.what());
    return 2;
  }
  std::fputs("usage: group_worker check|mesh|divide|fail|device|link|early|decode|time ENGINE [HOW RANK]\n", stderr);
  return 2;
}
