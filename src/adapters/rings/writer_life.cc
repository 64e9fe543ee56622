#include "adapters/rings/writer_life.h"

#include <sys/stat.h>

#include <string>

#include "base/small_file.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::uint64_t proc_file_bytes_max = 4096;

bool is_of_this_machine(const RingIdentity& identity, const std::filesystem::path& proc) {
  const auto boot = read_small_file(proc / "sys/kernel/random/boot_id", 64);
  if (!boot.ok() || trim(*boot) != identity.boot_id) return false;
  struct stat facts {};
  const auto space = proc / "self/ns/pid";
  return ::stat(space.c_str(), &facts) == 0 && facts.st_ino == identity.pid_namespace;
}

}  // namespace

std::string_view to_text(WriterLife life) {
  switch (life) {
    case WriterLife::running: return "running";
    case WriterLife::stopped: return "stopped";
    case WriterLife::ended: return "ended";
    case WriterLife::elsewhere: return "elsewhere";
  }
  return "";
}

WriterLife life_of_writer(const RingIdentity& identity, const std::filesystem::path& proc) {
  if (!is_of_this_machine(identity, proc)) return WriterLife::elsewhere;
  const auto text =
      read_small_file(proc / std::to_string(identity.pid) / "stat", proc_file_bytes_max);
  if (!text.ok()) return WriterLife::ended;
  // The name stands in parentheses, and may hold anything; the state comes behind it.
  const std::size_t end = text->rfind(") ");
  if (end == std::string::npos) return WriterLife::ended;
  const auto fields = split(std::string_view(*text).substr(end + 2), ' ');
  constexpr std::size_t start_field = 22 - 3;
  if (fields.size() <= start_field ||
      parse_number<std::uint64_t>(fields[start_field]) != identity.process_start)
    return WriterLife::ended;
  if (fields[0] == "Z" || fields[0] == "X") return WriterLife::ended;
  return fields[0] == "T" || fields[0] == "t" ? WriterLife::stopped : WriterLife::running;
}

}  // namespace faultline
