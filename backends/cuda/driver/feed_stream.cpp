// Events between the two streams.
#include "backends/cuda/driver/feed_stream.h"

namespace plait::cuda {

FeedStream::FeedStream(const DriverApi& api) : api_(api), staging_(api) {
  check_call(api_, api_.stream_create(&stream_, CU_STREAM_NON_BLOCKING), "create a stream");
  for (Slot& slot : slots_) {
    for (CUevent* event : {&slot.written, &slot.read}) {
      check_call(api_, api_.event_create(event, CU_EVENT_DISABLE_TIMING), "create an event");
    }
  }
}

FeedStream::~FeedStream() {
  api_.stream_wait(stream_);
  for (const Slot& slot : slots_) {
    for (CUevent event : {slot.written, slot.read}) api_.event_destroy(event);
  }
  api_.stream_destroy(stream_);
}

CUresult FeedStream::write(int slot, CUdeviceptr to, const char* from, std::int64_t bytes) {
  // An event that was never recorded holds nobody up.
  if (const CUresult code = api_.stream_wait_event(stream_, at(slot).read, 0)) return code;
  if (const CUresult code = staging_.write(stream_, to, from, bytes)) return code;
  return api_.event_record(at(slot).written, stream_, 0);
}

CUresult FeedStream::take(int slot, CUstream reader) {
  return api_.stream_wait_event(reader, at(slot).written, 0);
}

CUresult FeedStream::taken(int slot, CUstream reader) {
  return api_.event_record(at(slot).read, reader, 0);
}

}  // namespace plait::cuda
