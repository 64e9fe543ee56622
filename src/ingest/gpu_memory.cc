#include "ingest/gpu_memory.h"

#include "model/names.h"

namespace faultline {

void GpuMemory::name(std::string_view address, std::uint64_t line) {
  named_ = canonical_pci(address);
  named_line_ = line;
}

void GpuMemory::set_uuid(std::string_view address, std::string_view uuid) {
  if (Card* card = card_to_fill(address)) card->uuid = uuid;
}

void GpuMemory::set_serial(std::string_view address, std::string_view serial) {
  if (Card* card = card_to_fill(address)) card->serial = serial;
}

std::string GpuMemory::near(std::uint64_t line) const {
  const bool close = line >= named_line_ && line - named_line_ <= near_lines_max;
  return close ? named_ : std::string();
}

const GpuMemory::Card* GpuMemory::card(std::string_view address) const {
  const auto it = cards_.find(canonical_pci(address));
  return it == cards_.end() ? nullptr : &it->second;
}

GpuMemory::Card* GpuMemory::card_to_fill(std::string_view address) {
  const auto key = canonical_pci(address);
  if (cards_.size() >= gpus_max && !cards_.contains(key)) return nullptr;
  return &cards_[key];
}

}  // namespace faultline
