#include "ingest/nccl_init.h"

#include <utility>

#include "base/text.h"
#include "ingest/nccl_names.h"

namespace faultline {
namespace {

std::int32_t number(const Event& event, std::string_view field) {
  return parse_number<std::int32_t>(event.field(field)).value_or(-1);
}

/// Which GPU of the host's it is. Where every process sees one device, all have the first one.
std::int32_t local_rank_of(const Event& event) {
  const std::int32_t cuda = number(event, "cuda_dev");
  return cuda == 0 && number(event, "nvml_dev") > 0 ? -1 : cuda;
}

void make_rank_started(Event& event, std::int32_t world) {
  event.kind = EventKind::rank_started;
  event.signature.clear();
  event.fields["world"] = std::to_string(world);
  const std::string address = bus_address(event.field("bus_id"));
  if (!address.empty()) event.fields["gpus"] = address;
  if (const std::int32_t local = local_rank_of(event); local >= 0)
    event.fields.try_emplace("local_rank", std::to_string(local));
}

/// A restarted rank has another process and the same place.
bool same_place(const Event& left, const Event& right) {
  for (const std::string_view field : {"host", "gpus", "cuda_dev", "nvml_dev"}) {
    if (left.field(field) != right.field(field)) return false;
  }
  return true;
}

}  // namespace

bool NcclInit::take(Event& event) {
  const std::int32_t world = number(event, "nranks");
  if (world < 1) return false;
  make_rank_started(event, world);
  if (event.field("rank").empty()) {
    keep(std::move(event), world);
    return false;
  }
  if (world_of_.size() >= ranks_max && !world_of_.contains(event.field("rank"))) return false;
  std::int32_t& told = world_of_[std::string(event.field("rank"))];
  if (world <= told) return false;
  told = world;
  return true;
}

void NcclInit::keep(Event event, std::int32_t world) {
  const std::int32_t rank = number(event, "comm_rank");
  if (rank < 0 || rank >= world || world < world_) return;
  if (world > world_) {
    world_ = world;
    kept_.clear();
    ambiguous_ = false;
  }
  event.fields["rank"] = std::to_string(rank);
  const auto known = kept_.find(rank);
  if (known == kept_.end()) {
    if (kept_.size() >= ranks_max) return;
    kept_.emplace(rank, std::move(event));
  } else if (!same_place(known->second, event)) {
    ambiguous_ = true;
  } else if (known->second.field("pid") != event.field("pid")) {
    known->second = std::move(event);
  } else {
    return;
  }
  changed_ = true;
}

std::vector<Event> NcclInit::told() {
  std::vector<Event> events;
  if (!std::exchange(changed_, false) || ambiguous_ || world_ < 2) return events;
  for (const auto& [rank, event] : kept_) events.push_back(event);
  return events;
}

}  // namespace faultline
