// The forms are tried in an order in which none can be taken for another; the first that fits wins.
#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/line_prefix.h"
#include "ingest/time_shape.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t host_bytes_max = 253;
constexpr std::size_t program_bytes_max = 64;

constexpr auto node_daemons = std::to_array<std::string_view>(
    {"nv-fabricmanager", "systemd", "systemd-networkd", "systemd-oomd", "earlyoom", "mmfs"});

bool is_program_char(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == '(' ||
         c == ')';
}

/// "kernel: ", "slurmd[812]: ". A node daemon's name is part of what it says.
bool take_program(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  const std::size_t start = ahead.at();
  if (!ahead.take_while(is_program_char, 1, program_bytes_max)) return false;
  const auto name = ahead.since(start);
  if (ahead.take('[') && (!ahead.take_digits(1, 10) || !ahead.take(']'))) return false;
  if (!ahead.take(':') || (!ahead.done() && !ahead.take(' '))) return false;
  prefix.program = name;
  if (is_node_daemon(name)) return true;
  cursor = ahead;
  // A daemon that runs in the foreground says its name itself, and the journal before it.
  if (ahead.take(name) && ahead.take(": ")) cursor = ahead;
  return true;
}

bool take_host(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  const std::size_t start = ahead.at();
  if (!ahead.take_while([](char c) { return c != ' '; }, 1, host_bytes_max)) return false;
  const auto name = ahead.since(start);
  if (!ahead.take(' ') || !valid_node_name(name)) return false;
  prefix.host = name;
  cursor = ahead;
  return true;
}

/// "[ T1946] ", "[T1946]", "[    C0]": which task or CPU printed it (CONFIG_PRINTK_CALLER).
void take_caller(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!ahead.take('[')) return;
  ahead.skip_spaces(8);
  if (!ahead.take_any("TC") || !ahead.take_digits(1, 10) || !ahead.take(']')) return;
  ahead.take(' ');
  cursor = ahead;
}

/// " <    0.000013>" of dmesg -d: since the line before.
void take_delta(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (ahead.take(" <") && take_kernel_seconds(ahead) && ahead.take('>')) cursor = ahead;
}

/// "[    7.812001] " and what may follow it.
bool take_kernel_stamp(TextCursor& cursor, std::string_view& seconds) {
  TextCursor ahead = cursor;
  if (!ahead.take('[')) return false;
  const std::size_t start = ahead.at();
  if (!take_kernel_seconds(ahead)) return false;
  const auto text = trim(ahead.since(start));
  take_delta(ahead);
  if (!ahead.take(']')) return false;
  ahead.take(' ');
  take_caller(ahead);
  seconds = text;
  cursor = ahead;
  return true;
}

/// Facility and level are one number, of which the level has three bits; the kernel is facility 0
/// and lets no process write as itself.
bool facility_of_process(std::string_view priority) {
  return parse_number<unsigned>(priority).value_or(0) >= 8;
}

/// "6,1234,5678901,-;text": priority, sequence, microseconds since boot, flags and more
/// (Documentation/ABI/testing/dev-kmsg).
bool take_kmsg(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  const std::size_t priority_start = ahead.at();
  if (!ahead.take_digits(1, 5)) return false;
  const bool of_process = facility_of_process(ahead.since(priority_start));
  if (!ahead.take(',')) return false;
  const std::size_t sequence_start = ahead.at();
  if (!ahead.take_digits(1, 20)) return false;
  const auto sequence = ahead.since(sequence_start);
  if (!ahead.take(',')) return false;
  const std::size_t time_start = ahead.at();
  if (!ahead.take_digits(1, 20)) return false;
  const auto time = ahead.since(time_start);
  if (!ahead.take(',') || !ahead.take_while([](char c) { return c != ';'; }, 1, 128) ||
      !ahead.take(';'))
    return false;
  prefix.sequence = parse_number<std::uint64_t>(sequence);
  prefix.time_form = TimeForm::kernel_micros;
  prefix.time = time;
  prefix.from_dmesg = true;
  prefix.from_process = of_process;
  cursor = ahead;
  return true;
}

/// "kern  :warn  : " of dmesg -x.
bool take_facility(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  const bool of_kernel = TextCursor(ahead).take("kern");
  for (int i = 0; i < 2; ++i) {
    if (!ahead.take_while([](char c) { return is_lower(c) || is_digit(c); }, 3, 8)) return false;
    ahead.skip_spaces(8);
    if (!ahead.take(':')) return false;
  }
  if (!ahead.take(' ')) return false;
  prefix.from_process = !of_kernel;
  cursor = ahead;
  return true;
}

