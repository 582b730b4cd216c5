#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "base/task_threads.h"

namespace winnow {

// Calls `act` on its own thread, unless it is destroyed before `patience` is over.
class LastResort {
 public:
  LastResort(std::chrono::milliseconds patience, std::function<void()> act) {
    thread_.Post([this, patience, act = std::move(act)] {
      if (!thread_.WaitForStop(patience)) act();
    });
  }

 private:
  TaskThreads thread_;
};

}  // namespace winnow
