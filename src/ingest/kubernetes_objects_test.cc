#include "ingest/kubernetes_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ingest/decoder_fixture.h"
#include "tests/fixtures/event_lines.h"

namespace faultline {
namespace {

class KubernetesObjects : public DecoderTest {
 protected:
  std::string lines_of(const std::string& document) {
    Origin origin;
    origin.source = EventSource::scheduler;
    origin.path = "kubectl.txt";
    const auto decode_document =
        document.starts_with('{') ? decode_kubernetes_json : decode_kubernetes_yaml;
    auto events = decode_document(document, origin, counters_, database(EventSource::scheduler));
    error_ = events ? "" : events.error().message;
    events_ = events ? std::move(events).value() : std::vector<Event>{};
    return event_lines(events_, {"state", "down", "drained", "available", "reason", "nodes",
                                 "exit_code", "signal", "conditions", "pod", "host"});
  }
  /// The lines of a list of objects.
  std::string lines_of_items(const std::string& items) {
    return lines_of(R"({"apiVersion": "v1", "kind": "List", "items": [)" + items + "]}");
  }
  std::string error_;
  std::vector<Event> events_;
};

std::string node(const std::string& name, const std::string& conditions,
                 const std::string& spec = "{}") {
  return R"({"kind": "Node", "metadata": {"name": ")" + name + R"("}, "spec": )" + spec +
         R"(, "status": {"conditions": [)" + conditions + "]}}";
}

std::string condition(const std::string& type, const std::string& status,
                      const std::string& reason = "", const std::string& message = "") {
  return R"({"type": ")" + type + R"(", "status": ")" + status + R"(", "reason": ")" + reason +
         R"(", "message": ")" + message + R"(", "lastTransitionTime": "2026-11-29T21:18:32Z"})";
}

const std::string ready = condition("Ready", "True", "KubeletReady", "kubelet is posting");

/// A pod of the PyTorchJob "train" on a node of its own, with one GPU.
std::string pod(int rank, const std::string& status, const std::string& created = "21:00:00",
                const std::string& gpus = "1") {
  const std::string number = std::to_string(rank);
  return R"({"kind": "Pod", "metadata": {"name": "train-worker-)" + number + "-" +
         created.substr(0, 2) + created.substr(3, 2) + R"(", "creationTimestamp": "2026-11-29T)" +
         created + R"(Z",
    "labels": {"training.kubeflow.org/replica-type": "worker",
               "training.kubeflow.org/replica-index": ")" +
         number + R"("},
    "ownerReferences": [{"kind": "PyTorchJob", "name": "train", "controller": true}]},
    "spec": {"nodeName": "n)" +
         number + R"(", "containers": [{"name": "pytorch",
      "env": [{"name": "RANK", "value": ")" +
         number + R"("}], "resources": {"limits": {"nvidia.com/gpu": ")" + gpus + R"("}}}]},
    "status": {"startTime": "2026-11-29T)" +
         created + R"(Z", )" + status + "}}";
}

std::string terminated(int code, const std::string& reason, const std::string& at = "21:18:32") {
  return R"("containerStatuses": [{"name": "pytorch", "state": {"terminated": {"exitCode": )" +
         std::to_string(code) + R"(, "reason": ")" + reason + R"(", "finishedAt": "2026-11-29T)" +
         at + R"(Z"}}}])";
}

const std::string running =
    R"("phase": "Running", "containerStatuses": [{"name": "pytorch", "state": {"running": {}}}])";

