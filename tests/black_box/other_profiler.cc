// Another profiler plugin, for ours to hand its events on to: it checks the handles that it is
// given and counts what it is told. Of version 4 and 5 by a macro.

#include "tests/black_box/other_profiler.h"

#include "trace/nccl/profiler_abi.h"

namespace faultline {
namespace {

using namespace trace::nccl;

constexpr std::uint64_t events_max = 4096;
constexpr std::uint64_t event_tag = 0x6f74686572000000;  // whoever sees it back knows it
std::uint64_t types[events_max];
OtherProfilerLog seen;

std::uint64_t number_of(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle) - event_tag;
}
bool is_known(const void* handle) { return number_of(handle) < seen.starts; }

int start(void* context, void** handle, Descriptor* event) {
  if (context != &seen || seen.starts >= events_max) ++seen.strangers;
  const std::uint64_t type = FAULTLINE_OTHER_VERSION == 4 ? event->type & 0xffU : event->type;
  if (event->parent != nullptr && !is_known(event->parent)) ++seen.strangers;
  if (event->parent != nullptr && is_known(event->parent)) {
    ++seen.with_parent;
    if (type == event_kernel_channel && types[number_of(event->parent)] == event_collective)
      ++seen.kernels_of_collectives;
    if (type == event_collective && types[number_of(event->parent)] == event_group)
      ++seen.collectives_of_groups;
  }
  types[seen.starts] = type;
  seen.types |= type;
  *handle = reinterpret_cast<void*>(event_tag + seen.starts++);  // NOLINT
  return 0;
}
int stop(void* handle) {
  if (!is_known(handle)) ++seen.strangers;
  ++seen.stops;
  return 0;
}
int record(void* handle, int, StateArguments* arguments) {
  if (!is_known(handle)) ++seen.strangers;
  if (arguments != nullptr) seen.gpu_ns = arguments->gpu_ns;
  return 0;
}
int finish(void*) {
  ++seen.finalized;
  return 0;
}
int begin(void** context, int* mask) {
  *mask = seen.mask;
  *context = &seen;
  ++seen.inits;
  return seen.refuses ? 3 : 0;
}
#if FAULTLINE_OTHER_VERSION == 4
int init(void** context, int* mask, const char*, uint64_t, int, int, int, Logger) {
  return begin(context, mask);
}
using Init = InitV4;
#else
int init(void** context, uint64_t, int* mask, const char*, int, int, int, Logger) {
  return begin(context, mask);
}
using Init = InitV5;
#endif

}  // namespace

extern "C" {
__attribute__((visibility("default"))) Plugin<Init> FAULTLINE_OTHER_SYMBOL = {
    "other", &init, &start, &stop, &record, &finish};
__attribute__((visibility("default"))) OtherProfilerLog* other_profiler_log() { return &seen; }
}

}  // namespace faultline
