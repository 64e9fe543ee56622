// What people ask, as they type it. The controller is a thread that answers with a set text; what a
// real one answers is tested in src/controller.
#include "apps/person_command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "apps/output.h"
#include "apps/repair_command.h"
#include "base/clock.h"
#include "store/person_request.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;

class PersonCommand : public testing::Test {
 protected:
  PersonCommand() {
    std::string pattern = (fs::temp_directory_path() / "person-command-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    file_ = folder_ / "faultline.db";
    store_ = std::move(Store::open(file_, Access::read_write)).value();
  }
  ~PersonCommand() override { fs::remove_all(folder_); }

  /// faultline WORD...; what it printed is in out_ and err_.
  int faultline(std::vector<std::string> words) {
    CLI::App app("", "faultline");
    PersonOptions person;
    QueryOptions query;
    add_person_commands(app, person);
    add_query_commands(app, query);
    add_repair_command(app, query);
    const std::string verb = words.front();
    words.insert(words.begin() + 1, {"--store", file_.string()});
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int code = exit_usage;
    try {
      app.parse(words);
      code = person_main(verb, person, [](const auto&...) {
        return Result<PersonAnswer>(PersonAnswer{AnswerKind::taken, "denied from afar"});
      });
      if (code < 0 && verb == "repair-record") code = repair_main(query);
      if (code < 0) code = query_main(verb, query);
    } catch (const CLI::ParseError& error) {
      app.exit(error);
    }
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  /// A controller that answers whatever is asked with `answer` while `ask` runs.
  int asked(const std::string& answer, const std::vector<std::string>& words) {
    std::atomic<bool> over{false};
    std::thread controller([&] {
      auto store = std::move(Store::open(file_, Access::read_write)).value();
      const SystemClock clock;
      while (!over) {
        const auto requests = store->open_requests();
        for (const auto& request : *requests)
          EXPECT_TRUE(store->answer_request(request.number, parse_answer(answer)).ok());
        clock.sleep(milliseconds{10});
      }
    });
    const int code = faultline(words);
    over = true;
    controller.join();
    return code;
  }

  fs::path folder_, file_;
  std::unique_ptr<Store> store_;
  std::string out_, err_;
};

TEST_F(PersonCommand, TheAnswerDecidesTheExitCode) {
  EXPECT_EQ(asked("approved by ann", {"approve", "d-1"}), exit_ok);
  EXPECT_EQ(asked("refused: acted on already", {"deny", "d-1"}), exit_failed);
  EXPECT_EQ(asked("hold: n3 is not drained", {"return", "n3"}), exit_failed);
  EXPECT_EQ(asked("not found: no decision d-1", {"approve", "d-1"}), exit_not_found);
  EXPECT_EQ(out_, "not found: no decision d-1\n");
}

TEST_F(PersonCommand, AReturnIsAnsweredInWords) {
  EXPECT_EQ(asked("act: asked for by root(0)", {"return", "n3"}), exit_ok);
  EXPECT_EQ(out_, "n3 goes back to the scheduler: asked for by root(0)\n");
  EXPECT_EQ(asked("hold: too many at once", {"return", "n3"}), exit_failed);
  EXPECT_EQ(out_, "n3 is not given back now: too many at once\n");
  EXPECT_EQ(asked("act: asked for by root(0)", {"return", "n3", "--json"}), exit_ok);
  EXPECT_THAT(out_, HasSubstr("\"answer\": \"act: asked for by root(0)\""));
}

TEST_F(PersonCommand, AnotherMachineIsAskedWithCertificatesAlone) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"deny", "d-1", "--controller", "10.1.1.1:9176"},
           {"deny", "d-1", "--controller", "10.1.1.1:9176", "--plain"},
           {"deny", "d-1", "--controller", "10.1.1.1:9176", "--tls-cert", "x", "--tls-key", "x"}}) {
    EXPECT_EQ(faultline(words), exit_usage);
    EXPECT_THAT(err_, HasSubstr("--tls-cert, --tls-key and --tls-ca are needed off loopback"));
  }
  EXPECT_EQ(faultline({"deny", "d-1", "--controller", "127.0.0.1:9176"}), exit_usage);
  EXPECT_THAT(err_, HasSubstr("or --plain on the same machine"));
  EXPECT_EQ(faultline({"deny", "d-1", "--controller", "127.0.0.1:9176", "--plain"}), exit_ok);
  EXPECT_EQ(faultline({"deny", "d-1", "--controller", "10.1.1.1:9176", "--tls-cert", "x",
                       "--tls-key", "x", "--tls-ca", "x"}),
            exit_ok);
  EXPECT_EQ(out_, "denied from afar\n");
}

