#include "kernels/portable/launches.h"

#include <array>

namespace tern::portable {

void Launch::argument(std::string_view name, DType t, Argument place, bool writes) {
  source.buffer(name, t, writes);
  arguments_.push_back(place);
}

void Launches::add(Launch launch, std::int64_t items, std::uint32_t group) {
  if (items <= 0) return;
  KernelSource& s = launch.source;
  s.complete(launcher_.target());
  if (launcher_.target().groups) s.require_group(group);
  const KernelHandle kernel = launcher_.kernel(s.key(), "tern_" + s.name(), [&] { return s.text(launcher_.target()); });
  std::vector<std::byte> parameters(s.parameters().begin(), s.parameters().end());
  if (parameters.empty()) parameters.resize(sizeof(std::int64_t));
  launches_.push_back({kernel, std::move(launch.arguments_), std::move(parameters), items, group});
}

std::uint64_t Launches::scratch(std::uint64_t bytes) {
  const std::uint64_t at = scratch_bytes_;
  scratch_bytes_ += (bytes + 63) / 64 * 64;
  return at;
}

std::size_t Launches::table(std::uint64_t bytes) {
  tables_.push_back(launcher_.allocate(std::max<std::uint64_t>(bytes, 1)));
  return tables_.size() - 1;
}

std::size_t Launches::table(std::span<const std::byte> bytes) {
  const std::size_t k = table(static_cast<std::uint64_t>(bytes.size()));
  if (!bytes.empty()) launcher_.upload(tables_[k]->data, bytes.data(), bytes.size());
  return k;
}

std::byte* Launches::address(const KernelCall& call, const Launch::Argument& place) const {
  switch (place.kind) {
    case Launch::Argument::Kind::input: return call.in[place.index].data;
    case Launch::Argument::Kind::output: return call.out[place.index].data;
    case Launch::Argument::Kind::scratch: return call.scratch.data() + place.offset;
    case Launch::Argument::Kind::table: return tables_[place.index]->data;
    case Launch::Argument::Kind::failure:
    case Launch::Argument::Kind::none: return call.launcher->failure();
  }
  return nullptr;
}

void Launches::run(KernelCall& call, std::size_t begin, std::size_t end) const {
  constexpr std::size_t kMostArguments = 64;
  std::array<std::byte*, kMostArguments> addresses;
  std::array<LaunchArgument, kMostArguments + 1> arguments;
  for (std::size_t i = begin; i < end; ++i) {
    const PreparedLaunch& launch = launches_[i];
    std::size_t n = 0;
    for (const Launch::Argument& place : launch.arguments) {
      addresses.at(n) = address(call, place);
      arguments[n] = {&addresses[n], sizeof(std::byte*), true};
      ++n;
    }
    arguments[n++] = {launch.parameters.data(), static_cast<std::uint32_t>(launch.parameters.size()), false};
    call.launcher->launch(launch.kernel, {arguments.data(), n}, launch.items, launch.group);
  }
}

void run_launches(KernelCall& call) {
  static_cast<const Launches*>(call.state)->run(call);
}

std::size_t scratch_of_launches(const KernelCall& call) {
  return static_cast<const Launches*>(call.state)->scratch_bytes();
}

}  // namespace tern::portable
