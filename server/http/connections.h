#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace winnow {

// All connections of a server, and which of them wait for a request, the longest first. Thread-safe.
class Connections {
 public:
  // Closes a connection; called on any thread, at most once.
  using Close = std::function<void()>;

  explicit Connections(size_t most) : most_(most) {}

  // One connection's place, as long as it lives.
  class Place {
   public:
    ~Place();
    // From now on it waits for a request, or not. A server that stops closes it as soon as it waits.
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
  // A new connection, which waits. Beyond the most, the one that has waited longest is closed: this one if no
  // other waits.
  std::unique_ptr<Place> Add(Close close);

  // Closes those that wait, now and later.
  void StopWaiting();
  void CloseAll();
  // False if some are left at the end of `patience`.
  bool WaitForNone(std::chrono::milliseconds patience);

 private:
  using Entries = std::list<Place::Entry>;
  static Close Take(Place::Entry& entry);

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable none_;
  Entries waiting_;     // guarded by mutex_; the longest first
  Entries busy_;        // guarded by mutex_
  size_t closing_ = 0;  // guarded by mutex_: of both lists, closed but not yet gone
  bool stopping_ = false;
};

}  // namespace winnow
