#include "ingest/yaml_records.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace faultline {
namespace {

using nlohmann::json;

/// Builds one record after the other out of the parser's events. It must not throw, so that after
/// an error it only waits for the end.
class RecordBuilder final : public YAML::EventHandler {
 public:
  RecordBuilder(std::string_view list, const YamlRecordVisitor& visit)
      : list_(list), visit_(visit) {}

  [[nodiscard]] const Status& status() const { return status_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // The parser stays for ever before what can begin no document, and finds an empty one each
    // time.
    if (mark.pos <= last_document_)
      refuse(ErrorCode::corrupt, "not YAML: no document can begin so");
    last_document_ = mark.pos;
    open_.clear();
    skipped_ = 0;
    has_list_ = false;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (takes(anchor)) give(nullptr, offset_of(mark));
  }
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {
    refuse(ErrorCode::invalid_argument, "an alias (*name) in the YAML: send it without");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& value) override {
    if (takes(anchor)) give(value, offset_of(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    const bool records = open_.size() == 1 && open_.back().has_key && open_.back().key == list_;
    has_list_ = has_list_ || records;
    open(json::array(), records, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(json::object(), false, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A map or list that has begun and not ended.
  struct Open {
    json value;
    bool of_records = false;
    std::uint64_t offset = 0;
    bool has_key = false;
    std::string key;
  };

  static std::uint64_t offset_of(const YAML::Mark& mark) {
    return mark.pos < 0 ? 0 : static_cast<std::uint64_t>(mark.pos);
  }

  void refuse(ErrorCode code, const char* message) {
    if (status_.ok()) status_ = Error{code, message};
  }

  bool takes(YAML::anchor_t anchor) {
    if (anchor != 0 && ++anchors_ > yaml_anchors_max)
      refuse(ErrorCode::exhausted, "more anchors (&name) in the YAML than kubectl would write");
    return status_.ok() && skipped_ == 0;
  }

  void open(json value, bool of_records, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= yaml_depth_max)
      refuse(ErrorCode::exhausted, "the YAML is nested deeper than any object of Kubernetes");
    if (!takes(anchor)) {
      ++skipped_;
      return;
    }
    open_.push_back({std::move(value), of_records, offset_of(mark), false, {}});
  }

  void close() {
    if (skipped_ > 0) {
      --skipped_;
      return;
    }
    Open done = std::move(open_.back());
    open_.pop_back();
    if (!done.of_records)
      give(std::move(done.value), done.offset);
    else
      give(nullptr, done.offset);
  }

  void give(json value, std::uint64_t offset) {
    if (!status_.ok()) return;
    if (open_.empty()) {
      if (!has_list_) visit_(value, offset);
      return;
    }
    Open& parent = open_.back();
    if (parent.of_records) {
      visit_(value, offset);
    } else if (parent.value.is_array()) {
      parent.value.push_back(std::move(value));
    } else if (std::exchange(parent.has_key, false)) {
      parent.value[parent.key] = std::move(value);
    } else if (value.is_string()) {
      parent.key = value.get<std::string>();
      parent.has_key = true;
    } else {
      refuse(ErrorCode::invalid_argument, "a key in the YAML that is no text");
    }
  }

  std::string list_;
  const YamlRecordVisitor& visit_;
  std::vector<Open> open_;
  std::size_t skipped_ = 0;
  std::size_t anchors_ = 0;
  int last_document_ = -1;  // where it began
  bool has_list_ = false;
  Status status_ = ok_status();
};

}  // namespace

Status visit_yaml_records(std::string_view document, std::string_view list,
                          const YamlRecordVisitor& visit) {
  if (document.size() > yaml_document_bytes_max)
    return Error{ErrorCode::exhausted, "too much YAML: ask kubectl for -o json"};
  RecordBuilder builder(list, visit);
  try {
    std::istringstream stream{std::string(document)};
    YAML::Parser parser(stream);
    while (builder.status().ok() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    return Error{ErrorCode::corrupt, "not YAML: " + printable(error.what(), 200)};
  } catch (const std::exception& error) {
    return Error{ErrorCode::corrupt, "YAML that cannot be read: " + printable(error.what(), 200)};
  }
  return builder.status();
}

}  // namespace faultline
