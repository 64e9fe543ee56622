// Runs tests/cases/signatures/*.case against the catalog and the engine as shipped. docs/formats.md
// describes the files. A line passes through the same steps as in a log: its prefix is taken off,
// then the signatures of its layer look at it. tests/fixtures/signature_list.tsv holds what the
// catalog must know, from outside of it.

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "ingest/line_prefix.h"
#include "ingest/signature_engine.h"
#include "tests/cases/detect_story.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

struct CaseLine {
  bool fires = true;
  std::string text;
  Fields captures;
  std::string place;  // "nvidia_xid.case:12"
};

struct CaseBlock {
  std::string signature;
  std::string place;
  std::vector<CaseLine> lines;
};

struct CaseFile {
  std::vector<CaseBlock> blocks;
  std::vector<std::string> errors;
};

/// "name = value" below a `fires` line; the value is verbatim after "= ".
bool read_capture(std::string_view line, CaseLine& into) {
  const auto equals = line.find(" = ");
  if (equals == std::string_view::npos) return false;
  return into.captures.emplace(trim(line.substr(0, equals)), line.substr(equals + 3)).second;
}

void read_line(std::string_view line, const std::string& place, CaseFile& file) {
  if (trim(line).empty() || line[0] == '#') return;
  const auto bad = [&](const char* what) { file.errors.push_back(place + ": " + what); };
  if (line.starts_with("signature ")) {
    file.blocks.push_back({std::string(trim(line.substr(10))), place, {}});
  } else if (file.blocks.empty()) {
    bad("stands before the first 'signature'");
  } else if (line.starts_with("fires ") || line.starts_with("quiet ")) {
    file.blocks.back().lines.push_back({line[0] == 'f', std::string(line.substr(6)), {}, place});
  } else if (line[0] == ' ') {
    auto& lines = file.blocks.back().lines;
    if (lines.empty() || !lines.back().fires || !read_capture(line, lines.back()))
      bad("is no capture of a 'fires' line");
  } else {
    bad("must start with 'signature ', 'fires ', 'quiet ', '#' or a blank");
  }
}

CaseFile read_case_file(const fs::path& path) {
  CaseFile file;
  std::ifstream stream(path);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    read_line(line, path.filename().string() + ":" + std::to_string(number), file);
  }
  return file;
}

/// A signature that the catalog must have, with a line that it must know.
struct ListedSignature {
  std::string id;
  std::string example;
  std::string quiet_because;  // why it does not fire on the example; "" if it does
};

std::vector<ListedSignature> read_signature_list() {
  std::vector<ListedSignature> list;
  std::ifstream stream(FAULTLINE_SOURCE_DIR "/tests/fixtures/signature_list.tsv");
  std::string line;
  std::getline(stream, line);  // heading
  while (std::getline(stream, line)) {
    const auto columns = split(line, '\t');
    EXPECT_EQ(columns.size(), 3u) << line;
    if (columns.size() != 3) continue;
    list.push_back({std::string(columns[0]), std::string(columns[1]), std::string(columns[2])});
  }
  return list;
}

EventSource source_of(Layer layer) {
  switch (layer) {
    case Layer::kernel: return EventSource::kernel_log;
    case Layer::scheduler: return EventSource::scheduler;
    case Layer::application: return EventSource::job_log;
  }
  return EventSource::job_log;
}

