#include "diagnose/counted_step.h"

#include <algorithm>

#include "base/text.h"
#include "ingest/text_cursor.h"

namespace faultline {
namespace {

std::optional<std::int64_t> number_at(std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const bool fraction = end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]);
  return fraction ? std::nullopt : parse_number<std::int64_t>(text.substr(0, end));
}

/// The number behind "iter", "iterations", "step:", "global_step=": letters of the same word, then
/// at most a few signs.
std::optional<std::int64_t> number_behind(std::string_view word, std::string_view text) {
  constexpr std::size_t signs_max = 12;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + word.size())) {
    if (at > 0 && (is_letter(text[at - 1]) || is_digit(text[at - 1]))) continue;
    std::string_view rest = text.substr(at + word.size());
    while (!rest.empty() && is_letter(rest.front())) rest.remove_prefix(1);
    const auto digits = rest.find_first_not_of(" :=#[('\"");
    if (digits == 0 || digits == std::string_view::npos || digits > signs_max) continue;
    if (const auto number = number_at(rest.substr(digits))) return number;
  }
  return std::nullopt;
}

/// A progress bar: " 12%|#2        | 123/1000 [01:02<07:10, 2.0it/s]".
std::optional<std::int64_t> number_in_bar(std::string_view text) {
  const auto bar = text.find("| ");
  if (bar == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trim(text.substr(bar + 2));
  const auto slash = rest.find('/'), clock = rest.find(" [");
  if (slash == std::string_view::npos || clock == std::string_view::npos || slash > clock)
    return std::nullopt;
  return parse_number<std::int64_t>(rest.substr(0, slash));
}

/// A count "120/5004" or "120 / 3000" of so many, and what is behind it.
struct Share {
  std::int64_t of_all = 0;
  std::string_view rest;
};

std::optional<Share> share_at(std::string_view text) {
  const auto digits = [](std::string_view number) {
    return std::min(number.find_first_not_of("0123456789"), number.size());
  };
  const std::size_t done = digits(text);
  std::string_view rest = trim(text.substr(done));
  if (done == 0 || !rest.starts_with('/')) return std::nullopt;
  rest = trim(rest.substr(1));
  const auto count = parse_number<std::int64_t>(text.substr(0, done));
  const auto all = parse_number<std::int64_t>(rest.substr(0, digits(rest)));
  if (!count || !all || *count > *all) return std::nullopt;
  return Share{*count, rest.substr(digits(rest))};
}

/// The batches of an epoch: "Epoch: [3]  [ 120/5004]", "Train Epoch: 3 [ 4096/109685 (4%)]", timm's
/// "Train: 12 [ 300/1251 ( 24%)]", fairseq's "epoch 001:    120 / 3000". Each epoch's are beyond
/// those of the epoch before.
std::optional<std::int64_t> batch_of_epoch(std::string_view text) {
  constexpr std::int64_t batches_max = 1LL << 32U, epochs_max = 1LL << 20U;
  constexpr std::string_view signs = " \t:[(";
  for (const std::string_view word : {"Epoch", "epoch", "Train:"}) {
    const auto at = text.find(word);
    if (at == std::string_view::npos) continue;
    std::string_view rest = text.substr(at + word.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(signs), rest.size()));
    const auto end = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto epoch = parse_number<std::int64_t>(rest.substr(0, end));
    if (!epoch || *epoch > epochs_max) continue;
    rest.remove_prefix(end);
    if (rest.starts_with('/'))  // of so many epochs
      rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
    for (int words = 0; words < 3 && !rest.empty(); ++words) {
      rest.remove_prefix(std::min(rest.find_first_of("0123456789"), rest.size()));
      const auto batch = share_at(rest);
      if (batch && batch->of_all < batches_max) return *epoch * batches_max + batch->of_all;
      rest.remove_prefix(std::min(rest.find_first_not_of("0123456789."), rest.size()));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> counted_step(std::string_view words) {
  for (const std::string_view word : {"iter", "Iter", "step", "Step"}) {
    if (const auto step = number_behind(word, words)) return step;
  }
  const auto batch = batch_of_epoch(words);
  return batch ? batch : number_in_bar(words);
}

}  // namespace faultline
