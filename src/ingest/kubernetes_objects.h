// What `kubectl get nodes|pods|events -o json|yaml` and `kubectl describe` printed, as events.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/result.h"
#include "ingest/log_decoder.h"
#include "ingest/signature_database.h"
#include "model/event.h"

namespace faultline {

/// Lists, lists of a kind and single objects, of any mixture of kinds; several documents in a row.
/// Of `origin` its path counts. `signatures`: of the scheduler's layers; nullptr: reasons are not
/// looked up.
///
/// Events, of source scheduler, on Kubernetes' clock:
///   node_seen        of every node, with the fields that it has live. `state` as kubectl shows it
///                    ("NotReady,SchedulingDisabled"), `reason` what its bad conditions say, and
///                    `conditions` their types. A condition is bad if it is True, or, where its
///                    name says that True is good ("...Ready", "...Healthy"), False. Also from the
///                    events NodeNotReady and NodeReady.
///   attempt_started, attempt_ended
///                    of a job: the pods with one owner, by its name, or else a pod by its own.
///                    Pods of services (DaemonSet, ReplicaSet, static ones) are none. A later pod
///                    with the same index in the job belongs to the next restart. The first pod
///                    that failed ends the attempt, with its state and exit code.
///   rank_exited      of each container that ended, with `exit_code` or `signal`, `pod`,
///                    `container` and `reason` ("OOMKilled"); also how it ended before its last
///                    restart in place. The subject is the attempt where a pod may hold many ranks.
///   log_signature    where the catalog knows a condition, a pod's reason or an event, spelt as
///                    kubectl shows events: "Warning  Evicted  pod/train-0  The node was low ...".
///
/// raw.text is such a line too: the lines of a document by themselves say nothing.
/// Counted: kubernetes_objects_left_out_total (other kinds, and what is no object),
/// kubernetes_service_pods_total, scheduler_documents_cut_total for a document that was cut.
/// Errors: corrupt if there is no object; for YAML those of visit_yaml_records.
Result<std::vector<Event>> decode_kubernetes_json(
    std::string_view document, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures);
Result<std::vector<Event>> decode_kubernetes_yaml(
    std::string_view document, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures);
/// What `kubectl describe` prints for people. It gives the same events; those of Kubernetes have
/// ages in place of times.
Result<std::vector<Event>> decode_kubernetes_text(
    std::string_view text, const Origin& origin, Counters& counters,
    std::shared_ptr<const SignatureDatabase> signatures);

}  // namespace faultline
