#include "trace/mpi/open_requests.h"

#include <string.h>

namespace faultline::trace::mpi {

namespace {

constexpr std::uint64_t being_written = 1;

struct Entry {
  std::uint64_t key;  // 0: free; the request, made odd-free, see key_of
  RecordedCall call;
};
Entry entries[requests_max];

/// A request is a pointer or a small number: never 0 or 1 once shifted.
std::uint64_t key_of(MPI_Request request) {
  std::uint64_t bits = 0;
  static_assert(sizeof request <= sizeof bits);
  ::memcpy(&bits, &request, sizeof request);
  return bits << 1U | std::uint64_t{1} << 63U;
}

std::uint32_t place_of(std::uint64_t key, std::uint32_t probe) {
  return static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15U >> 40U) + probe) % requests_max;
}

void finish_launched(const RecordedCall& call) {
  Writer& writer = *recording_writer();
  if (call.wait != 0) end_wait(writer, call.peer, call.wait_kind, call.wait);
  if (call.peer != 0) count_transfer(writer, call.peer, call.end);
  finish_operation(writer, call.operation, ringfmt::Outcome::launched);
}

Entry* find(std::uint64_t key) {
  for (std::uint32_t probe = 0; probe < request_probes_max; ++probe) {
    Entry& entry = entries[place_of(key, probe)];
    if (load_acquire(entry.key) == key) return &entry;
  }
  return nullptr;
}

}  // namespace

void keep_request(MPI_Request request, const RecordedCall& call, int result) {
  if (call.operation == 0) return;
  if (request == MPI_REQUEST_NULL || result != MPI_SUCCESS) return finish_call(call, result);
  enqueue_operation(*recording_writer(), call.operation);
  const std::uint64_t key = key_of(request);
  for (std::uint32_t probe = 0; probe < request_probes_max; ++probe) {
    Entry& entry = entries[place_of(key, probe)];
    if (!swap_if(entry.key, std::uint64_t{0}, being_written)) continue;
    entry.call = call;
    store_release(entry.key, key);
    return;
  }
  finish_launched(call);
}

void give_up_request(MPI_Request request) {
  if (recording_writer() == nullptr || request == MPI_REQUEST_NULL) return;
  Entry* entry = find(key_of(request));
  if (entry == nullptr) return;
  const RecordedCall call = entry->call;
  store_release(entry->key, std::uint64_t{0});
  finish_launched(call);
}

void complete_request(MPI_Request request, int result) {
  if (recording_writer() == nullptr || request == MPI_REQUEST_NULL) return;
  Entry* entry = find(key_of(request));
  if (entry == nullptr) return;
  const RecordedCall call = entry->call;
  store_release(entry->key, std::uint64_t{0});
  finish_call(call, result);
}

void begin_wait_for(MPI_Request request) {
  if (recording_writer() == nullptr || request == MPI_REQUEST_NULL) return;
  Entry* entry = find(key_of(request));
  if (entry == nullptr || entry->call.peer == 0 || entry->call.wait != 0) return;
  entry->call.wait = begin_wait(*recording_writer(), entry->call.peer, entry->call.wait_kind);
}

}  // namespace faultline::trace::mpi
