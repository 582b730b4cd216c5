#include "server/engine/context.h"

#include <chrono>
#include <random>

namespace winnow {
namespace {

template <typename SomeClock>
int64_t MicrosecondsOf() {
  return std::chrono::duration_cast<std::chrono::microseconds>(SomeClock::now().time_since_epoch()).count();
}

}  // namespace

Clock Clock::System() {
  return {MicrosecondsOf<std::chrono::system_clock>, MicrosecondsOf<std::chrono::steady_clock>};
}

void Deadlines::Set(Kind kind, const std::string& subject, int64_t at) {
  Clear(kind, subject);
  Key key{kind, subject};
  at_[key] = at;
  order_.emplace(at, key);
}

void Deadlines::Clear(Kind kind, const std::string& subject) {
  auto found = at_.find({kind, subject});
  if (found == at_.end()) return;
  order_.erase({found->second, found->first});
  at_.erase(found);
}

std::optional<int64_t> Deadlines::next() const {
  if (order_.empty()) return std::nullopt;
  return order_.begin()->first;
}

std::optional<int64_t> Deadlines::At(Kind kind, const std::string& subject) const {
  const auto found = at_.find({kind, subject});
  return found == at_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Deadlines::Key> Deadlines::TakeDue(int64_t now) {
  std::vector<Key> due;
  while (!order_.empty() && order_.begin()->first <= now) {
    due.push_back(order_.begin()->second);
    at_.erase(due.back());
    order_.erase(order_.begin());
  }
  return due;
}

Context::Context(Store& the_store, EngineOptions the_options)
    : store(the_store), options(std::move(the_options)) {
  if (!options.random_bits) {
    options.random_bits = [] {
      static thread_local std::random_device device;
      return (uint64_t{device()} << 32) | device();
    };
  }
}

}  // namespace winnow
