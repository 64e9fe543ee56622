// Which node, GPU, rank, ... a hit is about. The rules stand in log_decoder.h, at LogDecoder.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "ingest/line_prefix.h"
#include "ingest/log_decoder.h"
#include "model/event.h"

namespace faultline {

/// A line that names more nodes than this is taken for as many; the `hosts` field has them all.
inline constexpr std::size_t subjects_max = 64;

/// At least one. More than one only for a signature about nodes whose line names several
/// ("node[17-30]").
std::vector<Subject> subjects_of(const Signature& signature, const Fields& fields,
                                 const LinePrefix& prefix, const Origin& origin);

/// The host that a kernel's line names; "" if none, or one that is everybody's ("localhost").
std::string host_of_kernel_line(const LinePrefix& prefix);

/// The rank that a line speaks of, or -1: its own words before its label, that before the log's.
std::int32_t rank_of(const Fields& fields, const LinePrefix& prefix, const Origin& origin);

/// What an event about the log itself is about: its node, else its attempt, else the cluster.
Subject subject_of_log(const Origin& origin);

}  // namespace faultline