TEST_F(KubernetesObjects, NodesAndTheirConditions) {
  EXPECT_EQ(
      lines_of_items(
          node("n1", ready + "," + condition("DiskPressure", "False", "KubeletHasNoDiskPressure")) +
          "," +
          node("n2", condition("Ready", "Unknown", "NodeStatusUnknown",
                               "Kubelet stopped posting node status.") +
                         "," + condition("DiskPressure", "Unknown", "NodeStatusUnknown")) +
          "," + node("n3", ready, R"({"unschedulable": true})") + "," +
          node("n4", ready + "," +
                         condition("GpuUnhealthy", "True", "XidError", "GPU 3 fell off the bus"))),
      "2026-11-29T21:18:32 node_seen node:n1 available=true down=false drained=false state=Ready\n"
      "2026-11-29T21:18:32 node_seen node:n2 available=false conditions=Ready down=true "
      "drained=false reason=NodeStatusUnknown: Kubelet stopped posting node status. "
      "state=NotReady\n"
      "2026-11-29T21:18:32 k8s.node.not_ready node:n2 host=n2\n"
      "2026-11-29T21:18:32 node_seen node:n3 available=false down=false drained=true "
      "state=Ready,SchedulingDisabled\n"
      "2026-11-29T21:18:32 node_seen node:n4 available=false conditions=GpuUnhealthy down=false "
      "drained=false reason=GpuUnhealthy XidError: GPU 3 fell off the bus state=Ready\n"
      "2026-11-29T21:18:32 k8s.node.gpu node:n4 host=n4\n");
  EXPECT_EQ(events_.back().raw.text,
            "Warning GpuUnhealthy node/n4 XidError: GPU 3 fell off the bus");
  EXPECT_EQ(events_.back().source, EventSource::scheduler);
}

TEST_F(KubernetesObjects, ConditionsOfWhichTrueIsGood) {
  EXPECT_EQ(lines_of_items(node("n1", ready + "," + condition("EtcdIsVoter", "True") + "," +
                                          condition("KernelReady", "True"))),
            "2026-11-29T21:18:32 node_seen node:n1 available=true down=false drained=false "
            "state=Ready\n");
  lines_of_items(node(
      "n1",
      ready + "," + condition("AcceleratedHardwareReady", "False", "NvidiaXID79Error", "lost")));
  EXPECT_EQ(events_[0].field("conditions"), "AcceleratedHardwareReady");
}

TEST_F(KubernetesObjects, AContainerThatFailedEndsItsRun) {
  EXPECT_EQ(lines_of_items(pod(0, R"("phase": "Failed", )" + terminated(1, "Error", "21:18:40")) +
                           "," + pod(1, R"("phase": "Failed", )" + terminated(137, "OOMKilled")) +
                           "," + pod(2, running)),
            "2026-11-29T21:00:00 attempt_started attempt:train#0 exit_code=137 nodes=n0,n1,n2 "
            "state=out_of_memory\n"
            "2026-11-29T21:18:32 attempt_ended attempt:train#0 exit_code=137 nodes=n0,n1,n2 "
            "state=out_of_memory\n"
            "2026-11-29T21:18:40 rank_exited rank:train#0/0@n0 exit_code=1 host=n0 "
            "pod=train-worker-0-2100 reason=Error\n"
            "2026-11-29T21:18:32 rank_exited rank:train#0/1@n1 exit_code=137 host=n1 "
            "pod=train-worker-1-2100 reason=OOMKilled\n"
            "2026-11-29T21:18:32 k8s.pod.oom job:train host=n1 pod=train-worker-1-2100\n");
  EXPECT_EQ(events_.back().attempt, (AttemptId{"train", 0}));
  EXPECT_EQ(events_[3].raw.text,
            "pod/train-worker-1-2100 container pytorch OOMKilled exit code 137 n1");
}

TEST_F(KubernetesObjects, APodOfManyGpusIsNoRank) {
  lines_of_items(pod(1, R"("phase": "Failed", )" + terminated(1, "Error"), "21:00:00", "8"));
  ASSERT_EQ(events_.size(), 3U);
  EXPECT_EQ(events_[2].kind, EventKind::rank_exited);
  EXPECT_EQ(events_[2].subject.text(), "attempt:train#0");
}

TEST_F(KubernetesObjects, AJobThatIsDoneAndOneThatRuns) {
  EXPECT_EQ(
      lines_of_items(pod(0, R"("phase": "Succeeded", )" + terminated(0, "Completed", "21:18:00")) +
                     "," + pod(1, R"("phase": "Succeeded", )" + terminated(0, "Completed"))),
      "2026-11-29T21:00:00 attempt_started attempt:train#0 nodes=n0,n1 state=completed\n"
      "2026-11-29T21:18:32 attempt_ended attempt:train#0 nodes=n0,n1 state=completed\n"
      "2026-11-29T21:18:00 rank_exited rank:train#0/0@n0 exit_code=0 host=n0 "
      "pod=train-worker-0-2100 reason=Completed\n"
      "2026-11-29T21:18:32 rank_exited rank:train#0/1@n1 exit_code=0 host=n1 "
      "pod=train-worker-1-2100 reason=Completed\n");
  EXPECT_EQ(lines_of_items(pod(0, R"("phase": "Succeeded", )" + terminated(0, "Completed")) + "," +
                           pod(1, running))
                .find("attempt_ended"),
            std::string::npos);
  EXPECT_EQ(lines_of_items(pod(0, R"("phase": "Pending")")).find("attempt_ended"),
            std::string::npos);
}