/// "[Nov 05 2025 14:44:42] [ERROR] [tid 4177] " of NVIDIA's fabric manager.
bool take_fabric_manager_line(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (!ahead.take('[')) return false;
  const std::size_t start = ahead.at();
  if (!take_month_day_year(ahead)) return false;
  const auto time = ahead.since(start);
  if (!ahead.take("] [") || !ahead.take_while(is_upper, 3, 8) || !ahead.take("] [tid ") ||
      !ahead.take_digits(1, 10) || !ahead.take("] "))
    return false;
  prefix.time_form = TimeForm::month_day_year;
  prefix.time = time;
  cursor = ahead;
  return true;
}

using TakeTime = bool (*)(TextCursor&);

/// "[time] " for the time shape `take`.
bool take_bracketed(TextCursor& cursor, LinePrefix& prefix, TimeForm form, TakeTime take) {
  TextCursor ahead = cursor;
  if (!ahead.take('[')) return false;
  const std::size_t start = ahead.at();
  if (!take(ahead)) return false;
  const auto time = ahead.since(start);
  if (!ahead.take(']')) return false;
  ahead.take(' ');
  prefix.time_form = form;
  prefix.time = time;
  cursor = ahead;
  return true;
}

/// slurmd's "[53532.0] ", "[53532_7.batch] ": the step that a slurmstepd speaks of.
void take_step(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (!ahead.take('[')) return;
  const std::size_t start = ahead.at();
  const auto job_char = [](char c) { return is_digit(c) || c == '_' || c == '+'; };
  if (!is_digit(ahead.peek()) || !ahead.take_while(job_char, 1, 32) || !ahead.take('.')) return;
  if (!ahead.take_while([](char c) { return is_digit(c) || is_lower(c) || c == '+'; }, 1, 16))
    return;
  const auto step = ahead.since(start);
  if (!ahead.take(']')) return;
  ahead.take(' ');
  prefix.step = step;
  cursor = ahead;
}

/// "[Sep26 10:33] " and "[  +0.000012] " of dmesg -H: a minute, and the time since the line before.
/// Neither is a time of this line.
bool take_human_stamp(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!ahead.take('[')) return false;
  TextCursor minute = ahead;
  if (minute.take_while(is_letter, 3, 3) && minute.take_digits(2, 2) && minute.take(' ') &&
      minute.take_digits(2, 2) && minute.take(':') && minute.take_digits(2, 2)) {
    ahead = minute;
  } else {
    ahead.skip_spaces(8);
    if (!ahead.take('+') || !take_kernel_seconds(ahead)) return false;
  }
  if (!ahead.take(']')) return false;
  ahead.take(' ');
  cursor = ahead;
  return true;
}

/// What stands after dmesg's own columns: a time in one of its forms, and a caller.
bool take_dmesg(TextCursor& cursor, LinePrefix& prefix) {
  std::string_view seconds;
  if (take_kernel_stamp(cursor, seconds)) {
    prefix.time_form = TimeForm::kernel_seconds;
    prefix.time = seconds;
  } else if (!take_bracketed(cursor, prefix, TimeForm::ctime, take_ctime) &&
             !take_human_stamp(cursor)) {
    return false;
  }
  prefix.from_dmesg = true;
  take_caller(cursor);
  return true;
}

/// "kernel: " alone, of a journal without its columns. Only the kernel's name: "NVRM: " looks the
/// same.
bool take_bare_kernel(TextCursor& cursor, LinePrefix& prefix) {
  if (!cursor.take("kernel: ")) return false;
  prefix.program = "kernel";
  prefix.from_syslog = true;
  take_kernel_stamp(cursor, prefix.kernel_seconds);
  take_caller(cursor);
  return true;
}

/// "kern.warn " of busybox: who may write as the kernel is the kernel.
bool take_facility_word(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  const std::size_t start = ahead.at();
  if (!ahead.take_while(is_lower, 3, 8)) return false;
  const auto facility = ahead.since(start);
  if (!ahead.take('.') || !ahead.take_while(is_lower, 3, 8) || !ahead.take(' ')) return false;
  if (facility != "kern") prefix.program = facility;
  cursor = ahead;
  return true;
}

