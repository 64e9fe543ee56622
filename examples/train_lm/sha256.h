#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace train_lm {

/// In lower-case hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace train_lm