TEST_F(KubernetesObjects, ALaterPodOfTheSameIndexIsTheNextRestart) {
  EXPECT_EQ(
      lines_of_items(pod(1, running, "21:30:00") + "," +
                     pod(1, R"("phase": "Failed", )" + terminated(1, "Error"), "21:00:00") + "," +
                     pod(0, running, "21:00:00")),
      "2026-11-29T21:00:00 attempt_started attempt:train#0 exit_code=1 nodes=n0,n1 state=failed\n"
      "2026-11-29T21:18:32 attempt_ended attempt:train#0 exit_code=1 nodes=n0,n1 state=failed\n"
      "2026-11-29T21:30:00 attempt_started attempt:train#1 nodes=n1 state=running\n"
      "2026-11-29T21:18:32 rank_exited rank:train#0/1@n1 exit_code=1 host=n1 "
      "pod=train-worker-1-2100 reason=Error\n");
}

TEST_F(KubernetesObjects, HowARunEndedByReason) {
  const std::pair<std::string, std::string> reasons[] = {
      {R"("reason": "Evicted", "message": "The node was low on resource: memory.")", "failed"},
      {R"("reason": "DeadlineExceeded")", "timeout"},
      {R"("reason": "NodeLost")", "node_fail"},
      {R"("reason": "Terminated", "conditions": [{"type": "DisruptionTarget", "status": "True",
          "reason": "PreemptionByScheduler"}])",
       "preempted"},
      {R"("conditions": [{"type": "DisruptionTarget", "status": "False",
          "reason": "PreemptionByScheduler"}])",
       "failed"}};
  for (const auto& [reason, state] : reasons) {
    lines_of_items(pod(0, R"("phase": "Failed", )" + reason));
    ASSERT_GE(events_.size(), 2U) << reason;
    EXPECT_EQ(events_[1].field("state"), state) << reason;
  }
  EXPECT_NE(lines_of_items(pod(0, R"("phase": "Failed", )" + reasons[0].first))
                .find("k8s.pod.evicted_memory job:train"),
            std::string::npos);
}

TEST_F(KubernetesObjects, AContainerThatWasRestartedInPlaceSaysHowItEndedBefore) {
  EXPECT_NE(lines_of_items(pod(2, R"("phase": "Running", "containerStatuses": [{"name": "pytorch",
      "restartCount": 1, "state": {"running": {}}, "lastState": {"terminated":
      {"exitCode": 0, "signal": 9, "finishedAt": "2026-11-29T21:18:32Z"}}}])"))
                .find("2026-11-29T21:18:32 rank_exited rank:train#0/2@n2 host=n2 "
                      "pod=train-worker-2-2100 signal=9\n"),
            std::string::npos);
}

TEST_F(KubernetesObjects, PodsOfServicesAndOnesWithoutAnOwner) {
  EXPECT_EQ(lines_of_items(R"({"kind": "Pod", "metadata": {"name": "nvidia-device-plugin-x2k",
      "ownerReferences": [{"kind": "DaemonSet", "name": "nvidia-device-plugin"}]},
      "spec": {"nodeName": "n1"}, "status": {"phase": "Failed", "startTime":
      "2026-11-29T21:00:00Z"}})"),
            "");
  EXPECT_EQ(counters_.get("kubernetes_service_pods_total"), 1U);
  EXPECT_EQ(lines_of(R"({"kind": "Pod", "metadata": {"name": "probe"}, "spec": {"nodeName": "n1"},
      "status": {"phase": "Running", "startTime": "2026-11-29T21:00:00Z"}})"),
            "2026-11-29T21:00:00 attempt_started attempt:probe#0 nodes=n1 state=running\n");
}