/// Host and program after a syslog daemon's time. The kernel's own stamp may follow.
void take_syslog_names(TextCursor& cursor, LinePrefix& prefix) {
  if (take_bare_kernel(cursor, prefix)) return;  // journalctl --no-hostname
  TextCursor ahead = cursor;
  if (!take_host(ahead, prefix)) return;
  prefix.from_syslog = true;
  cursor = ahead;
  if (take_facility_word(cursor, prefix) && !prefix.program.empty()) return;
  if (!take_bare_kernel(cursor, prefix)) take_program(cursor, prefix);
}

/// dmesg writes the fraction with a comma and names no host; syslog daemons write a point and do.
bool take_iso_line(TextCursor& cursor, LinePrefix& prefix, bool names_follow) {
  TextCursor ahead = cursor;
  const std::size_t start = ahead.at();
  if (!take_iso(ahead)) return false;
  const auto time = ahead.since(start);
  if (!ahead.take(' ')) return false;
  prefix.time_form = TimeForm::iso;
  prefix.time = time;
  prefix.from_dmesg = !names_follow || time.find(',') != std::string_view::npos;
  cursor = ahead;
  if (prefix.from_dmesg) {
    take_caller(cursor);
  } else {
    take_syslog_names(cursor, prefix);
  }
  return true;
}

/// "Thu 2025-05-01 01:02:03 UTC host kernel: " of journalctl -o short-full.
bool take_full_line(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (!ahead.take_while(is_letter, 3, 3) || !ahead.take(' ')) return false;
  const std::size_t start = ahead.at();
  if (!take_iso(ahead)) return false;
  const auto time = ahead.since(start);
  const auto zone = [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '-'; };
  if (!ahead.take(' ') || !ahead.take_while(zone, 2, 6) || !ahead.take(' ')) return false;
  prefix.time_form = TimeForm::iso;
  prefix.time = time;
  cursor = ahead;
  take_syslog_names(cursor, prefix);
  return true;
}

/// "1746061323.123456 host kernel: " of journalctl -o short-unix.
bool take_unix_line(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (!ahead.take_digits(10, 10) || !ahead.take('.') || !ahead.take_digits(6, 6)) return false;
  const auto time = ahead.since(cursor.at());
  if (!ahead.take(' ')) return false;
  prefix.time_form = TimeForm::unix_seconds;
  prefix.time = time;
  cursor = ahead;
  take_syslog_names(cursor, prefix);
  return true;
}

/// "10.4.11.19: kern: warning: [2026-04-22T21:27:51.291660856Z]: " of talosctl dmesg: node,
/// facility, level, time. Only the facility "kern" is the kernel's own.
bool take_talos_line(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  LinePrefix read = prefix;
  const auto word = [](char c) { return c != ' ' && c != ':'; };
  const std::size_t host = ahead.at();
  if (!ahead.take_while(word, 1, host_bytes_max)) return false;
  read.host = ahead.since(host);
  const std::size_t facility = host + read.host.size() + 2;
  if (!ahead.take(": ") || !ahead.take_while(is_lower, 3, 8)) return false;
  read.program = ahead.since(facility);
  if (!ahead.take(": ") || !ahead.take_while(is_lower, 3, 8) || !ahead.take(": ") ||
      !take_bracketed(ahead, read, TimeForm::iso, take_iso) || !ahead.take(": "))
    return false;
  if (!valid_node_name(read.host)) return false;
  if (read.program == "kern") read.program = "kernel";
  read.from_syslog = true;
  prefix = read;
  cursor = ahead;
  return true;
}

/// RFC 5424 after its priority, which some daemons leave out: "1 2025-02-11T03:21:44.283Z host
/// program pid msgid - text".
bool take_rfc5424(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  LinePrefix read = prefix;
  if (!ahead.take("1 ")) return false;
  const std::size_t start = ahead.at();
  if (!take_iso(ahead)) return false;
  read.time_form = TimeForm::iso;
  read.time = ahead.since(start);
  if (!ahead.take(' ') || !take_host(ahead, read)) return false;
  const auto word = [](char c) { return c != ' '; };
  const std::size_t program = ahead.at();
  if (!ahead.take_while(word, 1, program_bytes_max)) return false;
  read.program = ahead.since(program);
  for (int i = 0; i < 2; ++i) {  // process id and message id
    if (!ahead.take(' ') || !ahead.take_while(word, 1, host_bytes_max)) return false;
  }
  if (!ahead.take(' ')) return false;
  if (!ahead.take('-')) {  // structured data, without its escapes: nobody we read uses them
    if (!ahead.take('[') || !ahead.take_while([](char c) { return c != ']'; }, 0, 1024) ||
        !ahead.take(']'))
      return false;
  }
  ahead.take(' ');
  read.from_syslog = true;
  take_kernel_stamp(ahead, read.kernel_seconds);
  prefix = read;
  cursor = ahead;
  return true;
}

