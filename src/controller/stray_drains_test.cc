#include "controller/stray_drains.h"

#include <gtest/gtest.h>

#include "store/store_fixture.h"

namespace faultline {
namespace {

class StrayDrainsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    store_ = open();
    ASSERT_TRUE(store_->record_intent(action("a-1"), Instant{std::chrono::seconds{1}}).ok());
  }
  void drained(const std::string& name, const std::string& reason) {
    SchedulerNode& node = view_.nodes[name];
    node.name = name;
    node.drained = !reason.empty();
    node.drain_reason = reason;
  }
  std::string look() { return strays_.look(view_, *store_).value_or(""); }

  std::unique_ptr<Store> store_;
  ClusterView view_;
  StrayDrains strays_;
};

TEST_F(StrayDrainsTest, OurDrainThatTheStoreDoesNotKnowIsToldOnce) {
  drained("n2", "faultline:a-1 gpu.test");
  drained("n3", "faultline:a-2 gpu.test");
  const std::string said = look();
  EXPECT_EQ(said.find("1 node is drained by faultline"), 0U) << said;
  EXPECT_NE(said.find("n3 (faultline:a-2 gpu.test)"), std::string::npos) << said;
  EXPECT_EQ(said.find("n2"), std::string::npos) << said;
  EXPECT_NE(said.find("faultline return NODE"), std::string::npos) << "what to do";
  EXPECT_EQ(look(), "");
  drained("n3", "");
  EXPECT_EQ(look(), "");
  drained("n3", "faultline:a-2 gpu.test");
  EXPECT_NE(look(), "") << "it is another drain";
}

TEST_F(StrayDrainsTest, WhatIsKnownOrSomebodyElsesIsNot) {
  drained("n1", "faultline:a-1 gpu.test");
  drained("n2", "bad fan");
  drained("n3", "see faultline:a-9");
  EXPECT_EQ(look(), "");
  view_.nodes["n4"].drain_reason = "faultline:a-9 was it";  // back in service, the reason stayed
  EXPECT_EQ(look(), "");
}

TEST_F(StrayDrainsTest, AStoreThatDoesNotAnswerIsAskedAgain) {
  drained("n3", "faultline:a-2 gpu.test");
  std::filesystem::rename(file_, folder_ / "away");
  EXPECT_EQ(look(), "");
  std::filesystem::rename(folder_ / "away", file_);
  EXPECT_NE(look(), "");
}

TEST_F(StrayDrainsTest, ManyAreCounted) {
  for (int i = 10; i < 60; ++i) drained("n" + std::to_string(i), "faultline:a-2 gpu.test");
  const std::string said = look();
  EXPECT_EQ(said.find("50 nodes are"), 0U) << said;
  EXPECT_NE(said.find("n29 (faultline:a-2 gpu.test), ..."), std::string::npos) << said;
  EXPECT_EQ(said.find("n30"), std::string::npos) << said;
}

}  // namespace
}  // namespace faultline
