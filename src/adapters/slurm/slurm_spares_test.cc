#include "adapters/slurm/slurm_spares.h"

#include <gmock/gmock.h>

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Two switches of four nodes; n1 broke, n2 to n4 are what the job had left, n5 to n8 are the
/// site's spares.
class SlurmSpares : public testing::Test {
 protected:
  SlurmSpares() {
    job_.number = job_.id = "7";
    job_.node_count = 4;
    job_.partitions = "train,long";
    job_.excluded = {"n1"};
    for (int i = 1; i <= 8; ++i) {
      SlurmNode one;
      one.node.name = "n" + std::to_string(i);
      one.node.idle = i > 1;
      one.node.partitions = {"train"};
      pool_.nodes.push_back(one);
      pool_.leaf_switch[one.node.name] = i % 2 == 1 ? "odd" : "even";
    }
    pool_.reservations = {{"spares", {"n5", "n6", "n7", "n8"}, true, false}};
  }
  std::vector<std::string> taken() const { return spares_to_take(job_, pool_, "spares"); }

  SlurmJob job_;
  SlurmPool pool_;
};

TEST_F(SlurmSpares, OneUnderTheLostNodesSwitchIsTaken) {
  EXPECT_THAT(taken(), ElementsAre("n5"));
  pool_.nodes[4].node.idle = false;
  EXPECT_THAT(taken(), ElementsAre("n7"));
  pool_.leaf_switch.clear();
  EXPECT_THAT(taken(), ElementsAre("n6")) << "without a topology the first by name";
}

TEST_F(SlurmSpares, TheRestStaysInTheReservation) {
  EXPECT_THAT(spares_left(pool_, "spares", {"n5", "n7"}), ElementsAre("n6", "n8"));
}

TEST_F(SlurmSpares, NoneWhileThereAreEnoughWithout) {
  job_.node_count = 3;
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(SlurmSpares, AllThatIsLackingOrNone) {
  job_.node_count = 6;
  EXPECT_THAT(taken(), ElementsAre("n5", "n7", "n6"));
  job_.node_count = 7;
  EXPECT_THAT(taken(), IsEmpty()) << "Slurm keeps no empty reservation";
  job_.node_count = 100;
  EXPECT_THAT(taken(), IsEmpty()) << "the job would wait all the same";
}

TEST_F(SlurmSpares, OnlyWhatTheJobMayUse) {
  job_.partitions = "long";
  EXPECT_THAT(taken(), IsEmpty());
  job_.partitions = "train";
  job_.excluded.push_back("n5");
  EXPECT_THAT(taken(), ElementsAre("n7"));
  pool_.reservations.push_back({"class", {"n7"}, true, false});
  EXPECT_THAT(taken(), ElementsAre("n6")) << "n7 is in another reservation too";
}

TEST_F(SlurmSpares, WhatAnotherReservationHoldsIsNotUsable) {
  job_.node_count = 3;
  pool_.reservations.push_back({"class", {"n2"}, true, false});
  EXPECT_THAT(taken(), ElementsAre("n5"));
  pool_.reservations.back().active = false;
  EXPECT_THAT(taken(), IsEmpty()) << "one that has not begun holds nothing yet";
}

TEST_F(SlurmSpares, NoReservationOrOneForMaintenanceGivesNothing) {
  pool_.reservations[0].maintenance = true;
  EXPECT_THAT(taken(), IsEmpty());
  pool_.reservations.clear();
  EXPECT_THAT(taken(), IsEmpty());
}

/// The same nodes without a reservation: n1 broke, n2 to n4 are to be kept.
class SlurmPlacement : public SlurmSpares {
 protected:
  SlurmPlacement() {
    pool_.reservations.clear();
    act_.nodes = {"n1"};
    act_.keep = {"n2", "n3", "n4"};
  }
  std::vector<std::string> placed() const { return placement(job_, pool_, act_, "spare"); }
  SlurmNode& node(int number) { return pool_.nodes[static_cast<std::size_t>(number) - 1]; }

  Action act_;
};

TEST_F(SlurmPlacement, KeepsTheNodesAndTakesASpareUnderTheLostOnesSwitch) {
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n5"));
  node(5).node.idle = false;
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n7"));
  node(7).node.idle = false;
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n6")) << "better than none";
}

TEST_F(SlurmPlacement, WithoutATopologyTheSparesOfTheSiteComeFirst) {
  pool_.leaf_switch.clear();
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n5"));
  node(8).features = {"ib", "spare"};
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n8"));
  act_.keep = {"n3"};
  EXPECT_THAT(placed(), ElementsAre("n3", "n8", "n2", "n4")) << "two were lost besides n1";
}

TEST_F(SlurmPlacement, AllThatIsToBeKeptOrNothing) {
  node(3).node.idle = false;
  EXPECT_THAT(placed(), IsEmpty()) << "n3 is somebody else's by now";
  node(3).node.idle = true;
  act_.keep.push_back("n99");
  EXPECT_THAT(placed(), IsEmpty()) << "Slurm does not know n99";
  act_.keep.clear();
  EXPECT_THAT(placed(), IsEmpty()) << "nothing is to be kept";
}

TEST_F(SlurmPlacement, AsManyAsTheJobNeedsOrNothing) {
  job_.node_count = 7;
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n5", "n7", "n6", "n8"));
  job_.node_count = 8;
  EXPECT_THAT(placed(), IsEmpty());
  job_.node_count = 3;
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4"));
  job_.node_count = 2;
  EXPECT_THAT(placed(), IsEmpty()) << "it needs fewer now";
  job_.node_count = 0;
  EXPECT_THAT(placed(), IsEmpty()) << "Slurm does not say how many";
}

TEST_F(SlurmPlacement, OnlyWhatTheJobMayUse) {
  job_.excluded.push_back("n5");
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n7"));
  node(7).node.partitions = {"debug"};
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n6"));
  pool_.reservations = {{"class", {"n6"}, true, false}};
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n8"));
  pool_.reservations[0].active = false;
  EXPECT_THAT(placed(), ElementsAre("n2", "n3", "n4", "n6")) << "it holds nothing yet";
  pool_.reservations = {{"class", {"n3"}, true, false}};
  EXPECT_THAT(placed(), IsEmpty());
}

}  // namespace
}  // namespace faultline
