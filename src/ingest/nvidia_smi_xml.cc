#include "ingest/nvidia_smi_xml.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "ingest/xml_reader.h"

namespace faultline {
namespace {

constexpr std::string_view root = "nvidia_smi_log";
constexpr std::size_t line_bytes_shown = 256;

class Walk {
 public:
  Walk(std::string_view document, const Origin& origin, Counters& counters)
      : document_(document), xml_(document), report_(origin, counters), counters_(counters) {}

  std::vector<Event> run() {
    while (true) {
      switch (xml_.next()) {
        case XmlReader::Step::open: open(); break;
        case XmlReader::Step::text: text(); break;
        case XmlReader::Step::close: close(); break;
        case XmlReader::Step::broken:
          counters_.add("ingest_xml_broken_total");
          return report_.take();  // the GPU that was not ended is left out
        case XmlReader::Step::end: report_.end_gpu(); return report_.take();
      }
    }
  }

 private:
  [[nodiscard]] std::size_t depth() const { return xml_.open().size(); }

  void open() {
    if (depth() == 1 && xml_.name() == root) report_.begin_report();
    if (depth() == 2 && xml_.name() == "gpu") report_.begin_gpu(xml_.attribute("id"), place());
  }

  void close() {
    if (depth() == 1 && xml_.name() == "gpu") report_.end_gpu();
  }

  void text() {
    const auto& open = xml_.open();
    if (depth() == 2 && open[1] == "timestamp") report_.set_time(xml_.text());
    if (depth() == 2 && open[1] == "attached_gpus") report_.set_attached(xml_.text());
    if (depth() < 3 || open[1] != "gpu") return;
    std::string section;
    for (std::size_t level = 2; level + 1 < open.size(); ++level) {
      if (!section.empty()) section += '/';
      section += open[level];
    }
    report_.read(section, open.back(), xml_.text(), place());
  }

  /// The line, as far as it is not so long that nobody would look at it.
  [[nodiscard]] GpuReport::Place place() const {
    const std::size_t at = xml_.offset();
    const std::size_t from = at - std::min(at, line_bytes_shown);
    const auto newline = document_.substr(from, at - from).rfind('\n');
    const std::size_t begin = newline == std::string_view::npos ? at : from + newline + 1;
    const std::string_view rest = document_.substr(begin, line_bytes_shown);
    return {begin, trim(rest.substr(0, rest.find('\n')))};
  }

  std::string_view document_;
  XmlReader xml_;
  GpuReport report_;
  Counters& counters_;
};

}  // namespace

std::vector<Event> decode_nvidia_smi_xml(std::string_view document, const Origin& origin,
                                         Counters& counters) {
  return Walk(document, origin, counters).run();
}

}  // namespace faultline