TEST_F(KubernetesObjects, EventsOfNodesAndPods) {
  EXPECT_EQ(
      lines_of_items(R"(
    {"kind": "Event", "type": "Warning", "reason": "NodeNotReady", "message": "Node n3 status is",
     "involvedObject": {"kind": "Node", "name": "n3"},
     "firstTimestamp": "2026-11-29T21:18:32Z", "lastTimestamp": "2026-11-29T21:18:32Z"},
    {"kind": "Event", "type": "Normal", "reason": "NodeReady", "message": "Node n3 status is",
     "regarding": {"kind": "Node", "name": "n3"}, "eventTime": "2026-11-29T21:30:00.123456Z"},
    {"kind": "Event", "type": "Warning", "reason": "FailedMount", "note": "timed out",
     "regarding": {"kind": "Pod", "name": "train-worker-1-2100"},
     "deprecatedSource": {"host": "n1"}, "deprecatedFirstTimestamp": "2026-11-29T21:00:01Z",
     "deprecatedLastTimestamp": "2026-11-29T21:00:09Z"},
    {"kind": "Event", "type": "Normal", "reason": "Pulled", "message": "image is there",
     "involvedObject": {"kind": "Pod", "name": "train-worker-1-2100"}},)" +
                     pod(1, running)),
      "2026-11-29T21:00:00 attempt_started attempt:train#0 nodes=n1 state=running\n"
      "2026-11-29T21:18:32 node_seen node:n3 available=false down=true drained=false "
      "state=NotReady\n"
      "2026-11-29T21:18:32 k8s.node.not_ready node:n3 host=n3\n"
      "2026-11-29T21:30:00 node_seen node:n3 available=true down=false drained=false state=Ready\n"
      "2026-11-29T21:00:01 k8s.pod.mount job:train host=n1 pod=train-worker-1-2100\n"
      "2026-11-29T21:00:09 k8s.pod.mount job:train host=n1 pod=train-worker-1-2100\n")
      << "the pod comes after its events, and the first and the last time both count";
  EXPECT_EQ(counters_.get("kubernetes_objects_left_out_total"), 0U);
}

TEST_F(KubernetesObjects, AReasonPretendsToBeAboutNoOtherObject) {
  EXPECT_EQ(lines_of_items(R"(
    {"kind": "Event", "type": "Warning", "reason": "NodeNotReady   node/n3   x",
     "involvedObject": {"kind": "Pod", "name": "mine"}, "eventTime": "2026-11-29T21:30:00Z",
     "message": "Warning   NodeNotReady   node/n3"},
    {"kind": "Event", "type": "Warning", "reason": "NodeNotReady",
     "involvedObject": {"kind": "Node", "name": "n3; reboot"}, "message": "x"})"),
            "");
  EXPECT_EQ(counters_.get("kubernetes_objects_left_out_total"), 1U) << "that is no node's name";
}

constexpr std::string_view as_yaml = R"(apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: n3
    annotations:
      note: |
        - items:
  spec:
    unschedulable: true
  status:
    conditions:
    - lastTransitionTime: "2026-11-29T21:18:32Z"
      message: Kubelet stopped posting node status.
      reason: NodeStatusUnknown
      status: Unknown
      type: Ready
- apiVersion: v1
  kind: Pod
  metadata:
    name: train-0
    ownerReferences:
    - kind: Job
      name: train
      controller: true
  spec:
    nodeName: n3
    containers: []
  status:
    phase: Failed
    startTime: "2026-11-29T21:00:00Z"
    containerStatuses:
    - name: main
      state:
        terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-11-29T21:18:32Z"}
kind: List
)";

