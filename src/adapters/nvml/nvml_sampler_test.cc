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
/// it what to do. DRIVER is the version that it plays: 570 has all that is asked for, under the
/// newer of two names; 525 has the older name and does not know the recovery action; 418 lacks
/// whatever can be lacking.
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
#if DRIVER > 418
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* degrees) {
  *degrees = sensor == 0 ? 40 + (unsigned long)device : 99;
  return 0;
}
int nvmlDeviceGetSerial(void* device, char* text, unsigned size) {
  snprintf(text, size, "SN-%lu", (unsigned long)device);
  return 0;
}
#if DRIVER >= 535
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
#else
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
#endif
  *reasons = (unsigned long)device == 1 ? 0x48 : 0;
  return 0;
}
typedef union {
  double d; int si; unsigned ui; unsigned long ul; unsigned long long ull; signed long long sll;
  unsigned short us;
} value_t;
typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  enum { as_double, as_uint, as_ulong, as_ulonglong, as_longlong, as_int, as_ushort } type;
  int result;
  value_t value;
} field_t;
/* The first GPU wants what the state says, 10 for none and so on; the second cannot be asked. */
int nvmlDeviceGetFieldValues(void* device, int count, field_t* fields) {
  const int now = state();
  for (int i = 0; i < count; ++i) {
    const int known = DRIVER >= 570 && fields[i].field == 230 && fields[i].scope == 0;
    fields[i].timestamp = fields[i].latency = -1;
    fields[i].type = as_uint;
    memset(&fields[i].value, 0xaa, sizeof fields[i].value);
    fields[i].value.ui = now >= 10 && now < 20 ? now - 10 : 1;
    if (now != 22) fields[i].result = !known ? 2 : (unsigned long)device == 1 ? 0 : 3;
    if (now == 20) fields[i].type = as_double;
    if (now >= 30) {
      fields[i].type = now - 30;
      if (now == 30 + as_ulong) fields[i].value.ul = 4;
      if (now == 30 + as_ulonglong) fields[i].value.ull = 4;
      if (now == 30 + as_longlong) fields[i].value.sll = 4;
      if (now == 30 + as_int) fields[i].value.si = 4;
      if (now == 30 + as_ushort) fields[i].value.us = 4;
    }
  }
  return now == 21 ? 15 : 0;
}
#endif
const char* nvmlErrorString(int result) { return result == 9 ? "Driver Not Loaded" : "Unknown Error"; }
)c";

class NvmlTest : public testing::Test {
 protected:
  NvmlTest() {
    std::string pattern = (fs::temp_directory_path() / "nvml-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(folder_ / "fake.c") << fake_source;
    built_ = build("570");
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
  [[nodiscard]] bool build(const std::string& driver) const {
    const auto made =
        run_process({"cc", "-shared", "-fPIC", "-DDRIVER=" + driver, "-o",
                     (folder_ / "libfake.so").string(), (folder_ / "fake.c").string()},
                    {});
    return made.ok() && made->exit_code == 0;
  }
  void state(int value) const { std::ofstream(folder_ / "state") << value; }

  bool built_ = false;
  fs::path folder_;
  ManualClock clock_{Instant{seconds{1'800'000'000}}};
  NvmlSampler sampler_{nvml_child_command(), clock_};
};

/// What every driver has: with each of them it must come through.
void expect_the_oldest_readings(const GpuSample& gpu) {
  EXPECT_EQ(gpu.pci_address, "00000000:3B:00.0");
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_EQ(gpu.index, 0);
  EXPECT_EQ(gpu.ecc_uncorrected_total, 7U);
  EXPECT_EQ(gpu.ecc_corrected_total, 3U);
  EXPECT_EQ(gpu.remapped_rows_uncorrected, 1U);
  EXPECT_EQ(gpu.remap_failed, true);
  EXPECT_EQ(gpu.remap_pending, false);
}

TEST_F(NvmlTest, ReadsAllOfEveryGpu) {
  state(11);
  const auto samples = sampler_.sample(seconds{30});
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  ASSERT_EQ(samples->size(), 2U);
  const GpuSample& gpu = samples.value()[0];
  expect_the_oldest_readings(gpu);
  EXPECT_EQ(gpu.serial, "SN-1");
  EXPECT_EQ(gpu.temperature_c, 41);
  EXPECT_EQ(gpu.throttle_reasons, 0x48U);
  EXPECT_EQ(gpu.recovery_action, 1);
  const GpuSample& other = samples.value()[1];
  EXPECT_EQ(other.serial, "SN-2");
  EXPECT_EQ(other.temperature_c, 42);
  EXPECT_EQ(other.throttle_reasons, 0U);
  EXPECT_FALSE(other.recovery_action) << "its own result says that it is not supported";
  EXPECT_TRUE(sampler_.sample(seconds{30}).ok());
}

TEST_F(NvmlTest, OlderNamesAreTakenAndAnUnknownFieldIsNotKnown) {
  ASSERT_TRUE(build("525"));
  state(11);
  const auto samples = sampler_.sample(seconds{30});
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  ASSERT_EQ(samples->size(), 2U);
  const GpuSample& gpu = samples.value()[0];
  expect_the_oldest_readings(gpu);
  EXPECT_EQ(gpu.serial, "SN-1");
  EXPECT_EQ(gpu.temperature_c, 41);
  EXPECT_EQ(gpu.throttle_reasons, 0x48U);
  EXPECT_FALSE(gpu.recovery_action);
}

TEST_F(NvmlTest, WhatTheDriverDoesNotOfferIsLeftOutAlone) {
  ASSERT_TRUE(build("418"));
  const auto samples = sampler_.sample(seconds{30});
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  ASSERT_EQ(samples->size(), 2U);
  const GpuSample& gpu = samples.value()[0];
  expect_the_oldest_readings(gpu);
  EXPECT_EQ(gpu.serial, "");
  EXPECT_FALSE(gpu.temperature_c);
  EXPECT_FALSE(gpu.throttle_reasons);
  EXPECT_FALSE(gpu.recovery_action);
}

TEST_F(NvmlTest, RecoveryActionIsReadAsTheDriverTypesIt) {
  const auto action_in = [this](int what) {
    state(what);
    const auto samples = sampler_.sample(seconds{30});
    return samples.ok() && !samples->empty() ? samples.value()[0].recovery_action : std::nullopt;
  };
  for (int action = 0; action <= 5; ++action) EXPECT_EQ(action_in(10 + action), action);
  EXPECT_FALSE(action_in(20)) << "no whole number";
  EXPECT_FALSE(action_in(21)) << "the call failed, whatever the field says";
  EXPECT_FALSE(action_in(22)) << "the driver did not say that it worked";
  for (int type = 2; type <= 6; ++type) EXPECT_EQ(action_in(30 + type), 4) << type;
  EXPECT_FALSE(action_in(37)) << "a type of tomorrow";
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