TEST_F(PersonCommand, ASilenceIsKeptWithWhoAndWhy) {
  ASSERT_EQ(asked("silenced", {"silence", "n3", "--for", "2h", "--reason", "new cable"}), exit_ok);
  EXPECT_EQ(faultline({"silences"}), exit_ok);
  for (const char* part : {"s-1", "node:n3", "new cable", "("}) EXPECT_THAT(out_, HasSubstr(part));
  ASSERT_EQ(asked("ended", {"unsilence", "s-1"}), exit_ok);
  EXPECT_EQ(faultline({"silences"}), exit_ok);
  EXPECT_THAT(out_, testing::Not(HasSubstr("n3")));
  EXPECT_EQ(faultline({"silences", "--all", "--json"}), exit_ok);
  EXPECT_THAT(out_, HasSubstr("\"holds\": false"));
}

TEST_F(PersonCommand, ARepairIsAskedForWithItsNote) {
  EXPECT_EQ(asked("n3 is in repair, since now by ann(1000)", {"repair", "n3", "--note", " RMA 1 "}),
            exit_ok);
  EXPECT_EQ(asked("refused: n3 is in_service", {"repair", "n3"}), exit_failed);
  const auto requests = store_->requests({}).value();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].kind, RequestKind::repair);
  EXPECT_EQ(requests[0].target, "n3 RMA 1");
  EXPECT_THAT(requests[0].who, HasSubstr("("));
  EXPECT_EQ(requests[1].target, "n3");
}

TEST_F(PersonCommand, WhatCannotBeMeantIsRefusedHere) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"silence", "n3", "--for", "8d", "--reason", "x"},
           {"silence", "n3", "--for", "2h", "--reason", ""},
           {"silence", "n3", "--for", "2h", "--reason", "a\x1b"},
           {"silence", "n3 2h", "--for", "2h", "--reason", "x"},
           {"silence", "$(reboot)", "--for", "2h", "--reason", "x"},
           {"silence", "", "--for", "2h", "--reason", "x"},
           {"silence", "rack:", "--for", "2h", "--reason", "x"},
           {"silence", "rack:a b", "--for", "2h", "--reason", "x"},
           {"silence", "nic:n3/", "--for", "2h", "--reason", "x"},
           {"silence", "n3", "--for", "2h more", "--reason", "x"},
           {"silence", "n3", "--for", "2h"},
           {"unsilence", "12"},
           {"unsilence", "s-"},
           {"unsilence", "s-1x"},
           {"return", "n3; reboot"},
           {"return", "../n3"},
           {"return", std::string(1 << 20, 'n')},
           {"repair", "a b"},
           {"repair", "n3", "--note", "a\nb"},
           {"approve", "v-1"},
           {"approve", "d-1'--"}}) {
    EXPECT_EQ(faultline(words), exit_usage) << words[0] << " " << words[1].substr(0, 40);
    EXPECT_FALSE(err_.empty());
    EXPECT_LT(err_.size(), 1000u);
  }
  EXPECT_TRUE(store_->requests({})->empty());
}

TEST_F(PersonCommand, ABadSubjectIsNamedWithWhatWouldBeRight) {
  EXPECT_EQ(faultline({"silence", "a b", "--for", "2h", "--reason", "x"}), exit_usage);
  EXPECT_THAT(err_, HasSubstr("'a b' is nothing that can be silenced"));
  EXPECT_THAT(err_, HasSubstr("for instance n3 or gpu:n3/0000:3b:00.0"));
  EXPECT_EQ(faultline({"return", "a b"}), exit_usage);
  EXPECT_THAT(err_, HasSubstr("'a b' is not a node name"));
  EXPECT_EQ(faultline({"approve", "a b"}), exit_usage);
  EXPECT_THAT(err_, HasSubstr("'a b' is not the id of a decision"));
}

class RepairRecord : public PersonCommand {
 protected:
  void SetUp() override {
    const Instant at = SystemClock().now() - hours{1};
    Event event;
    event.source = EventSource::kernel_log;
    event.subject = Subject::of_gpu("n3", "0000:3b:00.0");
    event.observed_at = event.received_at = at;
    event.signature = "xid.48";
    event.fields = {{"gpu_uuid", "GPU-5ca1ab1e"}, {"gpu_serial", "1650822061234"}};
    event.raw = {"/dev/kmsg", 7, "boot", "NVRM: Xid (PCI:0000:3b:00): 48, uncorrectable"};
    event.id = make_event_id(event);
    ASSERT_TRUE(store_->append_events({event}).ok());
    Verdict verdict;
    verdict.id = "v-1";
    verdict.cause = "gpu.ecc_uncorrectable";
    verdict.subject = event.subject;
    verdict.status = VerdictStatus::confirmed;
    verdict.since = verdict.updated_at = at;
    verdict.evidence = {event.id, "e-retired"};
    ASSERT_TRUE(store_->put_verdict(verdict).ok());
    const auto act = [&](ActionKind kind, const std::string& node, const std::string& detail) {
      Action action;
      action.id = "a-" + std::string(to_text(kind)) + node;
      action.kind = kind;
      action.subject = Subject::of_node(node);
      ASSERT_TRUE(store_->record_intent(action, at + hours{1}).ok());
      ASSERT_TRUE(
          store_->record_outcome({action.id, OutcomeStatus::done, at, detail, {}, false}).ok());
    };
    act(ActionKind::drain_node, "n3", "n3 is drained by faultline");
    act(ActionKind::test_node, "n3", "the test ended with exit code 1: DCGM 3 failed");
    act(ActionKind::drain_node, "n4", "another node");
    ASSERT_TRUE(store_
                    ->put_node_state(
                        {"n3", NodePhase::in_repair, at, "ann(1000)", "v-1", "a-1", {}, "RMA 4711"})
                    .ok());
    ASSERT_TRUE(
        store_->put_node_state({"n5", NodePhase::in_service, at, "ann", "", "", {}, ""}).ok());
  }
};

