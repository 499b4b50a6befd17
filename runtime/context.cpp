#include "runtime/context.h"

#include "runtime/devices/stream.h"
#include "runtime/graph/recording.h"

namespace tern {

void SessionContext::copy(const TensorView& from, const TensorView& to) const {
  recording != nullptr ? recording->add(RecordedCopy{from, to}) : stream->copy(from, to);
}

void SessionContext::upload(std::byte* to, const void* from, std::uint64_t bytes) const {
  recording != nullptr ? recording->add(RecordedUpload{to, from, bytes}) : stream->enqueue_upload(to, from, bytes);
}

void SessionContext::download(void* to, const std::byte* from, std::uint64_t bytes) const {
  recording != nullptr ? recording->add(RecordedDownload{to, from, bytes}) : stream->enqueue_download(to, from, bytes);
}

void SessionContext::read(void* to, const std::byte* from, std::size_t bytes) const {
  stream->read(to, from, bytes);
}

}  // namespace tern
