#include "apps/scheduler_choice.h"

#include <spdlog/spdlog.h>

#include "adapters/local/local_cluster.h"
#include "adapters/slurm/slurm_actuator.h"
#include "adapters/slurm/slurm_scheduler.h"
#include "adapters/webhook/webhook_notifier.h"

namespace faultline {
namespace {

class SlurmChoice final : public SchedulerChoice {
 public:
  SlurmChoice(const SlurmOptions& options, const Clock& clock, Counters& counters)
      : scheduler_(options, clock, counters), actuator_(options, clock, counters) {}
  Scheduler& scheduler() override { return scheduler_; }
  Actuator& actuator() override { return actuator_; }

 private:
  SlurmScheduler scheduler_;
  SlurmActuator actuator_;
};

class LocalChoice final : public SchedulerChoice {
 public:
  explicit LocalChoice(std::unique_ptr<LocalCluster> cluster) : cluster_(std::move(cluster)) {}
  Scheduler& scheduler() override { return *cluster_; }
  Actuator& actuator() override { return *cluster_; }

 private:
  std::unique_ptr<LocalCluster> cluster_;
};

}  // namespace

Result<std::unique_ptr<Notifier>> make_notifier(const ServeOptions& options, const Clock& clock,
                                                Counters& counters) {
  if (options.webhooks.empty()) return std::unique_ptr<Notifier>();
  WebhookOptions webhook;
  webhook.jitter_seed = static_cast<std::uint64_t>(clock.now().time_since_epoch().count());
  webhook.warn = [](const std::string& text) { spdlog::warn("{}", text); };
  for (const auto& text : options.webhooks) {
    auto target = parse_webhook_target(text);
    if (!target) return target.error().with_context("--webhook");
    target.value().secret_file = options.webhook_secret_file;
    webhook.targets.push_back(std::move(target).value());
  }
  auto notifier = WebhookNotifier::create(std::move(webhook), clock, counters);
  if (!notifier) return notifier.error();
  return std::unique_ptr<Notifier>(std::move(notifier).value());
}

Result<std::unique_ptr<SchedulerChoice>> choose_scheduler(const ServeOptions& options,
                                                          const Clock& clock, Counters& counters) {
  if (options.scheduler == "slurm") {
    SlurmOptions slurm;
    slurm.bin_folder = options.slurm_bin;
    slurm.conf = options.slurm_conf;
    slurm.spare_reservation = options.spare_reservation;
    slurm.spare_feature = options.spare_feature;
    slurm.test_command = options.test_command;
    return std::unique_ptr<SchedulerChoice>(std::make_unique<SlurmChoice>(slurm, clock, counters));
  }
  if (options.scheduler != "local") {
    return Error{ErrorCode::invalid_argument,
                 "--scheduler is slurm or local, not '" + options.scheduler + "'"};
  }
  if (options.local_state.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "--scheduler local needs --local-state; `faultline local init` makes one"};
  }
  LocalOptions local;
  local.state = options.local_state;
  local.test_command = options.test_command;
  auto cluster = std::make_unique<LocalCluster>(local, clock, counters);
  FAULTLINE_TRY(cluster->open());
  return std::unique_ptr<SchedulerChoice>(std::make_unique<LocalChoice>(std::move(cluster)));
}

}  // namespace faultline
