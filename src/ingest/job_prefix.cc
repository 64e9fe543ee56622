// Launchers nest: srun labels what torchrun labelled. So labels and times are taken off one by one
// from the left until something else stands there.
#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/text.h"
#include "ingest/line_prefix.h"
#include "ingest/time_shape.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr int labels_max = 6;  // no launcher nests deeper
constexpr std::size_t host_bytes_max = 253;
constexpr std::size_t rank_digits_max = 4;  // in "[host:rank]"
constexpr std::size_t name_bytes_max = 512;

// Words that programs print with a number before a colon.
constexpr auto not_hosts = std::to_array<std::string_view>(
    {"batch",      "cuda",      "device", "epoch", "exp",   "expert",  "fold",   "gpu",
     "iter",       "iteration", "layer",  "line",  "loss",  "phase",   "python", "rank",
     "local_rank", "run",       "sample", "seed",  "shard", "stage",   "step",   "task",
     "test",       "thread",    "trial",  "try",   "v",     "version", "x"});

bool is_host_char(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
}

bool may_be_host(std::string_view name, const JobLogHints& hints) {
  if (hints.nodes.empty()) return looks_like_host(name);
  return contains(hints.nodes, name);
}

std::int32_t small_number(std::string_view digits) {
  return parse_number<std::int32_t>(digits).value_or(-1);
}

bool take_number(TextCursor& cursor, std::int32_t& number) {
  const std::size_t start = cursor.at();
  if (!cursor.take_digits(1, 7)) return false;
  number = small_number(cursor.since(start));
  return true;
}

void set_time(LinePrefix& prefix, TimeForm form, std::string_view time) {
  if (prefix.time_form != TimeForm::none)
    return;  // the outermost was written first, by what we trust more
  prefix.time_form = form;
  prefix.time = time;
}

/// " n3 rank3 | " after `faultline run`'s time.
bool take_own_tag(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (!ahead.take(' ')) return false;
  const std::size_t start = ahead.at();
  if (!ahead.take_while(is_host_char, 1, host_bytes_max)) return false;
  const auto host = ahead.since(start);
  std::int32_t rank = -1;
  if (!valid_node_name(host) || !ahead.take(" rank") || !take_number(ahead, rank) ||
      !ahead.take(" |"))
    return false;
  ahead.take(' ');
  prefix.host = host;
  prefix.rank = rank;
  prefix.own_tag = true;
  cursor = ahead;
  return true;
}

/// A time and the blank after it, bare or in brackets; at the line's start perhaps our own tag
/// after it.
bool take_time(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  const bool bracket = ahead.take('[');
  const std::size_t start = ahead.at();
  TimeForm form = TimeForm::iso;
  if (!take_iso(ahead)) {
    form = TimeForm::clock;
    if (bracket || !take_clock(ahead)) return false;
  }
  const auto time = ahead.since(start);
  if (bracket && !ahead.take(']')) return false;
  const bool own = !bracket && form == TimeForm::iso && start == 0 && take_own_tag(ahead, prefix);
  ahead.take(':');
  if (!own && !ahead.take(' ')) return false;
  set_time(prefix, form, time);
  cursor = ahead;
  return true;
}

/// "[rank3]:" and "[default0]:" of torchrun.
bool take_torch_label(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  std::int32_t number = -1;
  const bool rank = ahead.take("[rank");
  if (!rank && !ahead.take("[default")) return false;
  if (!take_number(ahead, number) || !ahead.take("]:")) return false;
  ahead.take(' ');
  (rank ? prefix.rank : prefix.local_rank) = number;
  cursor = ahead;
  return true;
}

/// "[1,3]<stdout>:" of mpirun --tag-output, job and rank; "[3]<stdout>:" of horovodrun, before
/// which its own time may stand.
bool take_mpi_label(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  std::int32_t rank = -1;
  const std::size_t start = ahead.at();
  const bool timed = take_ctime(ahead);
  const auto time = ahead.since(start);
  if (!ahead.take('[') || !take_number(ahead, rank)) return false;
  if (!timed && ahead.take(',') && !take_number(ahead, rank)) return false;
  if (!ahead.take("]<std") || !ahead.take_while(is_lower, 2, 4) || !ahead.take(">:")) return false;
  ahead.take(' ');
  if (timed) set_time(prefix, TimeForm::ctime, time);
  prefix.rank = rank;
  cursor = ahead;
  return true;
}

/// "[n3:12] ", "[n3:12]: ". Five digits are the process number with which Open MPI and UCX begin
/// their own messages ("[n3:00081]").
bool take_host_rank_label(TextCursor& cursor, LinePrefix& prefix, const JobLogHints& hints) {
  TextCursor ahead = cursor;
  if (!ahead.take('[')) return false;
  const std::size_t start = ahead.at();
  if (!ahead.take_while(is_host_char, 1, host_bytes_max)) return false;
  const auto host = ahead.since(start);
  const std::size_t digits = host.size() + start + 1;
  std::int32_t rank = -1;
  if (!ahead.take(':') || !take_number(ahead, rank) ||
      ahead.since(digits).size() > rank_digits_max || !ahead.take(']') || !may_be_host(host, hints))
    return false;
  ahead.take(':');
  ahead.take(' ');
  prefix.host = host;
  prefix.rank = rank;
  cursor = ahead;
  return true;
}

