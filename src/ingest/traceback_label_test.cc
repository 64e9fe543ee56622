#include "ingest/traceback_label.h"

#include <gtest/gtest.h>

#include <string>

namespace faultline {
namespace {

const std::string first_line = "Traceback (most recent call last):";

std::string behind_label(std::string_view label, std::string_view body) {
  TracebackLabels labels;
  EXPECT_EQ(labels.take(std::string(label) + first_line), 0U);
  return std::string(body.substr(labels.take(body)));
}

TEST(TracebackLabel, StandsBeforeTheLinesThatFollow) {
  const std::string error = "KeyError: 'labels'";
  for (const std::string label : {"- ERROR - ", "[trainer0|3]:", "(node9) ", "worker-3  | ",
                                  "[Rank 3] ", "E0 a.py:12] ", "INFO: "})
    EXPECT_EQ(behind_label(label, label + error), error) << label;
  EXPECT_EQ(behind_label("[Rank 9] ", "[Rank 10] " + error), error) << "another number";
  EXPECT_EQ(behind_label("w-1| ", "w-1|   File \"a.py\""), "  File \"a.py\"") << "indented";
}

TEST(TracebackLabel, WhatIsNoneStays) {
  const std::string error = "KeyError: 'labels'";
  for (const std::string text : {"", "    ", "> ", "  traceback : ", "DEBUG: ", "[Warning] ",
                                 "RuntimeError: ", "Exception in thread 3: "})
    EXPECT_EQ(behind_label(text, text + error), text + error) << text;
  EXPECT_EQ(behind_label("[Rank 3] ", "[Rank x] " + error), "[Rank x] " + error);
  const std::string long_label = std::string(161, 'x');
  EXPECT_EQ(behind_label(long_label, long_label + error), long_label + error);
  TracebackLabels labels;
  labels.take("w-1| " + first_line + " and more");
  EXPECT_EQ(labels.take("w-1| " + error), 0U) << "it does not end the line";
}

TEST(TracebackLabel, KeepsTheLastEight) {
  TracebackLabels labels;
  for (char c = 'a'; c <= 'i'; ++c) labels.take(std::string(1, c) + "| " + first_line);
  EXPECT_EQ(labels.take("a| x"), 0U);
  EXPECT_EQ(labels.take("b| x"), 3U);
  EXPECT_EQ(labels.take("i| x"), 3U);
}

}  // namespace
}  // namespace faultline
