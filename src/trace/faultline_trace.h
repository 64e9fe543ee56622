/*
 * libfaultline_trace: the black box of a process that communicates. Any communication library, or a
 * wrapper of one, may call it from C.
 *
 * Effect: a file of fixed size in shared memory (FAULTLINE_RING_DIR, else /dev/shm/faultline-UID)
 * says who this process is, in which communicators, and which of its operations are in flight or
 * were the last to end. It can be read while the process runs, and after it ended in whatever way:
 * `faultline ring FILE`. FAULTLINE_TRACE=off makes start refuse.
 *
 * Errors: start alone has any. Everything else is quiet: where the black box is off, a limit is
 * reached or an argument makes no sense, the call does nothing, gives 0, and counts in the file
 * what was dropped. 0 is no handle; every call takes it and does nothing. Handles of what is over
 * are known for such, and never point anywhere. Nothing throws, aborts, or changes errno's meaning
 * to the caller.
 *
 * Threads: any, at any time, but for operations of one communicator, which are started by one
 * thread at a time (unless it was opened as FAULTLINE_SHARED), and for one operation, whose
 * channels and end are told by one thread at a time. Start and stop may wait for the file system;
 * nothing else waits, allocates, or makes a system call but for reading a clock.
 *
 * Forks: a child writes nowhere until it calls start, which makes a file of its own.
 *
 * Units: ticks are those of faultline_trace_now(); gpu_ns are nanoseconds by the GPU's own clock, 0
 * if not known; counts are elements. -1 stands for an unknown rank, number or device.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAULTLINE_TRACE_ABI 1

#if defined(__GNUC__)
#define FAULTLINE_API __attribute__((visibility("default")))
#else
#define FAULTLINE_API
#endif

typedef uint32_t faultline_communicator;
typedef uint64_t faultline_operation;
typedef uint32_t faultline_peer;

/* Numbers are appended to, never changed; those of kinds and types are the words of
 * docs/formats.md. */
enum {
  FAULTLINE_OK = 0,
  FAULTLINE_SWITCHED_OFF = -1,
  FAULTLINE_NO_FOLDER = -2,
  FAULTLINE_FOLDER_FULL = -3,
  FAULTLINE_NO_SPACE = -4,
  FAULTLINE_REFUSED = -5
};
enum { FAULTLINE_SHARED = 1 };                           /* of a communicator */
enum { FAULTLINE_CAPTURED = 1, FAULTLINE_BLOCKING = 2 }; /* of an operation */
enum {
  FAULTLINE_DONE = 0,
  FAULTLINE_FAILED = 1,
  FAULTLINE_ABANDONED = 2,
  FAULTLINE_LAUNCHED = 3 /* handed to the GPU; when it ends is not told */
};
enum { FAULTLINE_CHANNELS_UNKNOWN = 127 };
enum {
  FAULTLINE_SEND_GPU = 0,
  FAULTLINE_SEND_CREDIT = 1,
  FAULTLINE_SEND_NETWORK = 2,
  FAULTLINE_RECEIVE_NETWORK = 3,
  FAULTLINE_RECEIVE_FLUSH = 4,
  FAULTLINE_RECEIVE_GPU = 5
};
enum {
  FAULTLINE_SEND_STARTED = 0,
  FAULTLINE_SEND_FINISHED = 1,
  FAULTLINE_RECEIVE_STARTED = 2,
  FAULTLINE_RECEIVE_FINISHED = 3
};

/* `size` is sizeof of the struct as the caller knows it: fields are only ever appended. */
struct faultline_communicator_facts {
  uint32_t size;
  uint32_t flags;
  uint64_t id; /* the same on all ranks, 0 if the library has none */
  int32_t rank;
  int32_t rank_count;
  int32_t node_count;
  int32_t device;
  const char* name; /* copied; may be null */
};

struct faultline_operation_facts {
  uint32_t size;
  uint8_t kind;
  uint8_t data_type;
  uint8_t algorithm;
  uint8_t protocol;
  uint8_t channel_count; /* so many channels stop, and it is over; 0: faultline_operation_finish
                            says so; FAULTLINE_CHANNELS_UNKNOWN: when all that started stopped */
  uint8_t flags;
  uint8_t unused[2];
  int32_t peer; /* or root */
  uint64_t sequence;
  uint64_t count;
  uint64_t user_tag;
};

/* Makes the black box of this process, or joins it. `library` is shown as who speaks,
 * "nccl 2.27.3"; may be null. FAULTLINE_OK, or why there is none, in which case all other calls do
 * nothing. */
FAULTLINE_API int faultline_trace_start(const char* library);
/* As often as start. The last one marks the file as finished. */
FAULTLINE_API void faultline_trace_stop(void);
/* 1 if what is told is recorded. */
FAULTLINE_API int faultline_trace_is_on(void);
/* The file of this process, "" if it has none. Valid as long as the process. */
FAULTLINE_API const char* faultline_trace_path(void);
FAULTLINE_API uint64_t faultline_trace_now(void);
/* Which GPU this process drives; either may be null: "0000:3b:00.0", "GPU-...". */
FAULTLINE_API void faultline_trace_gpu(const char* address, const char* uuid);
/* Ties the ticks, the system's clocks and the GPU's clock to each other. Once a second is enough;
 * what is recorded does it now and then by itself, without the GPU's. */
FAULTLINE_API void faultline_trace_anchor(uint64_t gpu_ns);

FAULTLINE_API faultline_communicator
faultline_communicator_open(const struct faultline_communicator_facts* facts);
FAULTLINE_API void faultline_communicator_close(faultline_communicator communicator);

FAULTLINE_API faultline_operation faultline_operation_start(
    faultline_communicator communicator, const struct faultline_operation_facts* facts);
/* The call that started it came back; it is in flight until its channels stop, or it is finished.
 */
FAULTLINE_API void faultline_operation_enqueued(faultline_operation operation);
FAULTLINE_API void faultline_channel_start(faultline_operation operation, uint32_t channel,
                                           uint64_t gpu_ns);
FAULTLINE_API void faultline_channel_stop(faultline_operation operation, uint32_t channel,
                                          uint64_t gpu_ns);
FAULTLINE_API void faultline_operation_finish(faultline_operation operation, int outcome);

/* The entry of a peer, by its rank in the communicator; to be kept by the caller. */
FAULTLINE_API faultline_peer faultline_peer_find(faultline_communicator communicator, int32_t rank);
/* Counts a transfer; gives how many there were before, which serves as a sequence number. */
FAULTLINE_API uint64_t faultline_transfer_count(faultline_peer peer, int what);
/* A wait begins; the token goes to its end. By the one thread that drives the transfers. */
FAULTLINE_API uint64_t faultline_wait_begin(faultline_peer peer, int kind);
FAULTLINE_API void faultline_wait_end(faultline_peer peer, int kind, uint64_t token);

/* For C++ that compiles trace/ring_writer.h in: a faultline::trace::Writer, or null where there is
 * none or it is of another version than `layout`, which is ring_version. */
FAULTLINE_API void* faultline_trace_writer(uint32_t layout);

#ifdef __cplusplus
}
#endif
