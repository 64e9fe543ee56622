#include "trace/ring_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/identity.h"
#include "trace/ring_folder.h"
#include "trace/ring_text.h"

namespace faultline::trace {
namespace {

/// In a page that the kernel empties in a child of a fork, so that the child writes nowhere, and
/// has no lock that a thread holds which it does not have.
struct ProcessState {
  Writer writer;
  pthread_mutex_t lock;  // of start and stop alone; zero is unlocked
  std::uint32_t starts;
  char path[2 * ring_path_bytes];
};
static_assert(sizeof(ProcessState) <= 4096);

ProcessState* process_state = nullptr;

ProcessState* make_state() {
  if (ProcessState* there = __atomic_load_n(&process_state, __ATOMIC_ACQUIRE)) return there;
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  auto* made = static_cast<ProcessState*>(page);
  ProcessState* none = nullptr;
  if (::madvise(page, 4096, MADV_WIPEONFORK) == 0 &&
      __atomic_compare_exchange_n(&process_state, &none, made, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return made;
  }
  ::munmap(page, 4096);
  return none;  // that of the thread that was faster
}

/// Memory is taken for all of it now: a page that was not there would end the process when it is
/// written to.
ringfmt::Ring* map_file(int file, StartError& error) {
  const int taken = ::posix_fallocate(file, 0, static_cast<off_t>(ringfmt::ring_bytes));
  if (taken != 0) {
    error = taken == ENOSPC || taken == EFBIG || taken == EDQUOT ? StartError::space
                                                                 : StartError::system;
    return nullptr;
  }
  void* at = ::mmap(nullptr, ringfmt::ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  error = at == MAP_FAILED ? StartError::system : StartError::none;
  return at == MAP_FAILED ? nullptr : static_cast<ringfmt::Ring*>(at);
}

ringfmt::Ring* create_ring(const ringfmt::Header& header, ProcessState& state, StartError& error) {
  char folder_path[ring_path_bytes];
  char name[ring_path_bytes];
  error = StartError::folder;
  const int folder = open_ring_folder(folder_path);
  if (folder < 0) return nullptr;
  ringfmt::Ring* ring = nullptr;
  error = StartError::full;
  const int file = make_room(folder, header) ? create_ring_file(folder, header, name) : -1;
  if (file >= 0) {
    ring = map_file(file, error);
    if (ring == nullptr) ::unlinkat(folder, name, 0);
    ::close(file);
  }
  ::close(folder);
  if (ring != nullptr)
    ::snprintf(state.path, sizeof state.path, "%s/%s", folder_path, name);  // tidy: allow print
  return ring;
}

void publish(Writer& writer, ringfmt::Ring* ring) {
  store_release(ring->header.state, ringfmt::RingState::active);
  __atomic_store_n(&writer.ring, ring, __ATOMIC_RELEASE);
}

StartError make_ring(ProcessState& state, const char* library) {
  const char* wanted = ::getenv("FAULTLINE_TRACE");
  if (wanted != nullptr && ::strcmp(wanted, "off") == 0) return StartError::switched_off;
  ringfmt::Header header{};
  ringfmt::write_geometry(header);
  bool whole = fill_identity(header);
  whole = copy_text(header.library, library) && whole;
  Writer& writer = state.writer;
  writer.ticks = choose_ticks();
  header.tick_kind = static_cast<std::uint32_t>(writer.ticks);
  header.ticks_per_second = measure_ticks_per_second(writer.ticks);
  header.created_wall_ns = read_clock_ns(CLOCK_REALTIME);
  header.created_monotonic_ns = read_clock_ns(CLOCK_MONOTONIC);
  header.drops[static_cast<std::uint32_t>(ringfmt::Drop::texts)] = whole ? 0 : 1;
  StartError error = StartError::none;
  ringfmt::Ring* ring = create_ring(header, state, error);
  if (ring == nullptr) return error;
  ring->header = header;
  writer.pid = header.pid;
  writer.mapped = ring;
  writer.anchor_interval_ticks =
      header.ticks_per_second / 1000 * (ringfmt::anchor_interval_ns / 1'000'000);
  writer.next_anchor_ticks = read_ticks(writer.ticks) + writer.anchor_interval_ticks;
  // The magic comes after all else: whoever finds it finds a whole header and a first anchor.
  write_anchor_to(writer, *ring, 0);
  store_release(ring->header.magic, ringfmt::ring_magic);
  publish(writer, ring);
  return StartError::none;
}

}  // namespace

StartError start_ring(const char* library) {
  ProcessState* state = make_state();
  if (state == nullptr) return StartError::system;
  StartError error = StartError::none;
  ::pthread_mutex_lock(&state->lock);
  if (state->writer.mapped == nullptr) {
    error = make_ring(*state, library);
  } else if (load(state->writer.mapped->header.disabled_reason) != 0) {
    error = StartError::switched_off;
  } else if (state->starts == 0) {
    publish(state->writer, state->writer.mapped);
  }
  if (error == StartError::none) ++state->starts;
  ::pthread_mutex_unlock(&state->lock);
  return error;
}

void stop_ring() {
  ProcessState* state = __atomic_load_n(&process_state, __ATOMIC_ACQUIRE);
  if (state == nullptr) return;
  ::pthread_mutex_lock(&state->lock);
  if (state->starts > 0 && --state->starts == 0) {
    ringfmt::Ring* ring = detail::ring_of(state->writer);
    __atomic_store_n(&state->writer.ring, nullptr, __ATOMIC_RELEASE);
    if (ring != nullptr) {
      write_anchor_to(state->writer, *ring, 0);
      store_release(ring->header.state, ringfmt::RingState::finished);
    }
  }
  ::pthread_mutex_unlock(&state->lock);
}

Writer* process_writer() {
  ProcessState* state = __atomic_load_n(&process_state, __ATOMIC_ACQUIRE);
  return state == nullptr ? nullptr : &state->writer;
}

const char* ring_path() {
  const ProcessState* state = __atomic_load_n(&process_state, __ATOMIC_ACQUIRE);
  return state == nullptr ? "" : state->path;
}

}  // namespace faultline::trace
