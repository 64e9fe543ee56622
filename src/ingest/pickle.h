// A pickle as plain data. A pickle is a program for a stack machine that may import and call
// anything, so Python's own reader runs whatever a stranger wrote; this one knows no way to import,
// call or build, and a pickle that asks for it is refused.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ingest/value_tree.h"

namespace faultline {

/// Protocols 0 to 5: none, booleans, numbers, text, bytes, lists, tuples, sets and dicts. Text of
/// Python 2 (STRING) is text. What follows the pickle is not looked at. `bytes` must outlive the
/// tree.
///
/// Errors: corrupt (with the byte where it ends or contradicts itself), invalid_argument (an opcode
/// that would import, call, build, or load something from elsewhere; named with its byte),
/// exhausted (a limit).
Result<ValueTree> read_pickle(std::string_view bytes, const TreeLimits& limits = {});

}  // namespace faultline
