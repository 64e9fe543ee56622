// Loads and stores of words that another thread, or a reader in another process, looks at
// meanwhile. Plain moves on x86 and Arm; only `add_shared` and `swap_if` take the bus.
#pragma once

#include <cstdint>

namespace faultline::trace {

template <class Word>
inline Word load(const Word& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <class Word>
inline Word load_acquire(const Word& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <class Word, class Value>
inline void store(Word& word, Value value) {
  __atomic_store_n(&word, static_cast<Word>(value), __ATOMIC_RELAXED);
}
template <class Word, class Value>
inline void store_release(Word& word, Value value) {
  __atomic_store_n(&word, static_cast<Word>(value), __ATOMIC_RELEASE);
}
/// Of a word that one thread writes.
template <class Word>
inline void add(Word& word, Word amount) {
  store(word, static_cast<Word>(load(word) + amount));
}
template <class Word>
inline Word add_shared(Word& word, Word amount) {
  return __atomic_fetch_add(&word, amount, __ATOMIC_RELAXED);
}
template <class Word>
inline bool swap_if(Word& word, Word expected, Word value) {
  return __atomic_compare_exchange_n(&word, &expected, value, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

}  // namespace faultline::trace