class SignatureCases : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto loaded = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    catalog_ = new Catalog(std::move(loaded).value());
    for (const Layer layer : {Layer::kernel, Layer::scheduler, Layer::application}) {
      auto database =
          SignatureDatabase::open(*catalog_, layers_of(source_of(layer)), {}, counters_);
      ASSERT_TRUE(database.ok()) << database.error().message;
      engines_.emplace(layer, SignatureEngine(database.value(), counters_));
    }
    for (const auto& entry :
         fs::directory_iterator(FAULTLINE_SOURCE_DIR "/tests/cases/signatures")) {
      if (entry.path().extension() == ".case")
        files_.emplace(entry.path(), read_case_file(entry.path()));
    }
  }
  static void TearDownTestSuite() {
    engines_.clear();
    files_.clear();
    delete catalog_;
    catalog_ = nullptr;
  }

  /// The line after the decoder's own first steps.
  static std::optional<Hit> look_at(Layer layer, const std::string& line) {
    const LinePrefix prefix =
        layer == Layer::application ? parse_job_prefix(line, {}) : parse_system_prefix(line);
    LineBlock block;
    block.add(line, prefix.body, 0);
    auto hits = engines_.at(layer).scan(block);
    return hits.empty() ? std::nullopt : std::optional(std::move(hits.front()));
  }

  static bool hits(const std::optional<Hit>& hit, const Signature& signature) {
    return hit &&
           std::find(hit->matched.begin(), hit->matched.end(), &signature) != hit->matched.end();
  }

  static void check_fires(const Signature& signature, const CaseLine& line) {
    const auto hit = look_at(signature.layer, line.text);
    ASSERT_TRUE(hits(hit, signature))
        << line.place << ": " << signature.id << " should fire on\n  " << line.text;
    for (const auto& [name, value] : line.captures) {
      const auto it = hit->captures.find(name);
      EXPECT_EQ(it == hit->captures.end() ? "(nothing)" : it->second, value)
          << line.place << ": capture '" << name << "' of " << signature.id << " on\n  "
          << line.text;
    }
  }

  static void check_quiet(const Signature& signature, const CaseLine& line) {
    EXPECT_FALSE(hits(look_at(signature.layer, line.text), signature))
        << line.place << ": " << signature.id << " should be quiet on\n  " << line.text;
  }

  static void check_block(const CaseBlock& block) {
    const Signature* signature = catalog_->signature(block.signature);
    ASSERT_NE(signature, nullptr) << block.place << ": the catalog has no signature '"
                                  << block.signature << "'";
    int fires = 0;
    int quiet = 0;
    for (const auto& line : block.lines) {
      if (line.fires) {
        ++fires;
        check_fires(*signature, line);
      } else {
        ++quiet;
        check_quiet(*signature, line);
      }
    }
    EXPECT_GT(fires, 0) << block.place << ": " << block.signature << " has no 'fires' line";
    EXPECT_GT(quiet, 0) << block.place << ": " << block.signature << " has no 'quiet' line";
  }

  static bool has_case(const std::string& id, bool fires) {
    for (const auto& [path, file] : files_) {
      for (const auto& block : file.blocks) {
        if (block.signature == id && std::any_of(block.lines.begin(), block.lines.end(),
                                                 [&](const auto& l) { return l.fires == fires; }))
          return true;
      }
    }
    return false;
  }

  static void check_listed(const ListedSignature& listed) {
    const Signature* signature = catalog_->signature(listed.id);
    ASSERT_NE(signature, nullptr) << "the catalog has lost the signature " << listed.id;
    EXPECT_NE(catalog_->cause(signature->cause), nullptr) << listed.id << " has no cause";
    EXPECT_TRUE(has_case(listed.id, true)) << listed.id << " has no case on which it fires";
    EXPECT_TRUE(has_case(listed.id, false)) << listed.id << " has no look-alike";
    EXPECT_EQ(hits(look_at(signature->layer, listed.example), *signature),
              listed.quiet_because.empty())
        << listed.id << (listed.quiet_because.empty() ? " should fire on\n  " : " fires on\n  ")
        << listed.example;
  }

  static inline Catalog* catalog_ = nullptr;
  static inline Counters counters_;
  static inline std::map<Layer, SignatureEngine> engines_;
  static inline std::map<fs::path, CaseFile> files_;
};

TEST_F(SignatureCases, EveryCaseHolds) {
  ASSERT_FALSE(files_.empty());
  for (const auto& [path, file] : files_) {
    for (const auto& error : file.errors) ADD_FAILURE() << error;
    for (const auto& block : file.blocks) check_block(block);
  }
}