TEST_F(RepairRecord, HoldsThePartTheFaultTheLinesAndTheTests) {
  for (const char* format : {"", "--json"}) {
    std::vector<std::string> words = {"repair-record", "n3"};
    if (*format != '\0') words.emplace_back(format);
    ASSERT_EQ(faultline(words), exit_ok) << err_;
    for (const char* part : {"n3", "in_repair", "0000:3b:00.0", "GPU-5ca1ab1e", "1650822061234",
                             "RMA 4711", "gpu.ecc_uncorrectable", "NVRM: Xid (PCI:0000:3b:00): 48",
                             "n3 is drained by faultline", "DCGM 3 failed"})
      EXPECT_THAT(out_, HasSubstr(part)) << format;
    EXPECT_THAT(out_, testing::Not(HasSubstr("another node")));
  }
  EXPECT_THAT(out_, HasSubstr("\"evidence_retired\": 1"));
}

TEST_F(RepairRecord, KeepsThePersonsNotesWhenTheNodeIsBack) {
  const Instant at = SystemClock().now();
  const auto put = [&](NodePhase phase, const std::string& by, const std::string& note) {
    ASSERT_TRUE(store_->put_node_state({"n3", phase, at, by, "v-1", "a-1", {}, note}).ok());
  };
  put(NodePhase::in_repair, "ann(1000)", "board is here");
  put(NodePhase::in_repair, "ann(1000)", "board is here");
  put(NodePhase::returned, "faultline", "n3 is resumed");
  ASSERT_EQ(faultline({"repair-record", "n3"}), exit_ok) << err_;
  EXPECT_THAT(out_, HasSubstr("note     RMA 4711  (in repair since "));
  EXPECT_THAT(out_, HasSubstr("note     board is here  (in repair since "));
  EXPECT_EQ(out_.find("board is here"), out_.rfind("board is here")) << "noted once";
  EXPECT_THAT(out_, HasSubstr("by ann(1000)"));
  EXPECT_THAT(out_, HasSubstr("\n         n3 is resumed\n"));
  ASSERT_EQ(faultline({"repair-record", "n3", "--json"}), exit_ok);
  EXPECT_THAT(out_, HasSubstr("\"note\": \"RMA 4711\""));
}

TEST_F(RepairRecord, ANoteIsAPersonsAndOfThisFault) {
  const Instant at = SystemClock().now();
  // A repair without a note has that of the drain; a failed test is no person; the next fault is
  // another repair.
  for (const NodeState& state : std::vector<NodeState>{
           {"n3", NodePhase::drained, at, "faultline", "v-1", "a-1", {}, "n3 is drained"},
           {"n3", NodePhase::in_repair, at, "bob(1001)", "v-1", "a-1", {}, "n3 is drained"},
           {"n3", NodePhase::in_repair, at, "faultline", "v-1", "a-1", {}, "exit code 1"}}) {
    ASSERT_TRUE(store_->put_node_state(state).ok());
  }
  ASSERT_EQ(faultline({"repair-record", "n3"}), exit_ok) << err_;
  EXPECT_THAT(out_, testing::Not(HasSubstr("note     n3 is drained")));
  EXPECT_THAT(out_, testing::Not(HasSubstr("note     exit code 1")));
  Verdict next = store_->verdict("v-1").value().value();
  next.id = "v-2";
  ASSERT_TRUE(store_->put_verdict(next).ok());
  ASSERT_TRUE(
      store_->put_node_state({"n3", NodePhase::drained, at, "faultline", "v-2", "a-2", {}, "again"})
          .ok());
  ASSERT_EQ(faultline({"repair-record", "n3"}), exit_ok) << err_;
  EXPECT_THAT(out_, testing::Not(HasSubstr("RMA 4711")));
}

TEST_F(RepairRecord, IsNotFoundForANodeWithNothingAgainstIt) {
  for (const char* node : {"n5", "n99"}) {
    EXPECT_EQ(faultline({"repair-record", node}), exit_not_found);
    EXPECT_THAT(err_, HasSubstr("`faultline nodes`"));
  }
  EXPECT_EQ(faultline({"repair-record", "n3;reboot"}), exit_usage);
}

}  // namespace
}  // namespace faultline
