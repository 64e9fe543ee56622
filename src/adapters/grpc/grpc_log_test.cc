#include "adapters/grpc/grpc_log.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(GrpcLog, WhatIsNoHandshakeAndHasNoReasonSaysSo) {
  EXPECT_EQ(failed_handshake("Handshake failed with fatal error SSL_ERROR_SSL: error:0A000086:SSL "
                             "routines::certificate verify failed."),
            "certificate verify failed");
  EXPECT_EQ(failed_handshake("Failed accept4: Too many open files"), "");
  EXPECT_EQ(system_reason("{errno:98, os_error:\"Address already in use\", syscall:\"bind\"}"),
            "Address already in use");
  EXPECT_EQ(system_reason("no os_error here"), "");
  EXPECT_EQ(system_reason("os_error:\"cut"), "cut");
}

}  // namespace
}  // namespace faultline
