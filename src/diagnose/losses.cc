#include "diagnose/losses.h"

#include <string_view>

#include "base/text.h"
#include "diagnose/file_decoder.h"

namespace faultline {
namespace {

/// One kind of loss: "FILE has 3 lines of more than 2 MiB; left out: what follows in them".
struct Loss {
  std::string_view reason;  // of a gap, or a counter
  std::string_view one, many, left_out;
  bool may_matter = true;
};

constexpr std::string_view all_of_them = "all of them";

constexpr Loss losses[] = {
    {"too_long", " line of more than 2 MiB", " lines of more than 2 MiB", "what follows in them"},
    {"binary", " line with NUL bytes", " lines with NUL bytes", "those bytes", false},
    {"flood", " more line like others", " more lines like others", "those lines", false},
    {"ingest_json_broken_total", " record that is cut or damaged",
     " records that are cut or damaged", all_of_them},
    {"ingest_json_too_long_total", " record that is too long", " records that are too long",
     all_of_them},
    {"ingest_journal_damaged_total", " record that is cut or damaged",
     " records that are cut or damaged", all_of_them},
    {"ingest_xml_broken_total", " place where the XML is cut or damaged",
     " places where the XML is cut or damaged", "what follows"},
    {"scheduler_documents_cut_total", " place where it is cut", " places where it is cut",
     "what follows"},
    {"slurm_accounting_rows_bad_total", " row that is cut or damaged",
     " rows that are cut or damaged", all_of_them},
    {"slurm_records_bad_total", " record that is cut or damaged",
     " records that are cut or damaged", all_of_them},
    {"sinfo_rows_bad_total", " row that is cut or damaged", " rows that are cut or damaged",
     all_of_them},
    {pasted_faults_counter, " line in which a kernel tells of a fault, among words of others",
     " lines in which a kernel tells of faults, among words of others",
     "all of it (give the kernel's log alone)"},
    {"flight_recorder_left_out_total", " part beyond what is kept of a dump",
     " parts beyond what is kept of a dump", all_of_them, false},
    {"flight_recorder_rank_unknown_total", " dump whose rank neither its name nor its groups tell",
     " dumps whose ranks nothing tells", "all of it (name it after its rank: trace_rank_3)"},
};
static_assert(file_line_bytes_max == std::size_t{2} << 20U, "the words above say it");

}  // namespace

void Losses::add(const std::vector<Event>& events) {
  for (const Event& event : events) {
    if (event.kind != EventKind::source_gap) continue;
    lost_[std::string(event.field("why"))] +=
        parse_number<std::uint64_t>(event.field("lines")).value_or(1);
  }
}

void Losses::add(const CounterValues& counted) {
  for (const auto& [name, value] : counted) lost_[name] += value;
}

std::vector<InputWarning> Losses::warnings(const ReadFile& file) const {
  // A process that is killed leaves its last record half written: usual there.
  const bool always_cut = file.kind == ContentKind::nccl_inspector;
  std::vector<InputWarning> out;
  for (const Loss& loss : losses) {
    const auto lost = lost_.find(loss.reason);
    if (lost == lost_.end() || lost->second == 0) continue;
    const auto words = lost->second == 1 ? loss.one : loss.many;
    out.push_back({file.file.name, "has " + std::to_string(lost->second) + std::string(words),
                   std::string(loss.left_out), loss.may_matter && !always_cut});
  }
  return out;
}

}  // namespace faultline
