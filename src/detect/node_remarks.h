// What the scheduler says of a node beside that it is lost: lines of its log about one node, its
// reason for a drain. The same said of several nodes within minutes is something that they share (a
// script, a power feed, a service), and no node is blamed for it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "detect/event_window.h"
#include "detect/verdict_book.h"

namespace faultline {

/// Not thread-safe. The catalog and the book, which it shares with its detector, must outlive it.
class NodeRemarks {
 public:
  NodeRemarks(const Catalog& catalog, VerdictBook& book) : catalog_(catalog), book_(book) {}

  /// A root signature of the scheduler about a node. True if it is news.
  bool observe(const Event& event, const std::string& cause);
  /// It passed a test or was given back.
  void forget(const std::string& node);
  /// True if this was said of the node between these times, and learnt by then.
  [[nodiscard]] bool said(const std::string& node, std::string_view cause, Instant from,
                          Instant until, Instant learnt_until) const;
  /// Nodes of which the same was said together with others.
  [[nodiscard]] bool is_shared(const std::string& node) const {
    return shared_nodes_.contains(node);
  }

  /// Verdicts on what is new; the time until which late news are waited for, unknown if they are
  /// not.
  Instant evaluate(Instant now, VerdictSink& verdicts);

 private:
  struct Remark {
    Instant at;
    std::string node;
    const Event* event = nullptr;
    bool operator<(const Remark& other) const {
      return at != other.at ? at < other.at : node < other.node;
    }
  };
  using NodesByCause = std::map<std::string, std::set<std::string>>;

  void find_shared(Instant now, VerdictSink& verdicts);
  [[nodiscard]] std::map<std::string, std::vector<Remark>> first_remarks() const;
  [[nodiscard]] Verdict shared_verdict(const std::string& cause,
                                       const std::vector<Remark>& together) const;
  void judge(const std::string& node, Instant now, VerdictSink& verdicts);

  const Catalog& catalog_;
  VerdictBook& book_;
  std::map<std::string, EventWindow> remarks_;  // by node
  std::set<std::string> news_;                  // nodes
  NodesByCause shared_;
  std::set<std::string> shared_nodes_;
  Instant settling_until_;
};

}  // namespace faultline
