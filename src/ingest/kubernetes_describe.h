// What `kubectl describe` printed, as the objects that the API would give.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace faultline {

/// One of nodes, pods and events as `-o json` has it, with what the text tells of it, and where in
/// the text it stands.
using TakeKubernetesObject = std::function<void(const nlohmann::json&, std::uint64_t offset)>;

/// `text`: one or many objects of any kinds, each from its "Name:" on, all set in as much as the
/// first. Of an object of another kind only its events are told. Ages are no times, so events have
/// none.
void visit_described_objects(std::string_view text, const TakeKubernetesObject& take);

/// "Wed, 25 Nov 2026 10:00:00 +0000" as the API spells it, "" if it is no time.
std::string described_time(std::string_view text);

}  // namespace faultline
