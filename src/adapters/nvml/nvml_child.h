// The process that talks to NVML: `faultline nvml-child`. Reads "sample" lines from standard input
// and answers each with one line of JSON. Never called by people.
#pragma once

namespace faultline {

/// Until the end of input. Always 0: errors are answers.
int nvml_child_main();

}  // namespace faultline
