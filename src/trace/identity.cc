#include "trace/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ring_text.h"

namespace faultline::trace {
namespace {

/// Up to `bytes - 1` of a file of /proc, ended by a zero; empty if it cannot be read.
void read_text(const char* path, char* into, std::size_t bytes) {
  into[0] = 0;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t got = ::read(file, into, bytes - 1);
  ::close(file);
  into[got > 0 ? got : 0] = 0;
}

const char* first_of(const char* const* names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const char* value = ::getenv(names[i]);
    if (value != nullptr && value[0] != 0) return value;
  }
  return nullptr;
}

std::int32_t number_of(const char* name) {
  const char* text = ::getenv(name);
  if (text == nullptr || text[0] < '0' || text[0] > '9') return -1;
  char* end = nullptr;
  const long value = ::strtol(text, &end, 10);
  return *end != 0 || value > 0x7fffffff ? -1 : static_cast<std::int32_t>(value);
}

struct RankVariables {
  const char* rank;
  const char* local_rank;
  const char* rank_count;
};

/// Innermost launcher first, as `faultline run` has it. torchrun sets the last ones, and is the
/// innermost where its own name is set.
constexpr RankVariables rank_variables[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
    {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
};

bool take_rank(ringfmt::Header& header, const RankVariables& names) {
  header.rank = number_of(names.rank);
  header.local_rank = header.rank < 0 ? -1 : number_of(names.local_rank);
  header.rank_count = header.rank < 0 ? -1 : number_of(names.rank_count);
  return header.rank >= 0;
}

void fill_rank(ringfmt::Header& header) {
  if (::getenv("TORCHELASTIC_RUN_ID") != nullptr && take_rank(header, rank_variables[3])) return;
  for (const RankVariables& names : rank_variables) {
    if (take_rank(header, names)) return;
  }
}

}  // namespace

std::uint64_t process_start_of(std::uint32_t pid) {
  char path[40];
  ::snprintf(path, sizeof path, "/proc/%u/stat", pid);  // tidy: allow print
  char text[1024];
  read_text(path, text, sizeof text);
  // The second field is a name in parentheses, which may hold anything.
  const char* at = ::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = ::strchr(at + 1, ' ');
  return at == nullptr ? 0 : ::strtoull(at + 1, nullptr, 10);
}

bool fill_identity(ringfmt::Header& header) {
  header.pid = static_cast<std::uint32_t>(::getpid());
  header.uid = ::geteuid();
  header.process_start = process_start_of(header.pid);
  struct statx facts {};
  if (::statx(AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &facts) == 0)
    header.pid_namespace = facts.stx_ino;
  char text[256];
  read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
  text[::strcspn(text, "\n")] = 0;
  bool whole = copy_text(header.boot_id, text);
  if (::gethostname(text, sizeof text) != 0) text[0] = 0;
  text[sizeof text - 1] = 0;
  whole = copy_text(header.host, text) && whole;
  const char* const jobs[] = {"FAULTLINE_JOB", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID",
                              "LSB_JOBID"};
  whole = copy_text(header.job, first_of(jobs, sizeof jobs / sizeof *jobs)) && whole;
  fill_rank(header);
  const char* const restarts[] = {"FAULTLINE_RESTART", "SLURM_RESTART_COUNT",
                                  "TORCHELASTIC_RESTART_COUNT"};
  header.restart = -1;
  for (const char* name : restarts) {
    if (header.restart < 0) header.restart = number_of(name);
  }
  return whole;
}

}  // namespace faultline::trace
