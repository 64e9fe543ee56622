#include "model/verdict.h"

#include "base/hash.h"

namespace faultline {

VerdictId make_verdict_id(const Verdict& verdict) {
  StableHash hash;
  hash.add(verdict.detector).add(verdict.cause).add(verdict.subject.text());
  hash.add(verdict.attempt ? verdict.attempt->text() : std::string{});
  hash.add(verdict.evidence.empty() ? std::string{} : verdict.evidence.front());
  return "v-" + hash.hex();
}

}  // namespace faultline
