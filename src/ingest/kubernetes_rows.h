// The tables of `kubectl get nodes|pods|events [-o wide] [-A]`, and of `kubectl events`, as the
// objects that the API would give.
#pragma once

#include <span>
#include <string_view>

#include "ingest/kubernetes_describe.h"

namespace faultline {

/// "NAME  STATUS  ROLES  AGE  VERSION" and its likes: what a heading's rows are.
enum class KubernetesRows { none, nodes, pods, events };
KubernetesRows rows_below(std::string_view heading);

/// Of a text's lines, blank ones left out: a heading, and hardly anything but its rows.
bool are_kubernetes_rows(std::span<const std::string_view> lines);

/// Tables of any kinds in a row, with words that are no rows between them.
/// Of a pod the table tells no owner: its job is what its name begins with, without what
/// controllers append ("-worker-3", "-0-x7k2p").
void visit_kubernetes_rows(std::string_view text, const TakeKubernetesObject& take);

}  // namespace faultline
