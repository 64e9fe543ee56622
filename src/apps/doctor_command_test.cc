#include "apps/doctor_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "adapters/pki/certificate.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("faultline-doctor-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string certificate(Instant from, Instant until) {
    const auto pair = make_authority("test", from, until);
    EXPECT_TRUE(pair.ok());
    const auto file = folder_ / "a.crt";
    std::ofstream(file) << pair->certificate;
    return file.string();
  }

  fs::path folder_;
  Instant now_ = Instant{std::chrono::sys_days{std::chrono::year{2026} / 11 / 29}};
};

TEST_F(Doctor, TheShippedCatalogIsWell) {
  EXPECT_EQ(check_catalog(FAULTLINE_SOURCE_CATALOG_DIR).state, CheckState::ok);
  const auto missing = check_catalog((folder_ / "none").string());
  EXPECT_EQ(missing.state, CheckState::failed);
  EXPECT_FALSE(missing.remedy.empty());
}

TEST_F(Doctor, AnEndedCertificateFailsAndOneAboutToEndWarns) {
  EXPECT_EQ(
      check_certificate("c", certificate(now_ - hours{48}, now_ + hours{24 * 31}), now_).state,
      CheckState::ok);
  EXPECT_EQ(
      check_certificate("c", certificate(now_ - hours{48}, now_ + hours{24 * 29}), now_).state,
      CheckState::warning);
  EXPECT_EQ(check_certificate("c", certificate(now_ - hours{48}, now_), now_).state,
            CheckState::failed);
  EXPECT_EQ(check_certificate("c", certificate(now_ + hours{1}, now_ + hours{99}), now_).state,
            CheckState::failed);
  EXPECT_EQ(check_certificate("c", "", now_).state, CheckState::failed);
}

TEST_F(Doctor, AStoreThatIsDamagedFailsAndAMissingOneOnlyWarns) {
  EXPECT_EQ(check_store((folder_ / "none.db").string()).state, CheckState::warning);
  std::ofstream(folder_ / "junk.db") << std::string(5000, 'x');
  EXPECT_EQ(check_store((folder_ / "junk.db").string()).state, CheckState::failed);
}

TEST_F(Doctor, AKernelLogIsThereOrSaysWhatToDo) {
  std::ofstream(folder_ / "kern.log") << "";
  EXPECT_EQ(check_kernel_log((folder_ / "kern.log").string()).state, CheckState::ok);
  EXPECT_EQ(check_kernel_log((folder_ / "none.log").string()).state, CheckState::failed);
}

TEST_F(Doctor, AFolderMustExist) {
  EXPECT_NE(check_writable_folder("f", folder_.string()).state, CheckState::failed);
  EXPECT_EQ(check_writable_folder("f", (folder_ / "none").string()).state, CheckState::failed);
}

}  // namespace
}  // namespace faultline
