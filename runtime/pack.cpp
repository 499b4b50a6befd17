#include "runtime/pack.h"

#include <tern/error.h>

#include <algorithm>

#include "runtime/devices/device.h"
#include "runtime/frame.h"

namespace tern {

PackRecorder pack_weights(const std::shared_ptr<const Program>& program,
                          const std::map<std::string, std::int64_t>& sizes) {
  constexpr std::int64_t kTypicalSize = 32;
  PackRecorder recorder;
  const auto prepared = prepare_program(program, {}, {.listeners = {.recorder = &recorder}});
  std::vector<std::int64_t> symbols;
  for (const Symbol& s : program->pool.symbols()) {
    const auto given = sizes.find(s.name);
    symbols.push_back(given != sizes.end() ? given->second : std::clamp(kTypicalSize, s.min, s.max));
  }
  const std::shared_ptr<DeviceStream> stream = prepared->device->open_stream();
  StateMemory state(*prepared, *stream);
  SessionContext context{.prepared = prepared.get(), .state = &state, .stream = stream.get()};
  for (std::uint32_t f = 0; f < program->functions.size(); ++f) {
    try {
      Frame(context, f).plan(symbols);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::runtime) throw;  // the sizes do not fit the function
    }
  }
  return recorder;
}

}  // namespace tern
