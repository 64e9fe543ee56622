#include "adapters/procfs/boot_facts.h"

#include "base/small_file.h"
#include "base/text.h"

namespace faultline {

BootFacts read_boot_facts(const std::filesystem::path& proc) {
  BootFacts facts;
  if (const auto id = read_small_file(proc / "sys/kernel/random/boot_id", 64); id.ok()) {
    facts.boot_id = printable(trim(id.value()), 64);
  }
  // The line comes after one line per CPU and one of interrupts, which is long on large machines.
  const auto stat = read_small_file(proc / "stat", 4 * 1024 * 1024);
  if (!stat.ok()) return facts;
  for (const std::string_view line : split(stat.value(), '\n')) {
    if (!line.starts_with("btime ")) continue;
    if (const auto seconds = parse_number<std::int64_t>(trim(line.substr(6)))) {
      facts.boot_time = Instant{std::chrono::seconds{*seconds}};
    }
  }
  return facts;
}

}  // namespace faultline