TEST_F(KubernetesObjects, Yaml) {
  EXPECT_EQ(lines_of(std::string(as_yaml)),
            "2026-11-29T21:18:32 node_seen node:n3 available=false conditions=Ready down=true "
            "drained=true reason=NodeStatusUnknown: Kubelet stopped posting node status. "
            "state=NotReady,SchedulingDisabled\n"
            "2026-11-29T21:18:32 k8s.node.not_ready node:n3 host=n3\n"
            "2026-11-29T21:00:00 attempt_started attempt:train#0 exit_code=137 nodes=n3 "
            "state=out_of_memory\n"
            "2026-11-29T21:18:32 attempt_ended attempt:train#0 exit_code=137 nodes=n3 "
            "state=out_of_memory\n"
            "2026-11-29T21:18:32 rank_exited attempt:train#0 exit_code=137 host=n3 pod=train-0 "
            "reason=OOMKilled\n"
            "2026-11-29T21:18:32 k8s.pod.oom job:train host=n3 pod=train-0\n");
  EXPECT_EQ(events_[0].raw.offset, as_yaml.find("apiVersion: v1\n  kind: Node"));
  EXPECT_EQ(events_[2].raw.offset, as_yaml.find("apiVersion: v1\n  kind: Pod"));
  EXPECT_EQ(lines_of("kind: Node\nmetadata: {name: n1}\n---\nkind: Node\nmetadata: {name: n2}\n"),
            "- node_seen node:n1 available=false down=true drained=false state=NotReady\n"
            "- node_seen node:n2 available=false down=true drained=false state=NotReady\n")
      << "single objects in several documents";
}

TEST_F(KubernetesObjects, YamlThatIsABomb) {
  EXPECT_EQ(lines_of("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), "");
  EXPECT_NE(error_.find("alias"), std::string::npos);
  EXPECT_EQ(lines_of("a: " + std::string(100, '[') + std::string(100, ']') + "\n"), "");
  EXPECT_NE(error_.find("nested"), std::string::npos);
  EXPECT_EQ(lines_of("a: " + std::string(100'000, '[')), "");
  EXPECT_NE(error_, "");
  std::string anchors = "kind: Node\nmetadata: {name: n1}\nx:\n";
  for (int i = 0; i < 1024; ++i) anchors += "- &a" + std::to_string(i) + " 1\n";
  EXPECT_NE(lines_of(anchors), "") << "anchors that nobody asks for cost nothing";
  EXPECT_EQ(lines_of(anchors + "- &b 1\n"), "");
  EXPECT_NE(error_.find("anchors"), std::string::npos);
  EXPECT_EQ(lines_of(", *a: [x]\n"), "") << "where the parser itself would stay for ever";
  EXPECT_NE(error_, "");
  EXPECT_EQ(lines_of("? [a, b]\n: c\n"), "");
  EXPECT_NE(error_.find("key"), std::string::npos);
}

TEST_F(KubernetesObjects, WhatCameBeforeACutCounts) {
  const std::string document = R"({"items": [)" + node("n1", ready) + "," + node("n2", ready);
  EXPECT_EQ(lines_of(document.substr(0, document.size() - 9)),
            "2026-11-29T21:18:32 node_seen node:n1 available=true down=false drained=false "
            "state=Ready\n");
  EXPECT_EQ(counters_.get("scheduler_documents_cut_total"), 1U);
  const auto cut = as_yaml.substr(0, as_yaml.find("    ownerReferences"));
  EXPECT_NE(lines_of(std::string(cut) + "  kind: {").find("node_seen node:n3"), std::string::npos);
  EXPECT_EQ(counters_.get("scheduler_documents_cut_total"), 2U);
  for (std::size_t size = 1; size < as_yaml.size(); size += 11)
    lines_of(std::string(as_yaml.substr(0, size)));
  for (std::size_t size = 1; size < document.size(); size += 11) lines_of(document.substr(0, size));
}

TEST_F(KubernetesObjects, OtherKindsAreCountedAndNothingAtAllIsAnError) {
  lines_of_items(R"({"kind": "Service", "metadata": {"name": "web"}}, 7)");
  EXPECT_EQ(counters_.get("kubernetes_objects_left_out_total"), 2U);
  EXPECT_NE(error_.find("kubectl get"), std::string::npos);
  lines_of(R"({"kind": "NodeList", "items": [{"metadata": {"name": "n1"},
      "status": {"nodeInfo": {}, "conditions": []}}]})");
  EXPECT_EQ(event_lines(events_, {}), "- node_seen node:n1\n")
      << "a list of a kind does not say it again";
}

TEST_F(KubernetesObjects, ManyPods) {
  std::string items;
  for (int i = 0; i < 1'000; ++i)
    items += (i == 0 ? "" : ",") + pod(i, R"("phase": "Failed", )" + terminated(1, "Error"));
  lines_of_items(items);
  EXPECT_EQ(events_.size(), 1'002U);
}

}  // namespace
}  // namespace faultline
