#include "tools/deep_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "loader/archive.h"
#include "runtime/pack.h"

namespace tern {

DeepCheck check_packed_weights(const std::string& path) {
  DeepCheck check;
  const std::shared_ptr<const Program> archive = open_archive(path, {Access::map, Verify::first_use});
  if (archive->packings.empty()) return check;
  const auto plain = std::make_shared<Program>(*archive);
  plain->packings.clear();
  const PackRecorder recorder = pack_weights(plain, {});
  for (std::size_t i = 0; i < archive->packings.size(); ++i) {
    const Packing& p = archive->packings[i];
    const auto packed = recorder.packed.find({p.storage, p.key});
    if (packed == recorder.packed.end()) {
      ++check.unchecked;
    } else if (std::ranges::equal(archive->source->bytes(p.packed), packed->second)) {
      ++check.same;
    } else {
      const auto state = std::ranges::find(archive->states, p.storage, &State::storage);
      check.findings.push_back(
          {"packings.content", ErrorCode::bad_file,
           "its packed bytes, which run instead of it, are not the weight packed; export the archive again", 0,
           state == archive->states.end() ? fmt::format("packing {}", i) : fmt::format("state '{}'", state->name)});
    }
  }
  return check;
}

}  // namespace tern
