// How NCCL's logs, its RAS and its Inspector name the same things.
#pragma once

#include <string>
#include <string_view>

namespace faultline {

/// A communicator's hash in one spelling, "0xae94423cfbb2ef4a": logs and Inspector write "0x"
/// before it, RAS's text does not, and some leave out zeros in front. "" if it is none.
std::string communicator_name(std::string_view hash);

/// NCCL writes a GPU's address as one hexadecimal number, "b7000" for 0000:b7:00.0, or as an
/// address. The canonical address, "" if it is neither.
std::string bus_address(std::string_view bus_id);

}  // namespace faultline
