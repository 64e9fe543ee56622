// Causes that rules name themselves. Everything else comes from the signature that was hit. A test
// holds this list to the shipped catalog; tools/tidy keeps ids out of the other files.
#pragma once

#include <array>
#include <string_view>

namespace faultline::cause_id {

inline constexpr std::string_view ecc_uncorrectable = "gpu.ecc_uncorrectable";
inline constexpr std::string_view ecc_contained = "gpu.ecc_contained";
inline constexpr std::string_view ecc_uncontained = "gpu.ecc_uncontained";
inline constexpr std::string_view ecc_escape = "gpu.ecc_escape";
inline constexpr std::string_view row_remap_failed = "gpu.row_remap_failed";
inline constexpr std::string_view row_remap_pending = "gpu.row_remap_pending";
inline constexpr std::string_view nvlink_down = "link.nvlink_down";
inline constexpr std::string_view nvlink5 = "link.nvlink5";
inline constexpr std::string_view fell_off_bus = "gpu.fell_off_bus";
inline constexpr std::string_view init_failed = "gpu.init_failed";
inline constexpr std::string_view gsp_timeout = "gpu.gsp_timeout";
inline constexpr std::string_view sm_exception = "gpu.sm_exception";
inline constexpr std::string_view mmu_fault = "gpu.mmu_fault";
inline constexpr std::string_view recovery_reset = "gpu.recovery_reset_required";
inline constexpr std::string_view recovery_reboot = "gpu.recovery_reboot_required";
inline constexpr std::string_view recovery_drain_p2p = "gpu.recovery_drain_p2p";
inline constexpr std::string_view recovery_drain_reset = "gpu.recovery_drain_and_reset";
inline constexpr std::string_view recovery_other = "gpu.recovery_action";
inline constexpr std::string_view gpu_missing = "gpu.missing";
inline constexpr std::string_view gpu_unavailable = "gpu.unavailable";
inline constexpr std::string_view launch_failure = "gpu.launch_failure";
inline constexpr std::string_view throttle = "power.throttle";
inline constexpr std::string_view node_lost = "node.lost";
inline constexpr std::string_view repeat_offender = "node.repeat_offender";
inline constexpr std::string_view ib_completion = "link.ib_completion_error";
inline constexpr std::string_view fabric = "switch.fabric";
inline constexpr std::string_view user_exception = "software.user_exception";
inline constexpr std::string_view collective_desync = "software.collective_desync";
inline constexpr std::string_view collective_mismatch = "software.collective_mismatch";
inline constexpr std::string_view collective_timeout = "software.collective_timeout";
inline constexpr std::string_view teardown_after_success = "software.teardown_after_success";
inline constexpr std::string_view peer_lost = "software.peer_lost";
inline constexpr std::string_view no_progress = "unknown.no_progress";
inline constexpr std::string_view crash_signal = "software.crash_signal";
inline constexpr std::string_view watchdog_stuck = "software.watchdog_stuck";
inline constexpr std::string_view worker_failed = "software.worker_failed";
inline constexpr std::string_view nccl_setup = "software.nccl_setup";
inline constexpr std::string_view nccl_warning = "software.nccl_warning";
inline constexpr std::string_view nccl_system_error = "software.nccl_system_error";
inline constexpr std::string_view actor_died = "software.actor_died";
inline constexpr std::string_view task_failed = "software.task_failed";
inline constexpr std::string_view channel_teardown = "gpu.channel_teardown";
inline constexpr std::string_view storage_paths = "node.storage_paths";
inline constexpr std::string_view nvswitch_fatal = "switch.nvswitch_fatal";
inline constexpr std::string_view teardown = "software.teardown";
inline constexpr std::string_view error_injected = "software.error_injected";
inline constexpr std::string_view nccl_crash = "software.nccl_crash";
inline constexpr std::string_view device_assert = "software.device_assert";
inline constexpr std::string_view device_ordinal = "software.device_ordinal";
inline constexpr std::string_view missing_file = "software.missing_file";
inline constexpr std::string_view local_fs_readonly = "storage.local_fs_readonly";
inline constexpr std::string_view read_only = "env.read_only";
inline constexpr std::string_view gpu_out_of_memory = "env.gpu_out_of_memory";
inline constexpr std::string_view driver_mismatch = "env.driver_mismatch";
inline constexpr std::string_view driver_setup = "env.driver_setup";
inline constexpr std::string_view library_mismatch = "env.library_mismatch";
inline constexpr std::string_view container_start = "env.container_start";
inline constexpr std::string_view gpu_access_lost = "env.gpu_access_lost";
inline constexpr std::string_view out_of_memory_host = "env.out_of_memory_host";
inline constexpr std::string_view out_of_memory_cgroup = "env.out_of_memory_cgroup";
inline constexpr std::string_view shm_too_small = "env.shm_too_small";
inline constexpr std::string_view no_gpu_for_process = "env.no_gpu_for_process";
inline constexpr std::string_view no_peer_access = "env.no_peer_access";
inline constexpr std::string_view file_limit = "env.file_limit";
inline constexpr std::string_view port_in_use = "env.port_in_use";
inline constexpr std::string_view name_unresolved = "env.name_unresolved";
inline constexpr std::string_view service_unreachable = "env.service_unreachable";
inline constexpr std::string_view peer_unreachable = "env.peer_unreachable";
inline constexpr std::string_view time_limit = "env.time_limit";
inline constexpr std::string_view preempted = "env.preempted";
inline constexpr std::string_view cancelled = "env.cancelled";
inline constexpr std::string_view requeued = "env.requeued";
inline constexpr std::string_view terminated = "env.terminated";
inline constexpr std::string_view same_on_all_ranks = "software.same_failure_on_all_ranks";
inline constexpr std::string_view restart_loop = "workload.restart_loop";
inline constexpr std::string_view insufficient_evidence = "unknown.insufficient_evidence";
inline constexpr std::string_view sigkill = "unknown.sigkill";
inline constexpr std::string_view rendezvous_lost = "unknown.rendezvous_lost";

/// How the ids of what the driver asks for a GPU begin, as against what broke.
inline constexpr std::string_view recovery_prefix = "gpu.recovery_";

inline constexpr std::array all = {ecc_uncorrectable,
                                   ecc_contained,
                                   ecc_uncontained,
                                   ecc_escape,
                                   row_remap_failed,
                                   row_remap_pending,
                                   fell_off_bus,
                                   nvlink_down,
                                   nvlink5,
                                   init_failed,
                                   gsp_timeout,
                                   sm_exception,
                                   mmu_fault,
                                   recovery_reset,
                                   recovery_reboot,
                                   recovery_drain_p2p,
                                   recovery_drain_reset,
                                   recovery_other,
                                   gpu_missing,
                                   throttle,
                                   node_lost,
                                   repeat_offender,
                                   ib_completion,
                                   fabric,
                                   user_exception,
                                   collective_desync,
                                   collective_mismatch,
                                   collective_timeout,
                                   teardown_after_success,
                                   peer_lost,
                                   no_progress,
                                   crash_signal,
                                   watchdog_stuck,
                                   worker_failed,
                                   nccl_setup,
                                   nccl_warning,
                                   nccl_system_error,
                                   actor_died,
                                   task_failed,
                                   teardown,
                                   error_injected,
                                   nccl_crash,
                                   device_assert,
                                   device_ordinal,
                                   missing_file,
                                   gpu_unavailable,
                                   launch_failure,
                                   driver_mismatch,
                                   driver_setup,
                                   library_mismatch,
                                   container_start,
                                   gpu_access_lost,
                                   local_fs_readonly,
                                   read_only,
                                   gpu_out_of_memory,
                                   out_of_memory_host,
                                   out_of_memory_cgroup,
                                   shm_too_small,
                                   no_gpu_for_process,
                                   no_peer_access,
                                   file_limit,
                                   port_in_use,
                                   name_unresolved,
                                   service_unreachable,
                                   peer_unreachable,
                                   time_limit,
                                   preempted,
                                   cancelled,
                                   requeued,
                                   terminated,
                                   same_on_all_ranks,
                                   restart_loop,
                                   insufficient_evidence,
                                   sigkill,
                                   rendezvous_lost};

}  // namespace faultline::cause_id