/// "<12>": of syslog's protocol and of dmesg -r.
void take_priority(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (!ahead.take('<')) return;
  const std::size_t start = ahead.at();
  if (!ahead.take_digits(1, 3)) return;
  const auto priority = ahead.since(start);
  if (!ahead.take('>')) return;
  prefix.from_process = facility_of_process(priority);
  cursor = ahead;
}

bool take_month_day_line(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  const std::size_t start = ahead.at();
  if (!take_month_day(ahead)) return false;
  const auto time = ahead.since(start);
  if (!ahead.take(' ')) return false;
  prefix.time_form = TimeForm::month_day;
  prefix.time = time;
  cursor = ahead;
  take_syslog_names(cursor, prefix);
  return true;
}

void take_system_prefix(TextCursor& cursor, LinePrefix& prefix) {
  take_priority(cursor, prefix);
  if (take_rfc5424(cursor, prefix)) return;
  if (take_kmsg(cursor, prefix)) return;
  if (take_fabric_manager_line(cursor, prefix)) return;
  if (take_facility(cursor, prefix)) {
    prefix.from_dmesg = true;
    if (!take_dmesg(cursor, prefix)) take_iso_line(cursor, prefix, false);
    return;
  }
  if (take_dmesg(cursor, prefix)) {
    TextCursor ahead = cursor;  // journalctl -o short-monotonic: "[    7.8] host kernel: text"
    LinePrefix read = prefix;
    if (take_host(ahead, read) && take_program(ahead, read) && read.program == "kernel") {
      prefix = read;
      cursor = ahead;
    }
    return;
  }
  if (take_bracketed(cursor, prefix, TimeForm::iso, take_iso)) {
    take_step(cursor, prefix);
    return;
  }
  if (take_iso_line(cursor, prefix, true) || take_month_day_line(cursor, prefix) ||
      take_full_line(cursor, prefix) || take_unix_line(cursor, prefix) ||
      take_talos_line(cursor, prefix))
    return;
  take_bare_kernel(cursor, prefix);
}

/// What a tool that read the log elsewhere put before its lines: "n3: " of pdsh and clush,
/// "[pod/reader-7k2lq/main] " of kubectl, "kern.log:" of grep. Only before a line that has a time:
/// "nvme: " and "audit: " look like hosts.
void take_relayed_line(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  LinePrefix read = prefix;
  const auto word = [](char c) { return c != ' ' && c != ':' && c != ']'; };
  const bool pod = ahead.take("[pod/");
  const std::size_t start = ahead.at();
  if (!ahead.take_while(word, 1, host_bytes_max)) return;
  const auto label = ahead.since(start);
  if (pod ? !ahead.take("] ") : !ahead.take(':')) return;
  const bool host = ahead.take(' ') && !pod && valid_node_name(label);
  if (!pod && !host && label.find_first_of("./") == std::string_view::npos) return;
  take_system_prefix(ahead, read);
  if (read.time_form == TimeForm::none) return;
  if (host && read.host.empty()) read.host = label;
  prefix = read;
  cursor = ahead;
}

}  // namespace

bool is_node_daemon(std::string_view program) { return contains(node_daemons, program); }

bool names_node_daemon(std::string_view text) {
  return std::any_of(node_daemons.begin(), node_daemons.end(), [&](std::string_view name) {
    return text.find(name) != std::string_view::npos;
  });
}

LinePrefix parse_system_prefix(std::string_view line) {
  LinePrefix prefix;
  TextCursor cursor(line);
  take_system_prefix(cursor, prefix);
  if (cursor.at() == 0) take_relayed_line(cursor, prefix);
  // The kernel's own stamp is its time where nothing better stands before it.
  if (prefix.time_form == TimeForm::none && !prefix.kernel_seconds.empty()) {
    prefix.time_form = TimeForm::kernel_seconds;
    prefix.time = prefix.kernel_seconds;
  }
  prefix.body = cursor.at();
  return prefix;
}

bool is_kmsg_continuation(std::string_view line) {
  TextCursor cursor(line);
  const auto key = [](char c) { return is_upper(c) || is_digit(c) || c == '_'; };
  return cursor.take(' ') && cursor.take_while(key, 1, 64) && cursor.take('=');
}

}  // namespace faultline
