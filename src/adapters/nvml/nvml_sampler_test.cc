#include "adapters/nvml/nvml_sampler.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "adapters/nvml/nvml_child.h"
#include "adapters/process/process.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// This test program is its own child: started with this word it is the child and no test.
__attribute__((constructor)) void become_child(int count, char** arguments, char**) {
  if (count != 2 || std::strcmp(arguments[1], "nvml-child") != 0) return;
  const std::ios_base::Init streams;  // the program's own come up after us
  ::_exit(nvml_child_main());
}

/// A driver's library of our own, made by the C compiler. FAKE_NVML_STATE names a file that tells
/// it what to do.
constexpr const char* fake_source = R"c(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int state(void) {
  int value = 0;
  FILE* file = fopen(getenv("FAKE_NVML_STATE"), "r");
  if (file) { if (fscanf(file, "%d", &value) != 1) value = 0; fclose(file); }
  return value;
}
typedef struct { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; } pci_t;
int nvmlInit_v2(void) { return state() == 9 ? 9 : 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  if (state() == 1) for (;;) sleep(1000);
  if (state() == 2) abort();
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(unsigned long)(index + 1);
  return state() == 3 && index == 1 ? 15 : 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, pci_t* pci) {
  memset(pci, 0, sizeof *pci);
  sprintf(pci->bus_id, "00000000:%02lX:00.0", 0x3aUL + (unsigned long)device);
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  snprintf(text, size, "GPU-%lu", (unsigned long)device);
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* value) {
  (void)device; (void)counter;
  *value = type == 1 ? 7 : 3;
  return 0;
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  (void)device;
  *corrected = 0; *uncorrected = 1; *pending = 0; *failed = 1;
  return 0;
}
const char* nvmlErrorString(int result) { return result == 9 ? "Driver Not Loaded" : "Unknown Error"; }
)c";

class NvmlTest : public testing::Test {
 protected:
  NvmlTest() {
    std::string pattern = (fs::temp_directory_path() / "nvml-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(folder_ / "fake.c") << fake_source;
    const auto made =
        run_process({"cc", "-shared", "-fPIC", "-o", (folder_ / "libfake.so").string(),
                     (folder_ / "fake.c").string()},
                    {});
    built_ = made.ok() && made->exit_code == 0;
    ::setenv("FAULTLINE_NVML_LIBRARY", (folder_ / "libfake.so").c_str(), 1);
    ::setenv("FAKE_NVML_STATE", (folder_ / "state").c_str(), 1);
  }
  ~NvmlTest() override {
    ::unsetenv("FAULTLINE_NVML_LIBRARY");
    fs::remove_all(folder_);
  }
  void SetUp() override {
    if (!built_) GTEST_SKIP() << "no C compiler";
  }
  void state(int value) const { std::ofstream(folder_ / "state") << value; }

  bool built_ = false;
  fs::path folder_;
  ManualClock clock_{Instant{seconds{1'800'000'000}}};
  NvmlSampler sampler_{nvml_child_command(), clock_};
};

TEST_F(NvmlTest, ReadsEveryGpuAndLeavesOutWhatTheDriverDoesNotOffer) {
  const auto samples = sampler_.sample(seconds{30});
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  ASSERT_EQ(samples->size(), 2U);
  const GpuSample& gpu = samples.value()[0];
  EXPECT_EQ(gpu.pci_address, "00000000:3B:00.0");
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_EQ(gpu.ecc_uncorrected_total, 7U);
  EXPECT_EQ(gpu.ecc_corrected_total, 3U);
  EXPECT_EQ(gpu.remap_failed, true);
  EXPECT_EQ(gpu.remap_pending, false);
  EXPECT_FALSE(gpu.temperature_c);
  EXPECT_FALSE(gpu.throttle_reasons);
  EXPECT_TRUE(sampler_.sample(seconds{30}).ok());
}

TEST_F(NvmlTest, GpuThatCannotBeAskedIsMissing) {
  state(3);
  EXPECT_EQ(sampler_.sample(seconds{30})->size(), 1U);
}

TEST_F(NvmlTest, HangingDriverIsGivenUpAndTriedAgainAfterAPause) {
  state(1);
  EXPECT_EQ(sampler_.sample(milliseconds{50}).error().code, ErrorCode::unavailable) << "not yet";
  clock_.advance(seconds{16});
  EXPECT_EQ(sampler_.sample(milliseconds{50}).error().code, ErrorCode::deadline_exceeded);
  state(0);
  EXPECT_EQ(sampler_.sample(seconds{30}).error().code, ErrorCode::unavailable) << "pause";
  clock_.advance(seconds{11});
  EXPECT_TRUE(sampler_.sample(seconds{30}).ok());
}

TEST_F(NvmlTest, CrashingDriverIsAnErrorOfTheChildAlone) {
  state(2);
  EXPECT_EQ(sampler_.sample(seconds{30}).error().code, ErrorCode::unavailable);
  state(0);
  clock_.advance(seconds{11});
  EXPECT_TRUE(sampler_.sample(seconds{30}).ok());
}

TEST_F(NvmlTest, WithoutALibraryOrADriverThereIsNone) {
  ::setenv("FAULTLINE_NVML_LIBRARY", "/nonexistent.so", 1);
  EXPECT_EQ(sampler_.sample(seconds{30}).error().code, ErrorCode::not_found);
  ::setenv("FAULTLINE_NVML_LIBRARY", (folder_ / "libfake.so").c_str(), 1);
  state(9);
  EXPECT_EQ(sampler_.sample(seconds{30}).error().code, ErrorCode::not_found);
  state(0);
  EXPECT_TRUE(sampler_.sample(seconds{30}).ok()) << "the driver came";
}

TEST(NvmlLine, RefusesWhatIsNoAnswer) {
  for (const char* line : {"", "null", "[]", "{}", "{\"gpus\":7}"})
    EXPECT_FALSE(parse_nvml_line(line).ok()) << line;
  EXPECT_TRUE(parse_nvml_line("{\"gpus\":[7,{\"pci\":3}]}").ok());
  EXPECT_EQ(parse_nvml_line("{\"error\":\"x\",\"absent\":true}").error().code,
            ErrorCode::not_found);
}

}  // namespace
}  // namespace faultline