TEST_F(SignatureCases, EverySignatureHasOneBlockInTheFileOfItsName) {
  std::map<std::string, std::string> places;  // signature -> its block
  for (const auto& [path, file] : files_) {
    EXPECT_TRUE(fs::exists(fs::path(FAULTLINE_SOURCE_CATALOG_DIR) / "signatures" /
                           path.filename().replace_extension(".toml")))
        << path << " has no signature file of its name";
    for (const auto& block : file.blocks) {
      const auto [it, added] = places.emplace(block.signature, block.place);
      EXPECT_TRUE(added) << block.place << ": " << block.signature << " has a block already at "
                         << it->second;
    }
  }
  for (const auto& signature : catalog_->signatures()) {
    EXPECT_TRUE(places.contains(signature.id))
        << signature.id << " has no block in tests/cases/signatures";
  }
}

/// The cases come and go with the catalog; this list does not, so that a signature cannot leave
/// with its case unseen.
TEST_F(SignatureCases, EveryListedSignatureIsInTheCatalogWithItsCases) {
  const auto list = read_signature_list();
  ASSERT_FALSE(list.empty());
  std::set<std::string> ids;
  for (const auto& listed : list) {
    EXPECT_TRUE(ids.insert(listed.id).second) << listed.id << " is listed twice";
    check_listed(listed);
  }
}

/// Vectorscan looks for more than the signatures, and RE2 then says no. What RE2 would find and
/// Vectorscan does not report is lost without a trace.
TEST_F(SignatureCases, WhateverRe2FindsOnACaseLineVectorscanReports) {
  for (const EventSource source : {EventSource::kernel_log, EventSource::job_log}) {
    const auto database = ShippedSignatures::get().database(source);
    SignatureEngine engine(database, counters_);
    for (const auto& [path, file] : files_) {
      for (const auto& block : file.blocks) {
        for (const auto& line : block.lines) {
          LineBlock one;
          one.add(line.text, 0, 0);
          const std::vector<Hit> hits = engine.scan(one);
          const std::vector<const Signature*> found =
              hits.empty() ? std::vector<const Signature*>{} : hits.front().matched;
          for (std::size_t i = 0; i < database->signatures().size(); ++i) {
            const Signature* signature = database->signatures()[i];
            const bool matches = RE2::PartialMatch(line.text, database->expression(i));
            EXPECT_EQ(std::find(found.begin(), found.end(), signature) != found.end(), matches)
                << signature->id << "\n"
                << line.place << ":\n  " << line.text;
          }
        }
      }
    }
  }
}

/// What may lead to a drain, by itself or beside what a job says. A lead never does, and what a job
/// prints is its own word anyway.
bool accuses_a_node(const Signature& signature, const Catalog& catalog) {
  const Cause* cause = catalog.cause(signature.cause);
  if (signature.role != Role::root || cause == nullptr || !concerns_node(cause->remedy))
    return false;
  if (signature.layer == Layer::scheduler) return signature.subject == SubjectKind::node;
  return signature.layer == Layer::kernel && signature.strength != Strength::lead;
}

/// A user may name a file as the kernel words its errors, or a job as the scheduler does, and both
/// print names: as a quotation it must not say anything of a node. That the driver's own lines
/// begin with "NVRM: " is for the decoder to check.
TEST_F(SignatureCases, NobodyIsAccusedByWhatALineQuotes) {
  for (const auto& [path, file] : files_) {
    for (const auto& block : file.blocks) {
      const Signature* signature = catalog_->signature(block.signature);
      if (signature == nullptr || !accuses_a_node(*signature, *catalog_) ||
          signature->pattern.starts_with("NVRM: ") || signature->id.starts_with("xid"))
        continue;
      for (const auto& line : block.lines) {
        if (!line.fires) continue;
        const auto body = line.text.substr(parse_system_prefix(line.text).body);
        const bool kernel = signature->layer == Layer::kernel;
        const std::string head = kernel ? "overlayfs: failed to resolve '/tmp/"
                                        : "lua: slurm_job_submit: job from uid 1001, name '";
        check_quiet(*signature, {false, head + body + "'", {}, line.place});
      }
    }
  }
}

}  // namespace
}  // namespace faultline
