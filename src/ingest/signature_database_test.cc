#include "ingest/signature_database.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "catalog/catalog_parser.h"
#include "ingest/database_cache.h"
#include "ingest/signature_engine.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

class SignatureCache : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) /
              ("signature_cache_" + std::string(info->name()) + std::to_string(::getpid()));
    CatalogParser parser;
    ASSERT_TRUE(
        parser
            .add_causes(
                "[[cause]]\nid=\"env.time_limit\"\nclass=\"environment\"\nseverity=\"info\"\n"
                "remedy=\"none\"\nsummary=\"s\"\nexplanation=\"e\"\nnext_step=\"n\"\ncases=[]\n",
                "c")
            .ok());
    ASSERT_TRUE(
        parser
            .add_signatures(
                "[[signature]]\nid=\"limit\"\nlayer=\"scheduler\"\ncause=\"env.time_limit\"\n"
                "pattern='CANCELLED AT \\S+ DUE TO TIME LIMIT'\nrole=\"root\"\nseverity=\"info\"\n"
                "subject=\"job\"\nsource=\"t\"\n",
                "s")
            .ok());
    auto built = parser.finish();
    ASSERT_TRUE(built.ok()) << built.error().message;
    catalog_ = std::move(built).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Opens the scheduler's signatures, the smallest layer, and proves that the result finds
  /// something.
  void open() {
    const auto database = SignatureDatabase::open(catalog_, {Layer::scheduler}, folder_, counters_);
    ASSERT_TRUE(database.ok()) << database.error().message;
    LineBlock block;
    block.add(
        "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
        0, 0);
    const auto hits = SignatureEngine(database.value(), counters_).scan(block);
    ASSERT_EQ(hits.size(), 1U);
    EXPECT_EQ(hits[0].signature->id, "limit");
  }

  fs::path only_file() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? fs::path() : files[0];
  }

  std::string bytes() const {
    std::ifstream stream(only_file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void overwrite(std::string_view content) const {
    std::ofstream(only_file(), std::ios::binary) << content;
  }

  std::uint64_t count(std::string_view what) const {
    return counters_.get("signature_" + std::string(what) + "_total");
  }

  fs::path folder_;
  Catalog catalog_;
  Counters counters_;
};

TEST_F(SignatureCache, IsWrittenAndReadBack) {
  open();
  EXPECT_EQ(count("compiles"), 1U);
  EXPECT_EQ(count("cache_hits"), 0U);
  open();
  EXPECT_EQ(count("compiles"), 1U);
  EXPECT_EQ(count("cache_hits"), 1U);
  EXPECT_EQ(count("cache_rejected"), 0U);
}

TEST_F(SignatureCache, WithoutAFolderThereIsNone) {
  const auto database = SignatureDatabase::open(catalog_, {Layer::scheduler}, {}, counters_);
  ASSERT_TRUE(database.ok());
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(SignatureCache, EveryDamageIsNoticedAndMended) {
  open();
  const std::string good = bytes();
  std::uint64_t rejected = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    std::string bad = good;
    bad[i * (good.size() - 1) / 23] ^= 0x20;
    overwrite(bad);
    open();
    EXPECT_EQ(count("cache_rejected"), ++rejected) << "byte " << i * (good.size() - 1) / 23;
    EXPECT_EQ(bytes(), good);
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{10}, good.size() / 2, good.size() - 1}) {
    overwrite(std::string_view(good).substr(0, size));
    open();
    EXPECT_EQ(count("cache_rejected"), ++rejected) << size << " bytes";
  }
}

TEST_F(SignatureCache, AFileThatOthersMayWriteIsNotRead) {
  open();
  ASSERT_EQ(::chmod(only_file().c_str(), 0666), 0);
  open();
  EXPECT_EQ(count("cache_rejected"), 1U);
}

TEST_F(SignatureCache, ALinkIsNotFollowed) {
  open();
  const auto file = only_file();
  const auto elsewhere = fs::path(folder_.string() + ".elsewhere");
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  open();
  EXPECT_EQ(count("cache_rejected"), 1U);
  EXPECT_FALSE(fs::is_symlink(file));
  fs::remove(elsewhere);
}

TEST_F(SignatureCache, AnotherKeysFileIsNotTaken) {
  open();
  EXPECT_EQ(read_cache(only_file(), "another key").error().code, ErrorCode::corrupt);
  EXPECT_EQ(read_cache(folder_ / "none", "key").error().code, ErrorCode::not_found);
}

TEST_F(SignatureCache, AFolderThatCannotBeWrittenCostsNothingButTime) {
  fs::create_directories(folder_.parent_path());
  std::ofstream(folder_) << "a file stands where the folder should be";
  open();
  EXPECT_EQ(count("cache_write_failures"), 1U);
}

TEST_F(SignatureCache, LeavesNoTemporaryFiles) {
  open();
  only_file();
}

}  // namespace
}  // namespace faultline
