// The parts of content_kind.cc: one function a family of forms. Each gives nothing where the text
// is none of its family.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ingest/content_kind.h"

namespace faultline {

/// A JSON document, or lines of JSON, that begins with '{' or '['. Known by its keys and their
/// depth; `text` may end anywhere.
std::optional<ContentKind> json_kind(std::string_view text);

/// The lines of a text, without those that are blank.
using ContentLines = std::vector<std::string_view>;

/// Forms that begin with a heading or a field of their own.
std::optional<ContentKind> headed_kind(const ContentLines& lines);

/// Of content_kubernetes.cc: `kubectl describe`.
bool is_kubernetes_description(const ContentLines& lines);

/// By what most lines look like: kernel_log, scheduler_log, or else job_log.
ContentKind line_log_kind(const ContentLines& lines);

/// Of lines without a job's words those of a kernel; none if there are a job's words.
ContentLines kernel_lines_without_job(const ContentLines& lines);

}  // namespace faultline
