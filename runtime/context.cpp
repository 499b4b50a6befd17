#include "runtime/context.h"

#include <cstring>

#include "kernels/portable/launches.h"
#include "runtime/devices/stream.h"
#include "runtime/graph/recording.h"

namespace tern {

void SessionContext::copy(const TensorView& from, const TensorView& to) const {
  if (recording != nullptr) {
    recording->add(RecordedCopy{from, to});
  } else if (stream == nullptr) {
    copy_strided(from, to);
  } else {
    portable::copy(*stream, from, to);
  }
}

void SessionContext::read(void* to, const std::byte* from, std::size_t bytes) const {
  if (stream == nullptr) {
    std::memcpy(to, from, bytes);
  } else {
    stream->finish();
    stream->download(to, from, bytes);
  }
}

}  // namespace tern
