#include "trace/nccl/chained_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/nccl/loaded_libraries.h"

namespace faultline::trace::nccl {

namespace {

constexpr std::size_t name_bytes_max = 512;

/// What a plugin of that version knows; it may ask for "all" and mean these.
constexpr std::uint64_t types_known(int version) {
  if (version <= 2) return 0x3f;
  if (version <= 4) return 0xff;
  if (version == 5) return 0xfff;
  return version == 6 ? 0x7fff : 0xffff;
}

/// The descriptor of that version, which is all that may be read of NCCL's.
constexpr std::size_t descriptor_bytes(int version) {
  constexpr std::size_t bytes[] = {0, 120, 128, 120, 104, 112, 112, 136};
  return bytes[version];
}

/// What lies below an event: who asks for a child is told of its parents, too.
constexpr std::uint64_t descendants_of(std::uint64_t type) {
  constexpr std::uint64_t step = event_net_plugin;
  constexpr std::uint64_t proxy = event_proxy_step | step;
  constexpr std::uint64_t task = event_proxy_op | proxy | event_kernel_channel | event_kernel_phase;
  constexpr std::uint64_t copy = event_copy_sync | event_copy_batch;
  switch (type) {
    case event_group_api:
      return event_collective_api | event_p2p_api | event_kernel_launch | event_group |
             event_collective | event_p2p | event_copy_collective | task | copy;
    case event_collective_api: return event_collective | event_copy_collective | task | copy;
    case event_p2p_api: return event_p2p | task;
    case event_group: return event_collective | event_p2p | task;
    case event_collective:
    case event_p2p: return task;
    case event_proxy_op: return proxy;
    case event_proxy_step: return step;
    case event_kernel_channel: return event_kernel_phase;
    case event_copy_collective: return copy;
    default: return 0;
  }
}

void say(Logger log, int level, const char* text, const char* name) {
  if (log != nullptr) log(level, log_profile, "faultline", 0, "faultline: %s: %s", text, name);
}

}  // namespace

void* ChainedProfiler::load(const char* wanted) {
  void* library = faultline_dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr || ::strchr(wanted, '/') != nullptr) return library;
  char name[name_bytes_max];
  const int length =
      ::snprintf(name, sizeof name, "libnccl-profiler-%s.so", wanted);  // tidy: allow print
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof name) return nullptr;
  return faultline_dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void ChainedProfiler::open(int version, Logger log) {
  const char* wanted = ::getenv("FAULTLINE_NCCL_CHAIN");
  if (wanted == nullptr || *wanted == '\0') return;
  ::pthread_mutex_lock(&open_lock_);
  if (!was_tried_) open_once(version, wanted, log);
  was_tried_ = true;
  ::pthread_mutex_unlock(&open_lock_);
}

void ChainedProfiler::open_once(int version, const char* wanted, Logger log) {
  nccl_version_ = version;
  void* library = load(wanted);
  if (library == nullptr)
    return say(log, log_warn, "FAULTLINE_NCCL_CHAIN cannot be loaded", wanted);
  const int oldest = version < version_with_identity ? version : version_with_identity;
  for (int theirs = version; theirs >= oldest; --theirs) {
    char symbol[] = "ncclProfiler_v0";
    symbol[sizeof symbol - 2] = static_cast<char>('0' + theirs);
    plugin_.v1 = find_function<const Plugin<InitV1>*>(library, symbol);
    if (plugin_.v1 == nullptr) continue;
    if (plugin_.v1->name == plugin_name) break;  // it names ourselves
    version_ = theirs;
    return say(log, log_info, "events go on to", wanted);
  }
  say(log, log_warn, "FAULTLINE_NCCL_CHAIN speaks no version that this NCCL does", wanted);
}

int ChainedProfiler::mask() const {
  return is_open() ? static_cast<int>(trace::load(mask_) & types_known(version_)) : 0;
}

bool ChainedProfiler::wants(std::uint64_t type) const {
  return (type & types_known(version_)) != 0 &&
         (static_cast<std::uint64_t>(mask()) & (type | descendants_of(type))) != 0;
}

bool ChainedProfiler::init(const CommunicatorFacts& facts, Logger log, void*& context) {
  context = nullptr;
  if (!is_open()) return false;
  int result = result_success;
  if (version_ < version_with_identity) {
    result = plugin_.v1->init(&context, &mask_);
  } else if (version_ == version_with_identity) {
    result = plugin_.v4->init(&context, &mask_, facts.name, facts.id, facts.node_count,
                              facts.rank_count, facts.rank, log);
  } else {
    result = plugin_.v5->init(&context, facts.id, &mask_, facts.name, facts.node_count,
                              facts.rank_count, facts.rank, log);
  }
  if (result != result_success) context = nullptr;
  return result == result_success;
}

void ChainedProfiler::finalize(void* context) {
  if (is_open()) plugin_.v1->finalize(context);
}

void* ChainedProfiler::theirs_of(const void* handle) {
  const EventHandle known = from_pointer(handle);
  Event* event = kind_of(known) == HandleKind::chained ? events_.find(number_of(known)) : nullptr;
  return event == nullptr ? nullptr : trace::load(event->theirs);
}

EventHandle ChainedProfiler::start(void* context, const Descriptor& event, EventHandle ours) {
  const bool is_wide = nccl_version_ >= version_with_wide_types;
  const std::uint64_t type = is_wide ? event.type : event.type & 0xffU;
  void* theirs = nullptr;
  if (wants(type)) {
    Descriptor copy{};
    ::memcpy(static_cast<void*>(&copy), &event, descriptor_bytes(nccl_version_));
    copy.parent = theirs_of(event.parent);
    if (is_wide && type == event_collective) {
      copy.collective.parent_group = theirs_of(event.collective.parent_group);
      if (version_ < version_with_wide_types) copy.parent = copy.collective.parent_group;
    }
    if (is_wide && type == event_p2p) {
      copy.p2p.parent_group = theirs_of(event.p2p.parent_group);
      if (version_ < version_with_wide_types) copy.parent = copy.p2p.parent_group;
    }
    plugin_.v1->start_event(context, &theirs, &copy);
  }
  return numbered_handle(HandleKind::chained, events_.add([&](Event& entry) {
    store(entry.ours, ours);
    store(entry.theirs, theirs);
  }));
}

void ChainedProfiler::stop(EventHandle handle) {
  if (void* theirs = theirs_of(to_pointer(handle))) plugin_.v1->stop_event(theirs);
}

void ChainedProfiler::record(EventHandle handle, int state, StateArguments* arguments) {
  if (void* theirs = theirs_of(to_pointer(handle)))
    plugin_.v1->record_event_state(theirs, state, arguments);
}

EventHandle ChainedProfiler::ours_of_chained(EventHandle handle) {
  const Event* event = events_.find(number_of(handle));
  return event == nullptr ? nothing : trace::load(event->ours);
}

}  // namespace faultline::trace::nccl
