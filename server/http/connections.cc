#include "server/http/connections.h"

#include <utility>
#include <vector>

namespace winnow {

Connections::Close Connections::Take(Place::Entry& entry) {
  if (std::exchange(entry.closed, true)) return nullptr;
  return std::move(entry.close);
}

std::unique_ptr<Connections::Place> Connections::Add(Close close) {
  std::unique_ptr<Place> place(new Place(*this));
  Close oldest;
  {
    MutexLock lock(mutex_);
    place->entry_ = waiting_.insert(waiting_.end(), {std::move(close)});
    if (waiting_.size() + busy_.size() - closing_ > most_) {
      for (Place::Entry& entry : waiting_) {
        if ((oldest = Take(entry)) != nullptr) break;
      }
      ++closing_;  // if necessary the new one itself
    }
    if (stopping_ && !place->entry_->closed) {
      ++closing_;
      oldest = Take(*place->entry_);
    }
  }
  if (oldest) oldest();
  return place;
}

Connections::Place::~Place() {
  MutexLock lock(all_.mutex_);
  if (entry_->closed) --all_.closing_;
  (entry_->waits ? all_.waiting_ : all_.busy_).erase(entry_);
  if (all_.waiting_.empty() && all_.busy_.empty()) all_.none_.NotifyAll();
}

void Connections::Place::Waits(bool waits) {
  Close close;
  {
    MutexLock lock(all_.mutex_);
    if (entry_->waits != waits) {
      Entries& from = waits ? all_.busy_ : all_.waiting_;
      Entries& to = waits ? all_.waiting_ : all_.busy_;
      to.splice(to.end(), from, entry_);
      entry_->waits = waits;
    }
    if (waits && all_.stopping_ && !entry_->closed) {
      ++all_.closing_;
      close = Take(*entry_);
    }
  }
  if (close) close();
}

void Connections::StopWaiting() {
  std::vector<Close> closes;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (Place::Entry& entry : waiting_) {
      if (entry.closed) continue;
      ++closing_;
      closes.push_back(Take(entry));
    }
  }
  for (const Close& close : closes) close();
}

void Connections::CloseAll() {
  StopWaiting();
  std::vector<Close> closes;
  {
    MutexLock lock(mutex_);
    for (Place::Entry& entry : busy_) {
      if (entry.closed) continue;
      ++closing_;
      closes.push_back(Take(entry));
    }
  }
  for (const Close& close : closes) close();
}

bool Connections::WaitForNone(std::chrono::milliseconds patience) {
  MutexLock lock(mutex_);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!(waiting_.empty() && busy_.empty()) && none_.WaitUntil(mutex_, end)) {
  }
  return waiting_.empty() && busy_.empty();
}

}  // namespace winnow
