#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "base/mutex.h"

namespace winnow {

// All connections of a server, with the idle ones in order of their idle time, longest first. Thread-safe.
class Connections {
 public:
  // Closes a connection; called on any thread, at most once.
  using Close = std::function<void()>;

  explicit Connections(size_t most) : most_(most) {}

  // A connection's registration, as long as the object lives.
  class Place {
   public:
    ~Place();
    // Marks it as idle, or not. A stopping server closes it as soon as it is idle.
    void Waits(bool waits);

   private:
    friend class Connections;
    struct Entry {
      Close close;
      bool waits = true;
      bool closed = false;
    };
    explicit Place(Connections& all) : all_(all) {}
    Connections& all_;
    std::list<Entry>::iterator entry_;
  };
  // Adds a new, idle connection. Beyond the maximum, closes the one that has been idle longest: this one if
  // no other is idle.
  std::unique_ptr<Place> Add(Close close);

  // Closes idle connections, now and later.
  void StopWaiting();
  void CloseAll();
  // False if some are left at the end of `patience`.
  bool WaitForNone(std::chrono::milliseconds patience);

 private:
  using Entries = std::list<Place::Entry>;
  static Close Take(Place::Entry& entry);

  const size_t most_;
  Mutex mutex_;
  CondVar none_;
  Entries waiting_ ABSL_GUARDED_BY(mutex_);  // the longest first
  Entries busy_ ABSL_GUARDED_BY(mutex_);
  size_t closing_ ABSL_GUARDED_BY(mutex_) = 0;  // in both lists, closed but still present
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace winnow
