// What a kernel line says of its hardware, held against what can exist: a garbled line must not
// make a GPU that nobody has.
#pragma once

#include <cstdint>
#include <string_view>

#include "catalog/catalog.h"
#include "model/event.h"

namespace faultline {

/// "DOMAIN:BUS:DEVICE.FUNCTION" in hexadecimal, domain and function may be left out: 8 bits of bus,
/// 5 of device, 3 of function, and a domain up to `domain_max`.
bool possible_pci(std::string_view address, std::uint32_t domain_max);

/// False if the line names an Xid or a PCI address that cannot be. Only a GPU's address must be
/// one: other messages print slots and ids in its place.
bool possible_hardware(const Signature& signature, const Fields& fields, std::string_view body);

}  // namespace faultline
