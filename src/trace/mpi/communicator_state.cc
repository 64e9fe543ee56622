#include "trace/mpi/communicator_state.h"

#include <stdio.h>

#include "trace/faultline_trace.h"

namespace faultline::trace::mpi {

namespace {

// Of a very large communicator the first members stand for all: their numbers go into its id.
constexpr int members_hashed_max = 4096;

Writer* writer;
int keyval = MPI_KEYVAL_INVALID;
bool is_threaded;
CommunicatorState states[states_max];
/// How many communicators there have been of the same members.
struct Made {
  std::uint64_t members;  // their id; 0: free
  std::uint64_t count;
};
constexpr std::uint32_t made_max = 512;
Made made_so_far[made_max];
CommunicatorState beyond;  // of all communicators for which there is no place

CommunicatorState* take_state() {
  for (CommunicatorState& state : states) {
    if (swap_if(state.in_use, 0U, 1U)) return &state;
  }
  return nullptr;
}

int forget(MPI_Comm, int, void* attribute, void*) {
  auto* state = static_cast<CommunicatorState*>(attribute);
  faultline_communicator_close(state->communicator);
  state->communicator = 0;
  store_release(state->in_use, 0U);
  return MPI_SUCCESS;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  // splitmix64's finisher, Steele, Lea and Flood, 2014
  hash ^= value + 0x9e3779b97f4a7c15U;
  hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ hash >> 27U) * 0x94d049bb133111ebU;
  return hash ^ hash >> 31U;
}

/// Of the members' ranks in MPI_COMM_WORLD: the same on all of them without a word between them.
std::uint64_t id_of_members(MPI_Comm comm, int size) {
  MPI_Group mine = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &mine);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::uint64_t id = mix(0, static_cast<std::uint64_t>(size));
  for (int member = 0; member < size && member < members_hashed_max; ++member) {
    int place = -1;
    PMPI_Group_translate_ranks(mine, 1, &member, world, &place);
    id = mix(id, static_cast<std::uint64_t>(place));
  }
  PMPI_Group_free(&mine);
  PMPI_Group_free(&world);
  return id;
}

/// Communicators of the same members are told apart by the order in which they were made, which MPI
/// demands to be the same on all of them. More kinds of members than there is room for share a
/// place.
std::uint64_t unlike_others(std::uint64_t id) {
  for (std::uint32_t probe = 0; probe < made_max; ++probe) {
    Made& made = made_so_far[(id + probe) % made_max];
    const bool is_mine = load(made.members) == id || swap_if(made.members, std::uint64_t{0}, id) ||
                         load(made.members) == id || probe + 1 == made_max;
    if (is_mine) return mix(id, add_shared(made.count, std::uint64_t{1}));
  }
  return id;
}

void open_communicator_of(CommunicatorState& state, MPI_Comm comm) {
  faultline_communicator_facts facts{};
  int size = -1;
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  PMPI_Comm_rank(comm, &state.rank);
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_get_name(comm, name, &length);
  facts.size = sizeof facts;
  facts.flags = is_threaded ? FAULTLINE_SHARED : 0;
  facts.id = unlike_others(id_of_members(comm, size));
  facts.rank = state.rank;
  facts.rank_count = size;
  facts.node_count = -1;
  facts.device = -1;
  facts.name = name;
  state.collectives = 0;
  state.communicator = faultline_communicator_open(&facts);
}

}  // namespace

Writer* recording_writer() { return writer; }

void begin_recording(int thread_level) {
  int major = 0, minor = 0;
  PMPI_Get_version(&major, &minor);
  char library[ringfmt::library_bytes];
#if defined(OMPI_MAJOR_VERSION)
  ::snprintf(library, sizeof library, "openmpi %d.%d.%d", OMPI_MAJOR_VERSION,  // tidy: allow print
             OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
  ::snprintf(library, sizeof library, "mpich %s", MPICH_VERSION);  // tidy: allow print
#else
  ::snprintf(library, sizeof library, "mpi %d.%d", major, minor);  // tidy: allow print
#endif
  if (faultline_trace_start(library) != FAULTLINE_OK) return;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget, &keyval, nullptr) != MPI_SUCCESS)
    return;
  is_threaded = thread_level == MPI_THREAD_MULTIPLE;
  writer = static_cast<Writer*>(faultline_trace_writer(ringfmt::ring_version));
  if (writer != nullptr) state_of(MPI_COMM_WORLD);
}

void end_recording() {
  if (writer == nullptr) return;
  for (CommunicatorState& state : states) {
    if (load(state.in_use) != 0) faultline_communicator_close(state.communicator);
  }
  writer = nullptr;
  faultline_trace_stop();
}

CommunicatorState& state_of(MPI_Comm comm) {
  if (writer == nullptr || comm == MPI_COMM_NULL) return beyond;
  void* known = nullptr;
  int is_there = 0;
  if (PMPI_Comm_get_attr(comm, keyval, &known, &is_there) != MPI_SUCCESS) return beyond;
  if (is_there != 0) return *static_cast<CommunicatorState*>(known);
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  CommunicatorState* state = is_inter != 0 ? nullptr : take_state();
  if (state == nullptr) return beyond;
  open_communicator_of(*state, comm);
  if (PMPI_Comm_set_attr(comm, keyval, state) != MPI_SUCCESS) {
    forget(comm, keyval, state, nullptr);
    return beyond;
  }
  return *state;
}

}  // namespace faultline::trace::mpi