/// "3: ", " 3: " of srun -l.
bool take_srun_label(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  std::int32_t rank = -1;
  ahead.skip_spaces(6);
  if (!take_number(ahead, rank) || !ahead.take(':') || (!ahead.done() && !ahead.take(' ')))
    return false;
  prefix.rank = rank;
  cursor = ahead;
  return true;
}

/// "slurmstepd-n3: " of Slurm since 23.11. It is whose words they are, too, so it stays.
bool read_slurmstepd_name(TextCursor ahead, LinePrefix& prefix) {
  const std::size_t start = ahead.at() + std::string_view("slurmstepd-").size();
  if (!ahead.take("slurmstepd-") || !ahead.take_while(is_host_char, 1, host_bytes_max))
    return false;
  const auto host = ahead.since(start);
  if (!ahead.take(": ") || !valid_node_name(host)) return false;
  prefix.host = host;
  return true;
}

/// "c000001: " of pdsh, clush and DeepSpeed.
bool take_host_label(TextCursor& cursor, LinePrefix& prefix, const JobLogHints& hints) {
  TextCursor ahead = cursor;
  const std::size_t start = ahead.at();
  if (!ahead.take_while(is_host_char, 1, host_bytes_max)) return false;
  const auto host = ahead.since(start);
  if (!ahead.take(':') || (!ahead.done() && !ahead.take(' ')) || !may_be_host(host, hints))
    return false;
  prefix.host = host;
  cursor = ahead;
  return true;
}

/// "stderr F " of a container runtime's log, after its time.
bool take_stream_label(TextCursor& cursor, const LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (prefix.time_form != TimeForm::iso || !ahead.take("std")) return false;
  if ((!ahead.take("out ") && !ahead.take("err ")) || !ahead.take_any("FP") || !ahead.take(' '))
    return false;
  cursor = ahead;
  return true;
}

/// "[pod/train-worker-1/pytorch] " of kubectl logs --prefix. A pod is no node.
bool take_pod_label(TextCursor& cursor) {
  TextCursor ahead = cursor;
  const auto name = [](char c) { return is_host_char(c) || c == '/'; };
  if (!ahead.take("[pod/") || !ahead.take_while(name, 1, name_bytes_max) || !ahead.take("] "))
    return false;
  cursor = ahead;
  return true;
}

/// "(RayTrainWorker pid=1234, ip=10.0.0.7) " of Ray; on the driver's own node there is no address.
bool take_ray_label(TextCursor& cursor, LinePrefix& prefix) {
  TextCursor ahead = cursor;
  if (!ahead.take('(')) return false;
  if (!ahead.take("pid=")) {
    const auto name = [](char c) { return c != ' ' && c != ')'; };
    if (!ahead.take_while(name, 1, name_bytes_max) || !ahead.take(" pid=")) return false;
  }
  if (!ahead.take_digits(1, 10)) return false;
  std::string_view host;
  if (ahead.take(", ip=")) {
    const std::size_t start = ahead.at();
    if (!ahead.take_while(is_host_char, 1, host_bytes_max)) return false;
    host = ahead.since(start);
  }
  if (!ahead.take(") ")) return false;
  if (prefix.host.empty() && valid_node_name(host)) prefix.host = host;
  cursor = ahead;
  return true;
}

bool take_label(TextCursor& cursor, LinePrefix& prefix, const JobLogHints& hints) {
  const char first = cursor.peek();
  if (first == '[') {
    return take_torch_label(cursor, prefix) || take_mpi_label(cursor, prefix) ||
           take_time(cursor, prefix) || take_host_rank_label(cursor, prefix, hints) ||
           take_pod_label(cursor);
  }
  if (first == '(') return take_ray_label(cursor, prefix);
  if (is_digit(first) || first == ' ') {
    if (take_time(cursor, prefix)) return true;
    return !hints.one_rank && prefix.rank < 0 && take_srun_label(cursor, prefix);
  }
  if (!is_letter(first)) return false;
  return take_stream_label(cursor, prefix) || (is_upper(first) && take_mpi_label(cursor, prefix)) ||
         (prefix.host.empty() &&
          (read_slurmstepd_name(cursor, prefix) || take_host_label(cursor, prefix, hints)));
}

/// "[E818 17:40:34.227 file:line]" and "W1129 19:50:15.346 pid file:line]": the time is read, the
/// text stays, since signatures begin with it.
void read_glog_time(TextCursor cursor, LinePrefix& prefix) {
  cursor.take('[');
  if (!cursor.take_any("IWEFC")) return;
  const std::size_t start = cursor.at();
  if (take_glog(cursor)) set_time(prefix, TimeForm::glog, cursor.since(start));
}

}  // namespace

bool looks_like_host(std::string_view name) {
  if (name.empty() || !is_lower(name[0]) || !is_digit(name.back()) || !valid_node_name(name))
    return false;
  std::string_view word = name;
  while (!word.empty() && (is_digit(word.back()) || word.back() == '-' || word.back() == '_' ||
                           word.back() == '.')) {
    word.remove_suffix(1);
  }
  return !contains(not_hosts, word);
}

LinePrefix parse_job_prefix(std::string_view line, const JobLogHints& hints) {
  LinePrefix prefix;
  TextCursor cursor(line);
  cursor.take(R"({"log":")");  // Docker's json-file; its stream and time stand behind the text
  for (int i = 0; i < labels_max && take_label(cursor, prefix, hints); ++i) {
  }
  read_glog_time(cursor, prefix);
  prefix.body = cursor.at();
  return prefix;
}

}  // namespace faultline
